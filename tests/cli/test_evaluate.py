import json

import pytest
from sacrebleu.tokenizers import tokenizer_spm

from tests.cli.command import assert_one_clear_line, run, write_lines


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
