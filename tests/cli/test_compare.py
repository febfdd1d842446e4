"""`aiayn-keras compare`."""

import json
import unicodedata

import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from tests.cli.command import SOURCES, assert_one_clear_line, run, write_lines

ENGLISH = ["He is 30 years old.", "The cat sleeps.", "We eat bread.", "She has 2 dogs."]
GERMAN = ["Er ist 30 Jahre alt.", "Die Katze schläft.", "Wir essen Brot.", "Sie hat 2 Hunde."]
SECOND = ["Er ist 30.", "Die Katze schläft gerade.", "Wir essen das Brot.", "Sie hat 2 Hunde."]
GOOD = ["Er ist 30 Jahre alt.", "Die Katze schlief.", "Wir essen Brot.", "Sie hat 2 Hunde."]
BAD = ["Er ist 13 Jahre alt.", '<b>Hund</b> & "Katze"', "Wir essen brot.", ""]


@pytest.fixture
def files(tmp_path):
    texts = {"source": ENGLISH, "reference": GERMAN, "second": SECOND, "good": GOOD, "bad": BAD}
    return {name: write_lines(tmp_path / name, lines) for name, lines in texts.items()}


def compare(files, *systems, references=("reference",), source="source"):
    """Arguments of a comparison of some of the files."""
    arguments = ["compare", *systems]
    for name in references:
        arguments += ["--reference", files[name]]
    return arguments + ([] if source is None else ["--source", files[source]])


@pytest.mark.parametrize("references", [("reference",), ("reference", "second")])
def test_scores_and_p_values_are_those_of_sacrebleu(files, references):
    arguments = compare(files, files["good"], files["bad"], references=references)
    found = json.loads(run(*arguments, "--json").stdout)
    sets = [{"reference": GERMAN, "second": SECOND}[name] for name in references]
    metrics = {
        "BLEU": sacrebleu.BLEU(),
        "chrF2": sacrebleu.CHRF(),
        "TER": sacrebleu.TER(case_sensitive=True),
    }
    signatures, results = PairedTest([("a", GOOD), ("b", BAD)], metrics, sets, "bs")()
    for place, outputs in enumerate((GOOD, BAD)):
        scores = found["systems"][place]["scores"]
        assert scores["BLEU"]["score"] == sacrebleu.corpus_bleu(outputs, sets).score
        assert scores["chrF2"]["score"] == sacrebleu.corpus_chrf(outputs, sets).score
        assert scores["TER"]["score"] == metrics["TER"].corpus_score(outputs, sets).score
        for metric, score in scores.items():
            assert score["p_value"] == results[metric][place].p_value
            assert score["interval"] == results[metric][place].ci
    assert found["signatures"] == {name: str(each) for name, each in signatures.items()}
    assert f"nrefs:{len(sets)}" in found["signatures"]["BLEU"]
    assert "bs:1000" in found["signatures"]["BLEU"]


def test_lengths_numbers_and_differing_lines_are_counted(files):
    found = json.loads(run(*compare(files, files["good"], files["bad"]), "--json").stdout)
    good, bad = found["systems"]
    assert good["length_ratio"] == 1.0
    assert bad["length_ratio"] == sacrebleu.BLEU().corpus_score(BAD, [GERMAN]).ratio
    assert (good["empty"], bad["empty"]) == (0, 1)
    assert (good["numbers_differ_from_source"], bad["numbers_differ_from_source"]) == (0, 1)
    assert (good["numbers_differ_from_reference"], bad["numbers_differ_from_reference"]) == (0, 1)
    assert (found["lines"], found["different"]) == (4, 4)
    assert [each["line"] for each in found["most_different"]] == [4, 2, 3, 1]
    second = found["most_different"][1]
    assert second["source"] == ENGLISH[1]
    assert second["references"] == [GERMAN[1]]
    assert second["outputs"] == [GOOD[1], BAD[1]]
    expected = [sacrebleu.sentence_chrf(text, [GERMAN[1]]).score for text in (GOOD[1], BAD[1])]
    assert second["chrf"] == expected


def test_files_need_no_source_and_the_text_shows_the_lines(files):
    arguments = compare(files, files["good"], files["bad"], files["second"], source=None)
    result = run(*arguments, "--lines", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"A  {files['good']}\nB  {files['bad']}\n")
    assert "nrefs:1|" in result.stdout
    assert result.stdout.count("\nline ") == 1
    assert "  reference  Sie hat 2 Hunde.\n" in result.stdout
    assert "source     " not in result.stdout
    figures = json.loads(run(*arguments, "--lines", "0", "--json").stdout)
    assert figures["most_different"] == []
    assert figures["systems"][0]["numbers_differ_from_source"] is None


