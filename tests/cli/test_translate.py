import dataclasses
import json
import os
import sys
import threading

import pytest

from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras_cli import main
from tests.cli.command import SOURCES, assert_one_clear_line, run, write_lines
from tests.helpers import assert_close

IN_THIS_PROCESS = {"standalone_mode": False}


@pytest.fixture
def expected(model):
    return [translation.text for translation in model.translate(SOURCES)]


@pytest.mark.slow
def test_translate_a_file(trained_run, source_file, expected):
    result = run("translate", trained_run, "--input", source_file)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == expected


def test_translate_standard_input(trained_run, source_file, expected):
    result = run("translate", trained_run, input=source_file.read_bytes())
    assert result.stdout.splitlines() == expected


@pytest.mark.slow
def test_translate_keeps_empty_lines(trained_run):
    result = run("translate", trained_run, input="\n\nThe girl is happy.\n")
    assert result.stdout.split("\n")[:2] == ["", ""]
    assert len(result.stdout.split("\n")) == 4


def test_more_translations_than_beams_are_refused(trained_run):
    result = run("translate", trained_run, "--n-best", 9, input="a")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "add --num-beams 9" in result.stderr


PLACEABLES = ["https://x.org/a?b=c", "The girl is happy.", "  me@x.org, notes.txt :)", ""]


