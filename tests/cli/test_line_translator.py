"""Lines translated without Keras: quick, and what the model itself would say."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras_light.converted_model import ConvertedModel, cache_folder, cache_key, find_entry
from tests.cli.command import (
    assert_one_clear_line,
    fresh_environment,
    run,
    run_in_fresh_process,
    write_lines,
)
from tests.helpers import slow_but

pytest.importorskip("ctranslate2")

FOLDER = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es_keras"
LINES = [
    "Where is the “kitchen”?",
    "",
    "  spaces  ",
    "😀",
    "12:30",
    "...",
    "I like tea. 😀\u200d",
    "日本語のテキスト",
    "A\tB",
    "water\u2028line",
    "x",
    "Write to anna@example.com, see https://example.com/a?b=c or {name}. :)",
    "https://example.com",
    "Nobody knew what had happened the night before the trial began.",
]
PARAGRAPH = "The train was late, so we took a bus to the old town. " * 5
LONG = "The girl is happy. " * 80
# Of everything that CTranslate2 does, and of what it leaves to Keras in the end.
QUICK = {
    "defaults": (),
    "scores": ("--json",),
    "n-best": ("--n-best", "3", "--json"),
    "n-best in columns": ("--n-best", "3"),
    "greedy": ("--num-beams", "1", "--length-penalty", "0", "--json"),
    "other penalty": ("--length-penalty", "1", "--length-penalty-offset", "0", "--json"),
    "small batches": ("--batch-size", "3", "--json"),
    "room": ("--max-length", "100", "--json"),
    "cut": ("--long-text", "cut"),
    "int8": ("--engine", "ctranslate2-int8", "--json"),
}
SEARCHES = {**QUICK, "cut short": ("--max-length", "4", "--json")}
PROGRAM = """
import contextlib, io, json, sys
from aiayn_keras_cli import main

answers = []
for arguments in json.loads(sys.argv[1]):
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            main(arguments, prog_name="aiayn-keras")
        except SystemExit as end:
            answers.append([end.code, out.getvalue(), err.getvalue()])