def test_equal_translations_are_not_significantly_different(files, tmp_path):
    copy = write_lines(tmp_path / "copy", GOOD)
    found = json.loads(run(*compare(files, files["good"], copy), "--json").stdout)
    for score in found["systems"][1]["scores"].values():
        assert (score["p_value"], score["significant"]) == (1.0, False)
    assert found["different"] == 0


def test_the_page_is_escaped_and_loads_nothing(files, tmp_path):
    page = tmp_path / "new/page.html"
    result = run(*compare(files, files["good"], files["bad"]), "--page", page)
    assert result.exit_code == 0, result.output
    written = page.read_text("utf-8")
    assert "&lt;b&gt;Hund&lt;/b&gt;" in written
    assert "<b>Hund" not in written
    assert "default-src 'none'" in written
    assert "<script" not in written
    assert "http://" not in written
    assert "https://" not in written


@pytest.mark.slow
def test_a_training_is_compared_with_its_kit_and_a_file(trained_run, model, kit, tmp_path):
    source = write_lines(tmp_path / "source", SOURCES)
    reference = write_lines(tmp_path / "reference", ["Das Mädchen lacht.", "Paul arbeitet."])
    written = write_lines(tmp_path / "written", ["Das Kind.", "Paul."])
    arguments = ("--source", source, "--reference", reference, "--json")
    result = run("compare", trained_run, kit, written, *arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    names = [system["name"] for system in found["systems"]]
    assert names == [str(trained_run), str(kit), str(written)]
    outputs = [each["outputs"] for each in sorted(found["most_different"], key=lambda e: e["line"])]
    texts = [each.text for each in model.translate(SOURCES)]
    assert outputs == [[texts[0], texts[0], "Das Kind."], [texts[1], texts[1], "Paul."]]


@pytest.fixture
def kit(model, tmp_path_factory):
    pytest.importorskip("tensorflow_serving")
    from tests.made_once import made_once

    return made_once(tmp_path_factory, "kit/small", model.export)


def test_wrong_arguments_are_refused_in_one_line(files, tmp_path, trained_run):
    short = write_lines(tmp_path / "short", GOOD[:3])
    result = run(*compare(files, files["good"], short))
    assert_one_clear_line(result, "short has 3 lines", "reference has 4")
    (tmp_path / "folder").mkdir()
    result = run(*compare(files, files["good"], tmp_path / "folder"))
    assert_one_clear_line(result, "folder is not a model folder", "not a serving kit either")
    empty = write_lines(tmp_path / "empty", [])
    result = run("compare", files["good"], files["bad"], "--reference", empty)
    assert_one_clear_line(result, "empty is empty")
    missing = tmp_path / "missing"
    result = run("compare", files["good"], files["bad"], "--reference", missing)
    assert_one_clear_line(result, "missing")
    for arguments, message in (
        (compare(files, files["good"]), "at least two"),
        (compare(files, files["good"], files["good"]), "once"),
        (compare(files, files["good"], missing), "does not exist"),
        (
            compare(files, files["good"], trained_run, source=None),
            "give its model a text, with --source",
        ),
        ((*compare(files, files["good"], short), "--page", "a.pdf"), "must end in .html"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert message in " ".join(result.stderr.split())
    for name in ("good", "source"):
        copy = files[name].rename(tmp_path / f"{name}.html")
        files[name] = copy
        result = run(*compare(files, files["good"], files["bad"]), "--page", copy)
        assert result.exit_code == 2, result.output
        assert "is being compared" in result.stderr
    (tmp_path / "folder" / "task.json").write_text("{}")  # a model that would not load
    result = run(*compare(files, files["good"], tmp_path / "folder"), "--page", copy)
    assert result.exit_code == 2, result.output


def test_letters_and_marks_may_be_written_apart(files, tmp_path):
    apart = [unicodedata.normalize("NFD", line) for line in GERMAN]
    assert apart != GERMAN
    files["reference"] = write_lines(tmp_path / "apart", apart)
    files["together"] = write_lines(tmp_path / "together", GERMAN)
    found = json.loads(run(*compare(files, files["together"], files["bad"]), "--json").stdout)
    assert found["systems"][0]["scores"]["BLEU"]["score"] == pytest.approx(100)