@pytest.mark.slow
def test_placeables_stay_in_lines_and_in_jobs_unless_told_otherwise(trained_run, model, tmp_path):
    path = write_lines(tmp_path / "lines.en", PLACEABLES)
    kept = [PLACEABLES[0], model.translate(PLACEABLES[1]).text, *PLACEABLES[2:]]
    translated = [each.text for each in model.translate(PLACEABLES)]
    assert run("translate", trained_run, "--input", path).stdout.splitlines() == kept
    assert run("translate", trained_run, input=path.read_bytes()).stdout.splitlines() == kept
    result = run("translate", trained_run, "--placeables", "translate", "--input", path)
    assert result.stdout.splitlines() == translated != kept
    result = run("translate", trained_run, "--alignments", "--json", "--input", path)
    found = [json.loads(line)["hypotheses"][0]["text"] for line in result.stdout.splitlines()]
    assert found == translated
    run("translate", trained_run, "--input", path, "--output", tmp_path / "job")
    (part,) = (tmp_path / "job").glob("*.txt")
    assert part.read_text("utf-8").splitlines() == kept
    result = run("translate", trained_run, "--placeables", "keep", "--alignments", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--placeables keep cannot be combined with" in result.stderr
    result = run("translate", trained_run, "--placeables", "translate", "--document", input="a")
    assert "--document keeps placeables" in result.stderr


def test_a_line_too_long_is_named(trained_run, tmp_path):
    path = write_lines(tmp_path / "long.en", ["Good.", "bus " * 300])
    arguments = ("translate", trained_run, "--long-text", "error")
    result = run(*arguments, "--input", path)
    assert_one_clear_line(result, "long.en, line 2", "256 positions", "--document")
    result = run(*arguments, input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2", "--document")


@pytest.mark.slow
def test_a_line_too_long_is_split_or_cut(trained_run, model, tmp_path):
    long = "The girl is happy. " * 80
    path = write_lines(tmp_path / "long.en", [SOURCES[1], long])
    short, whole = run("translate", trained_run, "--input", path).stdout.splitlines()
    assert short == model.translate(SOURCES[1]).text
    assert whole == model.translate_documents(long).text
    assert run("translate", trained_run, input=path.read_bytes()).stdout.splitlines()[1] == whole
    result = run("translate", trained_run, "--long-text", "cut", "--input", path)
    assert result.stdout.splitlines() == [short, model.translate(long, long_text="cut").text]
    result = run("translate", trained_run, "--document", "--long-text", "cut", "--input", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "omit --long-text" in result.stderr


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
    assert_one_clear_line(result, "nowhere is not a model folder")


def test_options_reach_the_search(trained_run, source_file, model, tmp_path):
    prefixes = ["Das", ""]
    options = {
        "num_beams": 3,
        "length_penalty": 1.0,
        "length_penalty_offset": 0,
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


@pytest.mark.slow
def test_a_constraint_is_a_name_or_a_file(trained_run, source_file, model, tmp_path):
    token_ids = model.preprocessor.tokenizer.of_targets()(["Das Mädchen ist glücklich."])[0]
    constraint = TokenAutomaton.of_vocabulary(token_ids)
    path = tmp_path / "vocabulary.json"
    path.write_text(json.dumps(dataclasses.asdict(constraint)))
    arguments = ("translate", trained_run, "--input", source_file, "--constraint")
    expected = [each.text for each in model.translate(SOURCES, constraint=constraint)]
    assert run(*arguments, path).stdout.splitlines() == expected
    assert expected != [each.text for each in model.translate(SOURCES)]
    assert_one_clear_line(run(*arguments, "brackets"), "must have pairs of brackets")
    path.write_text('{"kind": "automaton", "transitions": [[0, 9, 1], [1, 9, 2]], "final": [2]}')
    for command in (arguments, (*arguments[:2], "--constraint")):
        result = run(*command, path, "--max-length", 1, input=source_file.read_bytes())
        assert_one_clear_line(result, ", line 1: no translation keeps the constraint within")
    for wrong in ("trees", "nowhere.json", write_lines(tmp_path / "wrong.json", ["[1]"])):
        result = run(*arguments, wrong)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Invalid value for '--constraint'" in result.stderr


def test_json_holds_scores_tokens_and_alignments(trained_run, source_file, model):
    arguments = ("translate", trained_run, "--input", source_file, "--n-best", 2, "--json")
    lines = run(*arguments, "--alignments").stdout.splitlines()
    expected = model.translate(SOURCES, num_return_sequences=2, return_alignments=True)
    sources = []
    for line, translation in zip(lines, expected, strict=True):
        fields = json.loads(line)
        sources.append(fields["source"])
        pieces = fields["source_tokens"]
        assert "".join(pieces[:-1]).replace("▁", " ").strip() == fields["source"]
        assert pieces[-1] == "</s>"
        hypotheses = fields["hypotheses"]
        assert all(len(row) == len(pieces) for row in hypotheses[0]["alignment"])
        ranks = [found["normalized_score"] for found in hypotheses]
        assert ranks == sorted(ranks, reverse=True)
        for found, hypothesis in zip(hypotheses, translation.hypotheses, strict=True):
            assert found["text"] == hypothesis.text
            assert tuple(found["tokens"]) == hypothesis.tokens
            assert_close(found["score"], hypothesis.score, 1e-5)
            assert_close(found["normalized_score"], hypothesis.normalized_score, 1e-5)
            assert_close(found["alignment"], hypothesis.alignment, 0, 1e-4)
    assert sources == SOURCES
    assert "alignment" not in run(*arguments).stdout


def test_a_file_is_translated_a_chunk_at_a_time(trained_run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["aiayn_keras_cli.translate"], "_MAX_LINES", 2)
    lines, prefixes = [*SOURCES, "", "Half past three."], ["", "Jeden", "", ""]
    source = write_lines(tmp_path / "source.en", lines)
    options = ("--input", source, "--prefixes", write_lines(tmp_path / "prefixes", prefixes))
    result = run("translate", trained_run, *options)
    assert result.exit_code == 0, result.output
    assert ("prefix are left to it" in result.stderr) == ("searches" in result.stderr)
    expected = model.translate(lines, prefixes=prefixes)
    assert result.stdout.split("\n")[:-1] == [each.text for each in expected]
    write_lines(source, [*SOURCES, "Good.", "bus " * 300])
    result = run("translate", trained_run, *options, "--long-text", "error")
    assert_one_clear_line(result, "source.en, line 4", "256 positions")
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.parametrize("damage", [b"caf\xe9\n", b"x" * 1_000_001])
def test_a_file_is_read_to_its_end_before_anything_is_translated(trained_run, tmp_path, damage):
    path = tmp_path / "damaged.en"
    path.write_bytes(b"Good.\n" * 20_000 + damage)
    result = run("translate", trained_run, "--input", path)
    assert_one_clear_line(result, "damaged.en, line 20001: ")
    assert result.stdout == ""


def test_a_named_pipe_is_refused(trained_run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    result = run("translate", trained_run, "--input", tmp_path / "pipe")
    assert_one_clear_line(result, "pipe is not a regular file")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--alignments",), "needs --json"),
        (("--prefixes", "prefixes"), "needs --input"),
    ],
)
def test_options_that_need_another_are_refused(trained_run, arguments, message):
    result = run("translate", trained_run, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_every_line_needs_a_prefix(trained_run, source_file, tmp_path):
    prefixes = write_lines(tmp_path / "prefixes", ["one"])
    result = run("translate", trained_run, "--input", source_file, "--prefixes", prefixes)
    assert_one_clear_line(result, "the same number of lines", "1 and 2")


@pytest.mark.parametrize(
    ("prefix", "message"), [("bus " * 300, "the prefix has"), ("☃", "the prefix must be made of")]
)
def test_a_prefix_that_cannot_be_used_is_named(trained_run, source_file, tmp_path, prefix, message):
    prefixes = write_lines(tmp_path / "prefixes", ["", prefix])
    result = run("translate", trained_run, "--input", source_file, "--prefixes", prefixes)
    assert_one_clear_line(result, f"{prefixes}, line 2: {message}")


@pytest.mark.slow
def test_a_line_is_translated_when_it_arrives(trained_run, model, monkeypatch):
    """The second line is sent after the first's translation has been read."""
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    with (
        os.fdopen(read_in) as stdin,
        os.fdopen(write_in, "w") as sent,
        os.fdopen(read_out) as received,
        os.fdopen(write_out, "w") as stdout,
    ):
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("sys.stdout", stdout)
        arguments = ["translate", str(trained_run)]
        command = threading.Thread(target=main, args=(arguments,), kwargs=IN_THIS_PROCESS)
        command.start()
        try:
            for source in SOURCES:
                sent.write(f"{source}\n")
                sent.flush()
                assert received.readline() == f"{model.translate([source])[0].text}\n"
        finally:
            sent.close()
            command.join(60)
        assert not command.is_alive()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--workers 2", "need --output"),
        ("--on-ray", "need --output"),
        ("--output job", "needs --input"),
        ("--output job --input some.en --json", "omit --prefixes and --json"),
        ("--output job --input some.en --n-best 2", "cannot be combined with --n-best"),
        ("--output job --input some.en --batch-size 8", "omit --batch-size"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(options, message, trained_run):
    result = run("translate", trained_run, *options.split())
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_job_reads_the_column_of_parquet_that_is_named(trained_run, model, tmp_path):
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    lines = ["The girl is happy.", "Paul works."]
    parquet.write_table(pyarrow.table({"id": [1, 2], "en": lines}), tmp_path / "in.parquet")
    arguments = ("translate", trained_run, "--input", tmp_path / "in.parquet", "--output")
    result = run(*arguments, tmp_path / "text")
    assert_one_clear_line(result, "no column 'text'. Its columns: id, en.", "--columns")
    result = run(*arguments, tmp_path / "en", "--columns", "en")
    assert result.stdout == f"2 lines are in {tmp_path}/en.\n"
    expected = [each.text for each in model.translate(lines)]
    assert (tmp_path / "en/part-000000.txt").read_text("utf-8").splitlines() == expected


@pytest.mark.slow
def test_a_job_of_lines_treats_long_ones_as_it_is_told(trained_run, model, tmp_path):
    short, long = "Paul works.", "Paul works. " * 60
    write_lines(tmp_path / "in.txt", [short, long])
    whole = model.translate(short).text
    for way, expected in (
        ("split", model.translate(long, long_text="split").text),
        ("cut", model.translate(long, long_text="cut").text),
        ("error", ""),
    ):
        arguments = ("--input", tmp_path / "in.txt", "--output", tmp_path / way)
        result = run("translate", trained_run, *arguments, "--long-text", way)
        assert result.exit_code == 0, result.output
        found = (tmp_path / way / "part-000000.txt").read_text("utf-8").split("\n")
        assert found == [whole, expected, ""]
        assert ("1 line is without a translation: see " in result.stderr) == (way == "error")
    assert (
        model.translate(long, long_text="cut").text != model.translate(long, long_text="split").text
    )
