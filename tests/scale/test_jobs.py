"""Jobs in processes: the right results, once each; what was done is kept; bad lines reported."""

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from aiayn_keras.common.folder_lock import FolderInUseError
from aiayn_keras.data import CorpusError, TokenShards, generate_demo_pairs
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.scale.job import Job, Manifest, finish_job
from aiayn_keras.scale.parts import plan_parts
from aiayn_keras.scale.preparation import EvenSample, prepare
from aiayn_keras.scale.translation import _batches, translate_files
from aiayn_keras.scale.worker_pool import WorkerPool
from tests.random_parser import SOURCES, build_random_parser, is_tree_of
from tests.runs import small_recipe

DEMO = str(Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras")
TEXT = generate_demo_pairs(600, 0, "train")


def read_parts(folder, ending=".txt"):
    return "".join(path.read_text("utf-8") for path in sorted(Path(folder).glob(f"*{ending}")))


def recipe_of(files, *settings):
    return small_recipe(
        "corpus.name=null",
        f"corpus.train=[{', '.join(map(str, files))}]",
        f"corpus.validation=[{', '.join(map(str, files))}]",
        *settings,
    )


def write_files(folder):
    paths = [folder / "a.en", folder / "a.de"]
    for path, side in zip(paths, (TEXT.sources, TEXT.targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), "utf-8")
    return paths


# ---- Translation ----


@pytest.mark.slow
def test_a_line_without_a_tree_is_reported_and_the_others_have_theirs(tmp_path):
    build_random_parser().save_to_preset(tmp_path / "parser")
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in SOURCES), "utf-8")
    done = translate_files(
        *(tmp_path / "parser", tmp_path / "in.txt", tmp_path / "out"),
        constraint="brackets",
        max_length=7,
    )
    assert done == (4, 1)
    trees = read_parts(tmp_path / "out").splitlines()
    has_tree = [is_tree_of(tree, line) for tree, line in zip(trees, SOURCES, strict=True)]
    assert (has_tree, trees[2]) == ([True, True, False, True], "")
    (bad,) = read_parts(tmp_path / "out", ".bad.jsonl").splitlines()
    assert json.loads(bad)["reason"] == "no translation satisfies the constraint"


@pytest.mark.slow
def test_translations_are_those_of_the_model(tmp_path):
    lines = [*TEXT.sources[:40], "", "The " * 300, "Paul works."]
    (tmp_path / "in.txt").write_bytes("\n".join(lines).encode() + b"\n\xff bad\n")
    done = translate_files(DEMO, tmp_path / "in.txt", tmp_path / "out", part_bytes=500, num_beams=2)
    assert done == (44, 2)
    model = TransformerSeq2SeqLM.from_preset(DEMO)
    good = [*lines[:41], lines[42]]
    expected = [each.text for each in model.translate(good, num_beams=2)]
    found = read_parts(tmp_path / "out").split("\n")[:-1]
    assert [*found[:41], found[42]] == expected
    assert (found[41], found[43]) == ("", "")
    reasons = [
        json.loads(line)["reason"]
        for line in read_parts(tmp_path / "out", ".bad.jsonl").splitlines()
    ]
    assert "tokens are more than the model's" in reasons[0]
    assert "UTF-8" in reasons[1]


def test_a_job_goes_on_with_the_parts_that_are_missing(tmp_path):
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in TEXT.sources[:60]))
    arguments = (DEMO, tmp_path / "in.txt", tmp_path / "out")
    options = {"part_bytes": 500, "num_beams": 1}
    translate_files(*arguments, **options)
    before = read_parts(tmp_path / "out")
    kept = (tmp_path / "out/part-000000.txt").stat().st_mtime_ns
    (tmp_path / "out/part-000001.json").unlink()
    (tmp_path / "out/part-000001.bad.jsonl").write_text("of the file before it was mended\n")
    (tmp_path / "out/part-000002.json").write_text("{damaged")
    with (tmp_path / "out/part-000003.txt").open("a") as file:
        file.write("cut by a crash")
    altered = tmp_path / "out/part-000004.txt"
    altered.write_bytes(altered.read_bytes().swapcase())  # of equal size
    (tmp_path / "out/.writing-left").mkdir()
    assert translate_files(*arguments, **options) == (60, 0)
    assert read_parts(tmp_path / "out") == before
    assert (tmp_path / "out/part-000000.txt").stat().st_mtime_ns == kept
    assert not (tmp_path / "out/.writing-left").exists()
    assert not (tmp_path / "out/part-000001.bad.jsonl").exists()


