"""The command as a whole: quick, quiet, and clear about what is wrong."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from aiayn_keras.cli import main
from tests.cli.command import assert_one_clear_line, run, run_in_fresh_process

HEAVY = (
    "aiayn_keras.models",
    "grain",
    "jax",
    "keras",
    "numpy",
    "pydantic",
    "tensorflow",
    "torch",
    "waitress",
)
QUICK = [
    (),
    ("--help",),
    ("--version",),
    ("translate", "--help"),
    ("export", "saved-model", "--help"),
    ("--hepl",),
    ("trian",),
    ("translate", "--num-baems", "4"),
    ("translate", "nowhere"),
    ("serve", "--help"),
]


@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_help_and_wrong_arguments_are_answered_before_keras_is_loaded(arguments, tmp_path):
    program = (
        "import sys\n"
        "sys.argv[0] = 'aiayn-keras'\n"
        "from aiayn_keras.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    assert not [name for name in {HEAVY} if name in sys.modules]\n"
    )
    result = run_in_fresh_process("-c", program, *arguments, cwd=tmp_path)
    assert "AssertionError" not in result.stderr
    assert "aiayn-keras" in result.stdout + result.stderr or "nowhere" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("translate", "--help"), ("--debug", "--help")]
)
def test_help_that_cannot_be_written_is_an_error_in_one_line(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "aiayn_keras", *arguments]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1
    assert result.stderr == "Error: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("translate", "--num-baems", "4")])
def test_help_and_wrong_arguments_are_answered_in_half_a_second(arguments):
    seconds = []
    for _ in range(5):
        start = _seconds_of_children()
        run_in_fresh_process("-m", "aiayn_keras", *arguments)
        seconds.append(_seconds_of_children() - start)
    assert min(seconds) < 0.5


def _seconds_of_children():
    """Time on a core, which does not grow when other processes use the machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_every_command_is_listed_with_its_first_sentence():
    lines = run("--help").stdout.split("Commands:\n")[1].splitlines()
    assert len(lines) == 11
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
        (("translate", "nowhere"), ("nowhere is no model folder", "does not exist")),
        (("translate", "."), ("no model folder", "task.json")),
        (("export", "saved-model", ".", "--output", "models"), ("no model folder",)),
        (("export", "ctranslate2", ".", "--output", "models"), ("no model folder",)),
        (("serve", "nowhere"), ("nowhere is no model folder", "does not exist")),
        (("serve", "."), ("no model folder", "task.json", "saved_model.pb")),
        (("average", ".", "--output", "mean"), ("is no training",)),
        (("prepare", "demo", "--output", "shards", "--workers", "2"), ("by workers",)),
    ],
)
def test_bad_input_gets_one_clear_line_and_leaves_nothing(arguments, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_clear_line(run(*arguments), *parts)
    assert list(tmp_path.iterdir()) == []
