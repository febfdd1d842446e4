import json
import logging

import pytest

from aiayn_keras.data import CorpusError, generate_demo_pairs, read_parallel
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.training import RecipeError, train
from aiayn_keras.training.training_data import read_corpus
from tests.runs import small_recipe

BAD = {17: b"no tab", 40: b"caf\xe9\tKaffee", 41: b"x\xff\ty", 300: b"neither"}
"""Lines of the training file that cannot be used, by their numbers from 1."""


@pytest.fixture
def files(tmp_path):
    """A recipe of a file of 600 lines, four of them bad, and a clean file."""
    rows = [f"{a}\t{b}".encode() for a, b in generate_demo_pairs(600, 0, "train")]
    (tmp_path / "clean.tsv").write_bytes(b"\n".join(rows[:60]))
    for number, line in BAD.items():
        rows[number - 1] = line
    (tmp_path / "a.tsv").write_bytes(b"\n".join(rows))

    def recipe(*settings):
        return small_recipe(
            "corpus.name=null",
            f"corpus.train=[{tmp_path}/a.tsv]",
            f"corpus.validation=[{tmp_path}/clean.tsv]",
            *settings,
        )

    return recipe


def _lines(path):
    return path.read_text("utf-8").splitlines()


def test_all_bad_lines_are_named_at_once(files, tmp_path):
    with pytest.raises(CorpusError) as raised:
        read_corpus(files())
    message = str(raised.value)
    assert message.startswith("4 of 600 lines cannot be used: ")
    assert f"{tmp_path}/a.tsv, lines 17, 300: expected `source<TAB>target`, found no tab" in message
    assert "; lines 40-41: not valid UTF-8. " in message
    assert "`corpus.bad_lines: skip`" in message


@pytest.mark.parametrize("ending", ["csv", "jsonl", "tmx"])
def test_a_table_of_another_format_is_named(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text('"tea","Tee"\n"cake","Kuchen"\n')
    with pytest.raises(CorpusError, match=rf"none of this \.{ending} file is\. Write .* two"):
        read_parallel(path)
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(CorpusError, match="not valid UTF-8"):
        read_parallel(path)


@pytest.mark.slow
def test_skipped_lines_are_listed_and_counted_and_the_others_are_trained_on(
    files, tmp_path, caplog
):
    recipe = files("corpus.bad_lines=skip", "training.updates=2", "training.checkpoint_every=1")
    with caplog.at_level(logging.WARNING, "aiayn_keras"):
        train(recipe, tmp_path / "run")
    assert "4 of 600 lines cannot be used" in caplog.text
    rows = [json.loads(line) for line in _lines(tmp_path / "run/bad_lines.jsonl")]
    assert [row["line"] for row in rows] == list(BAD)
    assert rows[1] == {
        "file": f"{tmp_path}/a.tsv",
        "line": 40,
        "reason": "not valid UTF-8 (byte 0xe9)",
    }


def test_a_pair_of_two_files_is_left_out_for_either_side(tmp_path):
    (tmp_path / "a.en").write_bytes(b"one\n\xff\nthree\nfour\n")
    (tmp_path / "a.de").write_bytes(b"eins\nzwei\n\xfe\nvier\n")
    corpus = read_corpus(
        small_recipe(
            "corpus.name=null",
            f"corpus.train=[{tmp_path}/a.en, {tmp_path}/a.de]",
            f"corpus.validation=[{tmp_path}/c.tsv]",
            "corpus.bad_lines=skip",
            _clean(tmp_path / "c.tsv"),
        )
    )
    assert [(each.file, each.line) for each in corpus.bad_lines] == [
        (f"{tmp_path}/a.en", 2),
        (f"{tmp_path}/a.de", 3),
    ]
    assert list(corpus.train._text) == [("one", "eins"), ("four", "vier")]


def _clean(path):
    path.write_text("one\teins\n")
    return f"corpus.test=[{path}]"


def test_validation_text_must_be_whole(files, tmp_path):
    (tmp_path / "clean.tsv").write_bytes(b"a\tb\nc\n\xff\td\n")
    with pytest.raises(CorpusError, match=r"2 of 3 lines cannot be used: .*clean\.tsv, line 2: "):
        read_corpus(files("corpus.bad_lines=skip"))


def test_a_text_of_bad_lines_alone_is_refused(files, tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"a\nb\n")
    with pytest.raises(CorpusError, match="No line is left to train on"):
        read_corpus(files("corpus.bad_lines=skip"))


@pytest.mark.parametrize(
    "settings", [(), ("tokenizer.whole_target_words=true", "tokenizer.vocabulary_size=900")]
)
def test_prepared_shards_leave_the_same_lines_out(files, tmp_path, settings):
    done = prepare(files(*settings), tmp_path / "shards")
    assert (done.lines, done.bad_lines) == (600, 4)
    (path,) = (tmp_path / "shards").glob("*bad*.jsonl")
    assert [json.loads(line)["line"] for line in _lines(path)] == list(BAD)


def test_bad_lines_are_a_field_of_files_of_text():
    with pytest.raises(RecipeError, match="leave out `bad_lines`: it is only for files of text"):
        small_recipe("corpus.bad_lines=skip")


def test_long_lists_are_cut(tmp_path):
    rows = ["bad" if n % 2 else "a\tb" for n in range(1000)]
    (tmp_path / "a.tsv").write_text("\n".join(rows))
    with pytest.raises(CorpusError) as raised:
        read_parallel(tmp_path / "a.tsv")
    assert "lines 2, 4, 6, 8, 10, 12, 14, 16 and 492 more: expected" in str(raised.value)


def _numbered(path, lines):
    path.write_text("".join(f"{n}\n" for n in range(lines)))
    return path


def test_the_rest_of_a_long_line_is_not_taken_for_a_line(tmp_path):
    (tmp_path / "a").write_bytes(b"one\n" + b"x" * 3_000_000 + b"\nthree\n")
    with pytest.raises(CorpusError, match=r"a, line 2: a line must have at most 1,000,000 bytes"):
        read_parallel(tmp_path / "a", _numbered(tmp_path / "b", 3))
