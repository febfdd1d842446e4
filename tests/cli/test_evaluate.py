"""`aiayn-keras evaluate` and `score`."""

import json

import pytest
import sacrebleu
from sacrebleu.tokenizers import tokenizer_spm

from tests.cli.command import SOURCES, assert_one_clear_line, run, write_lines
from tests.helpers import assert_close


def test_evaluate_prints_bleu_with_its_signature(trained_run, source_file, tmp_path):
    references = ["Das Mädchen ist glücklich.", "Jeden Tag arbeitet Paul."]
    reference = write_lines(tmp_path / "reference.de", references)
    arguments = ("evaluate", trained_run, "--source", source_file, "--reference", reference)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "BLEU = " in result.stdout
    assert "tok:13a" in result.stdout
    assert "chrF2 = " in result.stdout
    figures = json.loads(run(*arguments, "--json", "--tokenize", "none").stdout)
    assert figures["sentences"] == 2
    assert "tok:none" in figures["signature"]


def test_evaluate_takes_several_references_and_metrics(trained_run, model, source_file, tmp_path):
    references = [
        ["Das Mädchen ist glücklich.", "Jeden Tag arbeitet Paul."],
        ["Ein Kind lacht.", "Paul arbeitet."],
    ]
    files = [write_lines(tmp_path / f"{n}.de", lines) for n, lines in enumerate(references)]
    arguments = ["evaluate", trained_run, "--source", source_file]
    for file in files:
        arguments += ["--reference", file]
    metrics = ["--metric", "ter", "--metric", "bleu", "--metric", "chrf"]
    figures = json.loads(run(*arguments, *metrics, "--json").stdout)
    texts = [each.text for each in model.translate(SOURCES)]
    assert figures["bleu"] == sacrebleu.corpus_bleu(texts, references).score
    assert figures["chrf"] == sacrebleu.corpus_chrf(texts, references).score
    assert figures["ter"] == sacrebleu.corpus_ter(texts, references).score
    assert "nrefs:2" in figures["signature"]
    assert "nrefs:2" in figures["ter_signature"]
    printed = run(*arguments, "--metric", "ter").stdout.splitlines()
    assert len(printed) == 1
    assert printed[0].startswith(f"TER = {figures['ter']:.2f} nrefs:2")
    write_lines(files[1], references[1][:1])
    assert_one_clear_line(run(*arguments), "1.de", "2", "1")


def test_evaluate_and_compare_warn_of_references_without_spaces(
    trained_run, source_file, tmp_path, caplog
):
    reference = write_lines(tmp_path / "reference.zh", ["女孩很高兴。", "保罗每天工作。"])
    other = write_lines(tmp_path / "other.zh", ["女孩很高兴。", "保罗每天都工作。"])
    for arguments in (
        ("evaluate", trained_run, "--source", source_file),
        ("compare", other, reference),
    ):
        caplog.clear()
        run(*arguments, "--reference", reference, "--tokenize", "zh")
        assert "--tokenize" not in caplog.text
        run(*arguments, "--reference", reference)
        assert "--tokenize" in caplog.text


def test_evaluate_and_compare_warn_of_empty_references(trained_run, source_file, tmp_path, caplog):
    reference = write_lines(tmp_path / "reference.de", ["Das Mädchen lacht.", "Paul arbeitet."])
    other = write_lines(tmp_path / "other.de", ["Ein Mädchen lacht.", " "])
    for arguments in (
        ("evaluate", trained_run, "--source", source_file, "--reference", reference),
        ("compare", other, reference, "--reference", reference),
    ):
        caplog.clear()
        run(*arguments)
        assert "empty" not in caplog.text
        run(*arguments, "--reference", other)
        assert "Empty references in set 2: 1, the first in line 2" in caplog.text


def test_evaluate_refuses_unequal_files(trained_run, source_file, tmp_path):
    reference = write_lines(tmp_path / "reference.de", ["Das Mädchen ist glücklich."])
    result = run("evaluate", trained_run, "--source", source_file, "--reference", reference)
    assert_one_clear_line(result, "source.en", "2", "1")


def test_evaluate_refuses_an_unknown_tokenizer(trained_run, source_file):
    result = run(
        *("evaluate", trained_run, "--source", source_file, "--reference", source_file),
        *("--tokenize", "14a"),
    )
    assert_one_clear_line(result, "14a", "13a")


@pytest.mark.parametrize("name", ["flores200", "spBLEU-1K"])
def test_evaluate_says_that_a_tokenizer_needs_the_network(
    trained_run, source_file, name, monkeypatch
):
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(source_file.parent))
    result = run(
        *("evaluate", trained_run, "--source", source_file, "--reference", source_file),
        *("--tokenize", name),
    )
    assert_one_clear_line(result, f"tokenizer '{name}' cannot be used: it needs the network once")


def test_score_prints_a_number_for_a_line_or_a_token(
    trained_run,
    source_file,
    model,
    tmp_path,
):
    targets = ["Das Kind singt.", "Ja"]
    target_file = write_lines(tmp_path / "target", targets)
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


def test_a_line_that_is_too_long_is_named_with_its_file(trained_run, tmp_path):
    sources = write_lines(tmp_path / "source", ["Paul works.", "Paul works."])
    targets = write_lines(tmp_path / "target", ["Paul arbeitet.", "Paul " * 300])
    result = run("score", trained_run, "--source", sources, "--target", targets)
    assert_one_clear_line(result, f"{targets}, line 2: ")
