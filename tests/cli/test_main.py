"""The command as a whole: quick, quiet, and clear about errors."""

import json
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aiayn_keras_cli import main
from aiayn_keras_cli.running import CommandGroup, error_line
from tests.cli.command import assert_one_clear_line, run, run_in_fresh_process

KIT = Path(__file__).parents[2] / "saved_models" / "demo_en_de"
COMMANDS = [
    *((name,) for name in main.commands),
    *(("export", name) for name in main.commands["export"].commands),
]
QUICK = [
    (),
    *((*command, "--help") for command in [(), *COMMANDS]),
    ("--version",),
    ("--hepl",),
    ("trian",),
    ("translate", "--num-baems", "4"),
    ("translate", "nowhere"),
]
LIGHT = """
import contextlib, io, json, sys
before = set(sys.modules)
from aiayn_keras_cli import main
from aiayn_keras_cli.running import error_line
answers = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main(arguments, prog_name="aiayn-keras")
        except SystemExit:
            answers.append(out.getvalue())
packages = {name.split(".")[0] for name in sys.modules.keys() - before} - sys.stdlib_module_names
print(json.dumps([answers, sorted(packages)]))
"""


def test_help_and_wrong_arguments_are_answered_before_any_other_package_is_loaded(tmp_path):
    result = run_in_fresh_process("-c", LIGHT, json.dumps(QUICK), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    answers, packages = json.loads(result.stdout)
    assert packages == ["aiayn_keras_cli", "click"]
    assert len(answers) == len(QUICK)
    for arguments, answer in zip(QUICK, answers, strict=True):
        words = arguments[:-1] if "--help" in arguments else ()
        assert " ".join(["aiayn-keras", *words]) in answer or "nowhere" in answer


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("translate", "--help"), ("--debug", "--help")]
)
def test_help_that_cannot_be_written_is_an_error_in_one_line(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "aiayn_keras_cli", *arguments]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr == (
        "Error: standard output, or a temporary file, cannot be written: No space left on device.\n"
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("translate", "--num-baems", "4")])
def test_help_and_wrong_arguments_are_answered_in_half_a_second(arguments):
    assert any(_seconds_of_an_answer(arguments) < 0.5 for _ in range(5))


def _seconds_of_an_answer(arguments):
    start = _seconds_of_children()
    run_in_fresh_process("-m", "aiayn_keras_cli", *arguments)
    return _seconds_of_children() - start


def _seconds_of_children():
    """Time on a core, which does not grow when other processes use the machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_every_command_is_listed_with_its_first_sentence():
    lines = run("--help").stdout.split("Commands:\n")[1].splitlines()
    assert len(lines) == 16
    assert all(line.endswith(".") and not line.endswith("...") for line in lines)


@pytest.fixture
def broken(monkeypatch):
    """`aiayn-keras info` with a fault of its own."""

    def fail(**options):
        raise KeyError("shards")

    monkeypatch.setattr(main.commands["info"], "callback", fail)


def test_any_exception_is_one_line(broken):
    result = run("info", "--all")
    assert_one_clear_line(result, "unexpected KeyError: 'shards'", "--debug")


def test_debug_shows_the_traceback(broken):
    result = run("--debug", "info", "--all")
    assert result.exit_code == 1
    assert isinstance(result.exception, KeyError)
    assert "Error: " not in result.stderr
    result = run("--debug", "translate", "nowhere")
    assert isinstance(result.exception, FileNotFoundError)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("train", "dmeo"), ("no recipe 'dmeo'", "demo")),
        (("train", "mine.yaml"), ("mine.yaml",)),
        (("train", "demo", "--set", "training.update=3"), ("Did you mean `updates`?",)),
        (("train", "demo", "--set", "corpus.name=demmo"), ("demmo", "multi30k-en-de")),
        (("train", "demo", "--set", "tokenizer.vocabulary_size=90000"), ("vocabulary_size",)),
        (("train", "demo", "--set", "model.num_heads=7"), ("multiple of `num_heads`",)),
        (("train", "demo", "--set", "evaluation.bleu_tokenizer=14a"), ("14a", "13a")),
        (("train", "demo", "--set", "model.max_sequence_length=12"), ("demo", "line")),
        (("translate", "nowhere"), ("nowhere is not a model folder", "does not exist")),
        (("translate", "."), ("not a model folder", "task.json")),
        (("translate", KIT), ("not a model folder: it is a serving kit", "aiayn-keras serve")),
        (("export", "saved-model", ".", "--output", "models"), ("not a model folder",)),
        (("export", "ctranslate2", ".", "--output", "models"), ("not a model folder",)),
        (("serve", "nowhere"), ("nowhere is not a model folder", "does not exist")),
        (("serve", "."), ("not a model folder", "task.json", "saved_model.pb")),
        (("average", ".", "--output", "mean"), ("does not hold a training",)),
        (
            ("prepare", "demo", "--output", "shards", "--workers", "2"),
            ("Workers and URLs are only for files",),
        ),
    ],
)
def test_bad_input_gets_one_clear_line_and_leaves_nothing(arguments, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_clear_line(run(*arguments), *parts)
    assert list(tmp_path.iterdir()) == []


# ---- Errors ----


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a.en, line 2:\n  no tab."), "a.en, line 2: no tab."),
        (ValueError("\x1b[31mred\x07"), r"\x1b[31mred\x07"),
        (KeyError("shards"), "unexpected KeyError: 'shards'. To see where"),
        (MemoryError(), "unexpected MemoryError. To see where"),
        (RecursionError("too deep"), "unexpected RecursionError: too deep. To see where"),
        (NotImplementedError(), "unexpected NotImplementedError. To see where"),
        (ValueError(), "unexpected ValueError. To see where"),
        (OSError(28, "No space left on device"), "standard output, or a temporary file, cannot"),
        (OSError(28, "No space left on device: the disk of a is full"), "[Errno 28] No space left"),
    ],
)
def test_an_error_is_one_printable_line(error, line):
    assert error_line(error).startswith(line)
    assert ("--debug" in error_line(error)) == ("To see where" in line)


def test_a_long_message_is_cut():
    assert error_line(ValueError("x" * 1_001)) == f"{'x' * 1_000} …"
    assert len(error_line(KeyError("\0" * 100_000))) < 1_200


def test_a_wrong_argument_is_shortened_too():
    result = run("x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 1_500


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], "Warning: a b\n"), (["--debug"], "f.py:1: UserWarning: a\nb\n")],
)
def test_a_warning_is_one_line_without_its_place(arguments, expected):
    @click.group(cls=CommandGroup)
    @click.option("--debug", is_flag=True)
    def group(debug):
        pass

    @group.command()
    def show():
        click.echo(warnings.formatwarning("a\nb", UserWarning, "f.py", 1), nl=False)

    assert CliRunner().invoke(group, [*arguments, "show"]).stdout == expected
    assert "UserWarning" in warnings.formatwarning("a", UserWarning, "f.py", 1)