@pytest.mark.slow
def test_a_damaged_file_keeps_the_others_from_nothing_and_may_be_mended(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"The girl is happy.\n" * 9))
    whole = (tmp_path / "b.gz").read_bytes()
    (tmp_path / "b.gz").write_bytes(whole[:-5])
    arguments = (DEMO, tmp_path / "*.gz", tmp_path / "out")
    with pytest.raises(ValueError, match=r"b\.gz: not a complete.*the same command goes on"):
        translate_files(*arguments, num_beams=1)
    done = {path.name for path in (tmp_path / "out").glob("part-*.json")}
    assert done == {"part-000000.json", "part-000002.json"}
    (tmp_path / "b.gz").write_bytes(whole)
    assert translate_files(*arguments, num_beams=1) == (27, 0)
    (tmp_path / "b.gz").write_bytes(whole)
    os.utime(tmp_path / "b.gz", (1, 1))
    with pytest.raises(FileExistsError, match=r"files \(\S*/b\.gz has changed since it began\)"):
        translate_files(*arguments, num_beams=1)
    (tmp_path / "b.gz").rename(tmp_path / "d.gz")
    with pytest.raises(
        FileExistsError, match=r"files, parts \(\S*/d\.gz was not one of its files\)"
    ):
        translate_files(*arguments, num_beams=1)
    (tmp_path / "d.gz").unlink()
    with pytest.raises(FileExistsError, match=r"files, parts \(\S*/b\.gz is gone\)"):
        translate_files(*arguments, num_beams=1)


def test_a_repaired_text_of_another_size_is_accepted(tmp_path):
    (tmp_path / "a.txt").write_text("The girl is happy.\n")
    (tmp_path / "b.txt").write_text("The girl is happy.\n", "utf-16")
    (tmp_path / "c.txt").write_text("The girl is happy.\n" * 2)
    arguments = (DEMO, tmp_path / "?.txt", tmp_path / "out")
    with pytest.raises(ValueError, match=r"b\.txt, line 1: not UTF-8.*the same command goes on"):
        translate_files(*arguments, num_beams=1)
    kept = (tmp_path / "out/part-000002.txt").stat().st_mtime_ns
    (tmp_path / "b.txt").write_text("The girl is happy.\n", "utf-8")
    with pytest.raises(FileExistsError, match=r"files, parts \(\S*/b\.txt has changed"):
        translate_files(*arguments, num_beams=1, part_bytes=10)  # part 2 would be of b.txt
    assert translate_files(*arguments, num_beams=1) == (4, 0)
    assert read_parts(tmp_path / "out") == "Das Mädchen ist glücklich.\n" * 4
    assert (tmp_path / "out/part-000002.txt").stat().st_mtime_ns == kept


def test_results_among_the_files_and_in_the_model_s_folder_are_none_of_the_job(tmp_path):
    model = shutil.copytree(DEMO, tmp_path / "model")
    (model / "in.txt").write_text("The girl is happy.\n")
    (tmp_path / "link").symlink_to(model)
    for output in (model / "out", f"file://{model}/out/", tmp_path / "link/out"):
        assert translate_files(model, model / "**/*.txt", output, num_beams=1) == (1, 0)
    with pytest.raises(FileNotFoundError, match=r"no file .*\.json except those in .*/out"):
        translate_files(model, model / "out/*.json", model / "out", num_beams=1)


def test_a_job_has_its_folder_for_itself(tmp_path):
    job = Job(str(tmp_path / "out"), [])
    with (
        job.opened({"files": []}),
        pytest.raises(FolderInUseError, match=rf"process {os.getpid()} .* works in .*/out:"),
        job.opened({"files": []}),
    ):
        pass


def test_the_workers_end_before_the_job_does(tmp_path):
    ended = []

    class EngineDouble:
        def run(self, *_, **__):
            try:
                yield 0, "no manifest"
            finally:
                ended.append(True)

    with pytest.raises(AttributeError) as caught:  # which holds the frames, as Ctrl-C's does
        finish_job(Job(str(tmp_path), []), EngineDouble(), None, ())
    assert ended, caught


