import gzip
import json

import pytest

from aiayn_keras.data.checking import KINDS
from aiayn_keras_cli.check import _KINDS
from tests.cli.command import run

PAIRS = (
    ("The children are playing in the garden.", "Los niños están jugando en el jardín."),
    ("She has not answered my letter yet.", "Ella todavía no ha contestado mi carta."),
    ("Nobody knows where he bought this car.", "Nadie sabe dónde compró este coche."),
    ("My brother wants to learn how to cook.", "Mi hermano quiere aprender a cocinar."),
)


@pytest.fixture
def corpus(tmp_path):
    """A file of four good pairs, one with an entity, and two bad lines; and a test file."""
    rows = ["\t".join(pair) for pair in PAIRS]
    rows += ["no tab", "", "It&#39;s raining in the village.\tEstá lloviendo en el pueblo."]
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    (tmp_path / "test.tsv").write_text("\t".join(PAIRS[1]) + "\n", "utf-8")
    return path


def test_the_kinds_are_those_of_the_package():
    assert tuple(KINDS) == _KINDS


def test_faults_are_counted_with_examples_and_cleaned(corpus, tmp_path):
    result = run("check", corpus, "--test", tmp_path / "test.tsv", "--clean", tmp_path / "c/c.tsv")
    assert result.exit_code == 0
    assert "a.tsv: 7 lines, en (Latn) → es (Latn)." in result.output
    assert "2 lines that cannot be read" in result.output
    assert "line 2: its source is in the test text, line 1" in result.output
    assert "3 of 7 lines are without a finding." in result.output
    assert f"{tmp_path}/c/c.tsv has 4 pairs, 1 of them mended." in result.output
    rows = (tmp_path / "c/c.tsv").read_text("utf-8").splitlines()
    assert rows[-1] == "It's raining in the village.\tEstá lloviendo en el pueblo."
    again = run("check", tmp_path / "c/c.tsv")
    assert "4 of 4 lines are without a finding." in again.output


def test_findings_are_listed_as_json(corpus, tmp_path):
    result = run("check", corpus, "--json", "--list", tmp_path / "f.jsonl", "--ignore", "entities")
    facts = json.loads(result.output)
    assert (facts["lines"], facts["faulty"], facts["counts"]) == (7, 2, {"unreadable": 2})
    rows = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text("utf-8").splitlines()]
    assert rows == facts["findings"]
    assert [row["line"] for row in rows] == [5, 6]


def test_a_copy_whose_name_ends_in_gz_is_packed(corpus, tmp_path):
    """It was written plain, and no command could read it."""
    assert run("check", corpus, "--clean", tmp_path / "c.tsv.gz").exit_code == 0
    assert run("check", corpus, "--clean", tmp_path / "c.tsv").exit_code == 0
    plain = (tmp_path / "c.tsv").read_bytes()
    assert gzip.decompress((tmp_path / "c.tsv.gz").read_bytes()) == plain


def test_two_files_are_checked_and_cleaned_as_two(tmp_path):
    for name, side in (("a.en", 0), ("a.es", 1)):
        lines = [pair[side] for pair in (*PAIRS, PAIRS[0])]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    files = tmp_path / "a.en", tmp_path / "a.es"
    result = run("check", *files, "--clean", tmp_path / "c.en", "--clean", tmp_path / "c.es")
    assert "line 5: the same as line 1" in result.output
    assert (tmp_path / "c.es").read_text("utf-8").splitlines() == [pair[1] for pair in PAIRS]


def test_files_that_are_checked_are_not_written(corpus, tmp_path):
    before = corpus.read_bytes()
    result = run("check", corpus, "--clean", corpus)
    assert result.exit_code == 2
    assert "is being checked: choose another file to write" in result.output
    assert corpus.read_bytes() == before
    assert run("check", corpus, corpus, corpus).exit_code == 2


def test_a_recipe_names_the_files(corpus, tmp_path):
    (tmp_path / "r.yaml").write_text(
        f"corpus: {{train: [{corpus}], validation: [{tmp_path}/test.tsv], bad_lines: skip}}\n"
        "tokenizer: {vocabulary_size: 100}\n"
        "training: {updates: 1, checkpoint_every: 1, bleu_every: 1}\n"
    )
    result = run("check", tmp_path / "r.yaml")
    assert "its source is in the validation text, line 1" in result.output


def test_patterns_and_urls_are_no_files_to_check(corpus, tmp_path):
    for name in (f"{corpus.parent}/*.tsv", "s3://bucket/a.tsv"):
        result = run("check", name, "--validation", corpus)
        assert result.exit_code == 1
        assert "Patterns and URLs cannot be checked: copy and join their files" in result.output