heavy = {"tensorflow", "tensorflow_text", "keras", "keras_hub", "torch", "jax", "transformers"}
print(json.dumps([answers, sorted(heavy.intersection(sys.modules))]))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_lines(tmp_path_factory.mktemp("lines") / "source.txt", LINES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the model, and an empty cache."""
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def with_engine(options):
    return options if "--engine" in options else (*options, "--engine", "ctranslate2")


def translate(folder, *options, **others):
    """The result of the command, which may use the cache."""
    return run("translate", folder, *with_engine(options), **others)


def translate_with_keras(folder, *options, **others):
    """The result of the command after it has loaded Keras."""
    return translate(folder, *options, "--verbose", **others)


def entry_of(folder):
    return find_entry(cache_key(folder))


def assert_same(one, other):
    assert (one.exit_code, one.stdout) == (other.exit_code, other.stdout)
    assert without_progress(one.stderr) == without_progress(other.stderr)


def without_progress(stderr):
    """What a command said, without the bars that it shows where it takes ten seconds."""
    return re.sub(r"(?m)^.*\d+/\d+ \[.*\n?", "", stderr)


@pytest.fixture(scope="module")
def quick(source):
    """Answers of a fresh process, and the heavy modules that it imported."""
    result = translate(FOLDER, input="water\n")
    assert result.exit_code == 0, result.output
    commands = [("translate", FOLDER, "--input", source, *with_engine(QUICK[n])) for n in QUICK]
    commands.append(("translate", FOLDER, "--input", source))  # with `auto`
    commands = [[str(argument) for argument in command] for command in commands]
    result = run_in_fresh_process("-c", PROGRAM, json.dumps(commands))
    assert result.returncode == 0, result.stderr
    answers, heavy = json.loads(result.stdout.splitlines()[-1])
    return dict(zip((*QUICK, "auto"), answers, strict=True)), heavy


def test_a_process_that_translates_imports_no_keras_and_no_backend(quick):
    answers, heavy = quick
    assert heavy == []
    for code, out, err in answers.values():
        assert code == 0, err
        assert out.count("\n") == len(LINES)


@pytest.mark.parametrize("name", slow_but(["defaults", "small batches"], list(QUICK)))
def test_a_process_without_keras_says_what_one_with_it_says(name, quick, source):
    code, out, err = quick[0][name]
    slow = translate_with_keras(FOLDER, "--input", source, *QUICK[name])
    assert (code, out) == (slow.exit_code, slow.stdout)
    engine = "ctranslate2-int8" if name == "int8" else "ctranslate2"
    assert without_progress(err) == without_progress(slow.stderr)
    assert without_progress(err) == f"{engine} searches; --engine keras would use our own search.\n"


def test_auto_is_ctranslate2_without_keras_too(quick):
    assert quick[0]["auto"] == quick[0]["defaults"]


@pytest.mark.parametrize("name", slow_but(["defaults", "scores"], list(SEARCHES)))
def test_translations_are_those_of_keras(name, quick):
    text = "".join(f"{line}\n" for line in [*LINES, PARAGRAPH, LONG])
    assert_same(
        translate(FOLDER, *SEARCHES[name], input=text),
        translate_with_keras(FOLDER, *SEARCHES[name], input=text),
    )


def test_the_search_of_the_folder_is_used_where_none_is_given(folder, source):
    own = {"num_beams": 2, "length_penalty": 1.0, "length_penalty_offset": 0}
    (folder / "search.json").write_text(json.dumps(own))
    options = [f"--{name.replace('_', '-')}={value}" for name, value in own.items()]
    expected = translate(FOLDER, "--json", "--input", source, *options)
    assert expected.stdout.count("\n") == len(LINES)
    for _ in range(2):  # the first run converts the model
        assert_same(translate(folder, "--json", "--input", source), expected)
    assert_same(translate_with_keras(folder, "--json", "--input", source), expected)
    others = ("--num-beams", "3", "--length-penalty", "0", "--length-penalty-offset", "5")
    plain = translate(folder, "--json", "--input", source, *others)
    assert_same(plain, translate(FOLDER, "--json", "--input", source, *others))
    assert plain.stdout != expected.stdout
    (folder / "search.json").write_text('{"num_beams": "two"}')
    result = translate(folder, input="water\n")
    assert_one_clear_line(result, "search.json", "`num_beams` must be", "two")


@pytest.mark.parametrize(
    ("options", "exit_code"),
    [("--long-text error", 1), ("--n-best 9", 2), ("--max-length 3 --min-length 9", 1)],
)
def test_errors_are_those_of_keras(options, exit_code, quick):
    fast, slow = (
        function(FOLDER, *options.split(), input=f"x\n{LONG}\n")
        for function in (translate, translate_with_keras)
    )
    assert_same(fast, slow)
    assert fast.exit_code == exit_code
    assert fast.stderr


@pytest.mark.parametrize(
    "options",
    slow_but(
        ["an engine"],
        {
            "an engine": ("--engine", "keras"),
            "details": ("--verbose",),
            "an option": ("--min-length", "2", "--engine", "auto"),
        },
    ),
)
def test_what_keras_does_leaves_no_converted_model(options, folder):
    assert translate(folder, *options, input="water\n").exit_code == 0
    assert not cache_folder().exists()


def test_the_first_run_converts_the_model_and_later_ones_use_it(folder):
    first = translate(folder, "--json", input="water\n")
    assert entry_of(folder) is not None
    (folder / "README.md").write_text("other")
    assert entry_of(folder) is None
    assert_same(translate(folder, "--json", input="water\n"), first)
    assert entry_of(folder) is not None


@pytest.mark.slow
def test_a_folder_that_differs_from_its_checksums_is_refused_as_ever(folder):
    expected = translate(folder, input="water\n")
    for name in ("model.weights.h5", "assets/tokenizer/vocabulary.spm"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        result = translate(folder, input="water\n")
        assert result.exit_code == 1
        assert f"{name} is not what was written" in result.stderr
        (folder / name).write_bytes(content)
    assert_same(translate(folder, input="water\n"), expected)


@pytest.mark.slow
def test_new_weights_and_vocabularies_are_noticed(folder):
    before = translate(folder, "--json", input="water\n").stdout
    model = TransformerSeq2SeqLM.from_preset(str(folder))
    table = model.backbone.token_embedding.embeddings
    table.assign(np.roll(keras.ops.convert_to_numpy(table), 7, axis=0))
    model.save_to_preset(folder)
    changed = [translate(folder, "--json", input="water\n").stdout for _ in range(2)]
    assert (
        changed[0] == changed[1] == translate_with_keras(folder, "--json", input="water\n").stdout
    )
    assert changed[0] != before
    tokenizer = model.preprocessor.tokenizer.with_normalization("nmt_nfkc_cf")
    model.preprocessor.tokenizer.set_proto(tokenizer.proto)
    model.save_to_preset(folder)
    options = "--json", "--placeables", "translate"  # else capitals are put into small letters
    folded = [translate(folder, *options, input="WATER\n").stdout for _ in range(2)]
    lower = json.loads(translate_with_keras(folder, "--json", input="water\n").stdout)
    assert [json.loads(each)["hypotheses"] for each in folded] == [lower["hypotheses"]] * 2


@pytest.mark.slow
def test_a_damaged_cache_is_healed(folder):
    first = translate(folder, "--json", input="water\n")
    weights = entry_of(folder) / "model" / "model.bin"
    content = weights.read_bytes()
    for damaged in (content[:-1], bytes(len(content)), b""):
        weights.write_bytes(damaged)
        assert entry_of(folder) is None
        assert_same(translate(folder, "--json", input="water\n"), first)
        assert weights.read_bytes() == content
        assert entry_of(folder) is not None


@pytest.mark.slow
def test_without_a_place_for_the_cache_keras_translates(folder, tmp_path, monkeypatch):
    expected = translate(folder, input="water\n")
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "file"))
    assert_same(translate(folder, input="water\n"), expected)


def test_a_cache_that_is_deleted_meanwhile_is_not_needed(folder):
    expected = translate(folder, input="water\n").stdout
    converted = ConvertedModel(
        entry_of(folder), "ctranslate2", lambda: TransformerSeq2SeqLM.from_preset(str(folder))
    )
    shutil.rmtree(cache_folder())
    (found,) = converted.translate(["water"], batch_size=1, long_text="split")
    assert f"{found.text}\n" == expected


@pytest.mark.slow
def test_a_folder_that_changes_meanwhile_is_not_mixed_with_what_it_was(folder):
    translate(folder, input="water\n")
    read, write = os.pipe()
    command = [sys.executable, "-m", "aiayn_keras_cli", "translate", str(folder)]
    options = {"env": fresh_environment(), "text": True, "encoding": "utf-8"}
    pipes = {"stdin": read, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        subprocess.Popen([*command, "--engine", "ctranslate2"], **pipes, **options) as process,
        open(write, "w", encoding="utf-8") as lines,
    ):
        os.close(read)
        print("water", file=lines, flush=True)
        assert process.stdout.readline().strip()
        (folder / "README.md").write_text("other")
        print(LONG, file=lines, flush=True)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"Error: {folder} has changed while the command was running" in errors


@pytest.mark.slow
def test_two_first_runs_at_once_lose_nothing(folder):
    command = [sys.executable, "-m", "aiayn_keras_cli", "translate", str(folder)]
    options = {"env": fresh_environment(), "text": True, "encoding": "utf-8"}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [subprocess.Popen(command, **pipes, **options) for _ in range(2)]
    answers = [process.communicate("water\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0], answers
    assert entry_of(folder) is not None
    expected = translate(folder, input="water\n")
    assert [(out, without_progress(err)) for out, err in answers] == [
        (expected.stdout, without_progress(expected.stderr))
    ] * 2