def test_a_job_of_one_part_shows_its_lines_while_it_is_worked_on(tmp_path, capsys):
    (tmp_path / "in.txt").write_text("Paul works.\n")
    _, parts = plan_parts([str(tmp_path / "in.txt")])

    class EngineDouble:
        def run(self, *_, progress, **__):
            progress(1_234)
            progress(900)  # of this part, when another one is finished
            yield 0, Manifest(lines=1_300, bad_lines=0, files={})

    job = Job(str(tmp_path / "out"), parts)
    with pytest.raises(RuntimeError, match="is not this machine's"):  # nothing is written
        finish_job(job, EngineDouble(), None, ())
    first, second, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("0/1 [")
    assert ", 1,234 lines, " in first
    assert ", 1,234 lines, " in second


def test_a_file_that_changed_after_its_part_was_read_is_no_success(tmp_path):
    (tmp_path / "in.txt").write_text("The girl is happy.\n")
    _, parts = plan_parts([str(tmp_path / "in.txt")])
    manifest = Manifest(lines=1, bad_lines=0, files={})

    class EngineDouble:
        def run(self, *_, **__):
            (tmp_path / "in.txt").write_text("The girl is happy.\nPaul works.\n")
            yield 0, manifest

    with pytest.raises(CorpusError, match=r"in\.txt has changed while .*19 bytes, now 31"):
        finish_job(Job(str(tmp_path / "out"), parts), EngineDouble(), None, ())


def test_a_list_of_bad_lines_that_is_lost_or_damaged_is_written_again(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"\xff\nPaul works.\n")
    _, parts = plan_parts([str(tmp_path / "in.txt")])
    job = Job(str(tmp_path / "out"), parts)
    (tmp_path / "out").mkdir()
    job.finish_part(parts[0], 2, [(1, "not UTF-8")], {})
    assert job.open_parts()[0] == []
    for damage in (lambda path: path.write_text("{"), Path.unlink):
        damage(tmp_path / "out/part-000000.bad.jsonl")
        assert job.open_parts() == (parts, {})


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "in.txt").write_text("The girl is happy.\n")
    arguments = (DEMO, tmp_path / "in.txt", tmp_path / "out")
    with pytest.raises(ValueError, match="`min_length` must be from 0"):
        translate_files(*arguments, min_length=3, max_length=2)
    translate_files(*arguments, num_beams=1)  # nothing was done
    with pytest.raises(
        FileExistsError,
        match=r"differs in: options\.num_beams \(1 there, 2 here\), "
        r"options\.max_length \(None there, 7 here\)\. Choose a different folder\.$",
    ):
        translate_files(*arguments, num_beams=2, max_length=7)
    with pytest.raises(FileExistsError, match=r"in\.txt is a file, and the results need a folder"):
        translate_files(*arguments[:2], tmp_path / "in.txt")
    (tmp_path / "in.txt").write_text("Paul works.\n")
    with pytest.raises(FileExistsError, match="differs in: files"):
        translate_files(*arguments, num_beams=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes").touch()
    with pytest.raises(FileExistsError, match="holds other files"):
        translate_files(*arguments[:2], tmp_path / "full")
    (tmp_path / "folders/notes").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="holds other files or folders, such as notes"):
        translate_files(*arguments[:2], tmp_path / "folders")
    for damaged in ("[1]", '{"files": [1]}', '{"files": [[]]}'):
        (tmp_path / "out/job.json").write_text(damaged)
        with pytest.raises(ValueError, match=r"job\.json is damaged"):
            translate_files(*arguments, num_beams=1)


# ---- Preparation ----


SMALL = {"part_bytes": 9_000, "max_pairs_per_shard": 100}


@pytest.fixture(scope="module", name="prepared")
def prepared_by_two_processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    assert prepare(recipe_of(write_files(folder)), folder / "out", WorkerPool(2), **SMALL) == (
        600,
        0,
    )
    return folder


def test_prepared_pairs_are_those_of_the_files(prepared):
    shards = TokenShards(prepared / "out", max_length=None)
    assert len(list((prepared / "out").glob("*.array_record"))) > 6
    processor = sentencepiece.SentencePieceProcessor(model_proto=shards.tokenizer_proto)
    for actual, side in zip(
        shards.read(np.arange(600), 0), (TEXT.sources, TEXT.targets), strict=True
    ):
        ids = processor.encode(list(side))
        np.testing.assert_array_equal(actual.ids, np.concatenate(ids))
        np.testing.assert_array_equal(actual.lengths, list(map(len, ids)))


