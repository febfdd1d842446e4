import json
import os
import subprocess
import sys

import pytest

from tests.cli.command import SOURCES, assert_one_clear_line, run, write_lines
from tests.helpers import assert_close


@pytest.fixture
def expected(model):
    return [translation.text for translation in model.translate(SOURCES)]


def test_translate_a_file(trained_run, source_file, expected):
    result = run("translate", trained_run, "--input", source_file)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == expected


def test_translate_standard_input(trained_run, source_file, expected):
    result = run("translate", trained_run, input=source_file.read_bytes())
    assert result.stdout.splitlines() == expected


def test_translate_keeps_empty_lines(trained_run):
    result = run("translate", trained_run, input="\n\nThe girl is happy.\n")
    assert result.stdout.split("\n")[:2] == ["", ""]
    assert len(result.stdout.split("\n")) == 4


def test_a_line_too_long_is_named(trained_run, tmp_path):
    path = write_lines(tmp_path / "long.en", ["Good.", "bus " * 300])
    assert_one_clear_line(
        run("translate", trained_run, "--input", path), "long.en, line 2", "256 positions"
    )
    result = run("translate", trained_run, input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2")


def test_a_line_that_is_not_utf8_is_named(trained_run, tmp_path):
    path = tmp_path / "latin.en"
    path.write_bytes(b"Good.\ncaf\xe9\n")
    assert_one_clear_line(run("translate", trained_run, "--input", path), "latin.en", "2")
    result = run("translate", trained_run, input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2")


def test_missing_input_file_is_named(trained_run):
    result = run("translate", trained_run, "--input", "nowhere.en")
    assert_one_clear_line(result, "nowhere.en")


def test_a_model_of_the_ensemble_that_is_missing_is_named(trained_run):
    result = run("translate", trained_run, "--ensemble", "nowhere")
    assert_one_clear_line(result, "nowhere is no model folder")


def test_options_reach_the_search(trained_run, source_file, model, tmp_path):
    prefixes = ["Das", ""]
    options = {
        "num_beams": 3,
        "length_penalty": 1.0,
        "coverage_penalty": 0.2,
        "no_repeat_ngram_size": 2,
        "min_length": 3,
        "max_length": 9,
    }
    expected = model.translate(
        SOURCES, num_return_sequences=2, prefixes=prefixes, ensemble=[model], **options
    )
    arguments = [
        part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", value)
    ]
    result = run(
        *("translate", trained_run, "--input", source_file, "--ensemble", trained_run),
        *("--prefixes", write_lines(tmp_path / "prefixes", prefixes), "--n-best", 2, *arguments),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "\t".join(hypothesis.text for hypothesis in each.hypotheses) for each in expected
    ]


def test_json_holds_scores_tokens_and_alignments(trained_run, source_file, model):
    arguments = ("translate", trained_run, "--input", source_file, "--n-best", 2, "--json")
    lines = run(*arguments, "--alignments").stdout.splitlines()
    expected = model.translate(SOURCES, num_return_sequences=2, return_alignments=True)
    for line, translation in zip(lines, expected, strict=True):
        hypotheses = json.loads(line)["hypotheses"]
        for found, hypothesis in zip(hypotheses, translation.hypotheses, strict=True):
            assert found["text"] == hypothesis.text
            assert tuple(found["tokens"]) == hypothesis.tokens
            assert_close(found["score"], hypothesis.score, 1e-5)
            assert_close(found["alignment"], hypothesis.alignment, 0, 1e-4)
    assert "alignment" not in run(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--alignments",), "--json"),
        (("--prefixes", "prefixes"), "--input"),
    ],
)
def test_options_that_need_another_are_refused(trained_run, arguments, message):
    result = run("translate", trained_run, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_as_many_prefixes_as_lines_are_needed(trained_run, source_file, tmp_path):
    prefixes = write_lines(tmp_path / "prefixes", ["one"])
    result = run("translate", trained_run, "--input", source_file, "--prefixes", prefixes)
    assert_one_clear_line(result, "as many lines", "1 and 2")


def test_a_line_is_translated_when_it_comes(trained_run, model):
    """The second line is sent after the first's translation has been read."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aiayn_keras", "translate", str(trained_run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    try:
        for source in SOURCES:
            process.stdin.write(f"{source}\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{model.translate([source])[0].text}\n"
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
    assert process.returncode == 0
