import json
import os
import subprocess
import sys

import pytest

from aiayn_keras import TransformerSeq2SeqLM
from tests.helpers import assert_close
from tests.test_cli import SOURCES, assert_one_clear_line, run, source_file  # noqa: F401


@pytest.fixture(scope="module")
def model(trained_run):
    return TransformerSeq2SeqLM.from_preset(str(trained_run))


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_options_reach_the_search(trained_run, source_file, model, tmp_path):  # noqa: F811
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
        *("--prefixes", write(tmp_path / "prefixes", prefixes), "--n-best", 2, *arguments),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "\t".join(hypothesis.text for hypothesis in each.hypotheses) for each in expected
    ]


def test_json_holds_scores_tokens_and_alignments(trained_run, source_file, model):  # noqa: F811
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


def test_score_prints_a_number_for_a_line_or_a_token(
    trained_run,
    source_file,  # noqa: F811
    model,
    tmp_path,
):
    targets = ["Das Kind singt.", "Ja"]
    target_file = write(tmp_path / "target", targets)
    arguments = ("score", trained_run, "--source", source_file, "--target", target_file)
    numbers = [float(line) for line in run(*arguments).stdout.splitlines()]
    assert_close(numbers, model.score(SOURCES, targets), 1e-4, 1e-4)
    per_token = [
        [float(number) for number in line.split()]
        for line in run(*arguments, "--per-token").stdout.splitlines()
    ]
    for found, expected in zip(
        per_token, model.score(SOURCES, targets, per_token=True), strict=True
    ):
        assert_close(found, expected, 1e-4, 1e-4)


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


def test_as_many_prefixes_as_lines_are_needed(trained_run, source_file, tmp_path):  # noqa: F811
    prefixes = write(tmp_path / "prefixes", ["one"])
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