def test_a_preparation_goes_on_to_the_same_shards_with_other_workers(prepared, tmp_path):
    files = [prepared / "a.en", prepared / "a.de"]
    copy = shutil.copytree(prepared / "out", tmp_path / "copy")
    (copy / "index.json").unlink()
    (copy / "part-000001.json").unlink()
    (copy / "part-000002-00000.array_record").unlink()
    prepare(recipe_of(files), copy, WorkerPool(1), **SMALL)
    names = {path.name for path in (prepared / "out").iterdir()}
    assert names == {path.name for path in copy.iterdir()}
    for name in names:
        assert (copy / name).read_bytes() == (prepared / "out" / name).read_bytes(), name


def test_lines_that_cannot_be_used_are_left_out(tmp_path):
    rows = [f"{a}\t{b}\n".encode() for a, b in TEXT[:300]]
    (tmp_path / "a.tsv").write_bytes(
        b"".join([*rows[:100], b"no tab\n", *rows[100:], b"\xff\ta\n"])
    )
    recipe = recipe_of([tmp_path / "a.tsv"])
    assert prepare(recipe, tmp_path / "out", WorkerPool(1), part_bytes=5_000) == (302, 2)
    assert len(TokenShards(tmp_path / "out", max_length=None)) == 300
    assert "found no tab" in read_parts(tmp_path / "out", ".bad.jsonl")


def test_damaged_files_are_reported_before_the_vocabulary_is_learned_and_may_be_mended(tmp_path):
    rows = "".join(f"{a}\t{b}\n" for a, b in TEXT[:300]).encode()
    for name in "abc":
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(rows))
    whole = (tmp_path / "a.tsv.gz").read_bytes()
    for name in "ac":
        (tmp_path / f"{name}.tsv.gz").write_bytes(whole[:-5])
    arguments = (recipe_of([tmp_path / "*.tsv.gz"]), tmp_path / "out", WorkerPool(2))
    with pytest.raises(CorpusError, match=r"a\.tsv\.gz: .* such errors: 2\. No part is tokenized"):
        prepare(*arguments)
    for name in "ac":
        (tmp_path / f"{name}.tsv.gz").write_bytes(whole)
    assert prepare(*arguments) == (900, 0)


def test_a_corpus_without_a_pair_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("no tab\n")
    with pytest.raises(ValueError, match=r"a\.tsv: no pairs to prepare"):
        prepare(recipe_of([tmp_path / "a.tsv"]), tmp_path / "out", WorkerPool(1))


def test_a_parquet_file_without_a_row_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = pyarrow.schema({"source": "string", "target": "string"})
    parquet.ParquetWriter(tmp_path / "a.parquet", schema).close()
    with pytest.raises(ValueError, match=r"a\.parquet: no pairs to prepare"):
        prepare(recipe_of([tmp_path / "a.parquet"]), tmp_path / "out", WorkerPool(1))
    assert not (tmp_path / "out").exists()


def test_lines_without_a_token_are_batches_too():
    assert list(_batches([0, 1, 2], [0, 0, 0], 4)) == [[0, 1, 2]]


@given(st.integers(0, 300), st.integers(1, 20))
def test_a_sample_is_evenly_spaced_and_large_enough(length, wanted):
    sample = EvenSample(wanted)
    for item in range(length):
        sample.add(item)
    assert min(wanted, length) <= len(sample.items) < 2 * wanted or length < 2 * wanted
    if length < 2 * wanted:
        assert sample.items == list(range(length))
    assert sample.items in [list(range(0, length, 1 << power)) for power in range(10)]


@pytest.mark.parametrize(
    ("num_beams", "sizes"),
    [(1, [128, 256, 16]), (4, [128, 256, 16]), (50, [8] * 16 + [16] * 17), (1000, [1] * 400)],
)
def test_more_beams_make_smaller_batches(num_beams, sizes):
    lengths = [30] * 128 + [16] * 272
    batches = list(_batches(list(range(400)), lengths, num_beams))
    assert [len(batch) for batch in batches] == sizes
    assert [place for batch in batches for place in batch] == list(range(400))
