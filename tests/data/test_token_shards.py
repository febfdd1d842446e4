import hashlib
import io
import json
import os

import numpy as np
import pytest
import sentencepiece
from array_record.python.array_record_module import ArrayRecordWriter

from aiayn_keras.data import (
    CorpusError,
    FilterReport,
    PackedBatches,
    TokenPairs,
    TokenShards,
    generate_demo_pairs,
    token_shards,
    write_shards,
)
from aiayn_keras.data.token_shards import check_records, read_index

PAIRS = 2300
ORIGIN = {"corpus": "demo"}


@pytest.fixture(scope="module", name="text")
def demo_text():
    return generate_demo_pairs(PAIRS, 0, "train")


@pytest.fixture(scope="module", name="proto")
def vocabulary(text, learn_vocabulary):
    return learn_vocabulary(text, 200)


@pytest.fixture(scope="module", name="folder")
def prepared(text, proto, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards") / "demo"
    write_shards(folder, text, proto, 200, ORIGIN, max_pairs_per_shard=1300)
    return folder


@pytest.fixture
def copy(folder, tmp_path):
    import shutil

    return shutil.copytree(folder, tmp_path / "copy")


def test_ids_that_are_not_those_of_the_index_are_named(copy):
    check_records(copy)
    path = copy / "train-00001.array_record"
    content = bytearray(path.read_bytes())
    content[-200] ^= 1  # the size stays
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"00001\.array_record is damaged or another shard's"):
        check_records(copy)
    path.unlink()
    with pytest.raises(CorpusError, match=r"00001\.array_record is missing"):
        check_records(copy)


def test_shards_read_what_the_tokenizer_gives(folder, text, proto):
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    sides = [processor.encode(list(side)) for side in (text.sources, text.targets)]
    shards, pairs = TokenShards(folder, max_length=None), TokenPairs(*sides)
    assert (len(shards), shards.origin, shards.tokenizer_proto) == (PAIRS, ORIGIN, proto)
    np.testing.assert_array_equal(shards.source_lengths, pairs.source_lengths)
    np.testing.assert_array_equal(shards.target_lengths, pairs.target_lengths)
    numbers = np.random.default_rng(1).permutation(PAIRS)[:500]
    for ours, theirs in zip(shards.read(numbers, 0), pairs.read(numbers, 0), strict=True):
        np.testing.assert_array_equal(ours.ids, theirs.ids)
        np.testing.assert_array_equal(ours.lengths, theirs.lengths)
    # So batches are the same too.
    ours, theirs = (PackedBatches(p, tokens_per_batch=512, seed=3) for p in (shards, pairs))
    np.testing.assert_array_equal(ours[7][1], theirs[7][1])


def test_the_lengths_filter_without_reading(folder):
    every = TokenShards(folder, max_length=None)
    limit = int(np.median(every.source_lengths))
    kept = TokenShards(folder, max_length=limit)
    fits = np.maximum(every.source_lengths, every.target_lengths) <= limit
    assert kept.report == FilterReport(PAIRS, fits.sum(), 0, PAIRS - fits.sum(), 0)
    numbers = np.array([len(kept) - 1, 0, 5])
    same = np.flatnonzero(fits)[numbers]
    np.testing.assert_array_equal(kept.read(numbers, 0)[1].ids, every.read(same, 0)[1].ids)
    with pytest.raises(CorpusError, match="no pair is left"):
        TokenShards(folder, max_length=1)


def test_lengths_take_few_bytes(folder):
    shards = TokenShards(folder)
    assert shards.source_lengths.dtype.itemsize == shards.target_lengths.dtype.itemsize == 1


def flip_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_shard_that_is_cut_or_gone_is_named(copy):
    path = copy / "train-00001.array_record"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match=rf"train-00001.*bytes instead of {len(data):,}"):
        TokenShards(copy)
    path.unlink()
    with pytest.raises(CorpusError, match=r"train-00001.*is missing"):
        TokenShards(copy)


def test_a_changed_bit_is_found(copy):
    flip_bit(copy / "train-00000.lengths.npy")
    with pytest.raises(CorpusError, match=r"lengths\.npy is damaged: checksum mismatch"):
        TokenShards(copy)


def replace_file(folder, name, data):
    """Replaces a file of the first shard, and what the index says of it."""
    path = folder / f"train-00000.{name}"
    path.write_bytes(data)
    index = json.loads((folder / "index.json").read_text())
    digest = hashlib.sha256(data).hexdigest()
    index["shards"][0]["files"][name] = {"bytes": len(data), "sha256": digest}
    (folder / "index.json").write_text(json.dumps(index))


def array_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (b"", "is not an array"),
        (b"\x93NUMPY" + bytes(100), "is not an array"),
        (array_bytes(np.zeros((1300, 2), "<u8")), r"1,300 pairs of <u4 .*contains <u8"),
        (array_bytes(np.zeros((1301, 2), "<u4")), r"shape \(1301, 2\)"),
        (array_bytes(np.zeros((1300, 2), "<u4"))[:-8], "is not an array"),
    ],
)
def test_lengths_that_are_none_are_refused(copy, lengths, message):
    replace_file(copy, "lengths.npy", lengths)
    with pytest.raises(CorpusError, match=rf"00000\.lengths\.npy .*{message}"):
        TokenShards(copy)


def test_records_that_are_none_are_refused(copy):
    replace_file(copy, "array_record", np.random.default_rng(1).bytes(70_000))
    with pytest.raises(CorpusError, match=r"copy are damaged: .*Prepare the corpus again"):
        TokenShards(copy).read(np.arange(10), 0)


def test_ids_beyond_the_vocabulary_are_refused(copy):
    lengths = np.array([[1, 1]], "<u4")
    writer = ArrayRecordWriter(str(copy / "small"), "group_size:1")
    writer.write(np.array([199, 200], "<u2").tobytes())
    writer.close()
    replace_file(copy, "array_record", (copy / "small").read_bytes())
    replace_file(copy, "lengths.npy", array_bytes(lengths))
    index = json.loads((copy / "index.json").read_text())
    index["shards"] = [{**index["shards"][0], "pairs": 1}]
    (copy / "index.json").write_text(json.dumps(index))
    with pytest.raises(CorpusError, match="contains the id 200, but the tokenizer has 200 tokens"):
        TokenShards(copy).read(np.array([0]), 0)


def test_other_numbers_of_pairs_than_the_index_says_are_refused(copy):
    first, second = (copy / f"train-0000{n}.array_record" for n in (0, 1))
    replace_file(copy, "array_record", second.read_bytes())
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(CorpusError, match="they contain 2,000 pairs instead of 2,300"):
        TokenShards(copy)


@pytest.mark.parametrize("data", [b"", b"no tokenizer", bytes(1000), None])
def test_a_tokenizer_that_is_none_is_named(copy, data):
    path = copy / "tokenizer.spm"
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(CorpusError, match=r"tokenizer\.spm.*Copy the folder again"):
        TokenShards(copy)


def test_a_vocabulary_that_the_ids_cannot_number_is_refused(copy, monkeypatch):
    monkeypatch.setattr(token_shards, "_count_tokens", lambda path, proto: 2**16 + 1)
    with pytest.raises(
        CorpusError, match=r"tokenizer\.spm has 65,537 tokens, more than ids of .*`dtype`=<u2"
    ):
        TokenShards(copy)


def test_a_changed_bit_in_a_record_is_found_when_it_is_read(copy):
    flip_bit(copy / "train-00000.array_record")
    shards = TokenShards(copy)
    with pytest.raises(CorpusError, match=r"are damaged: .*Prepare the corpus again"):
        shards.read(np.arange(PAIRS), 0)


def test_a_folder_without_or_with_another_index(copy, tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"not contain a prepared corpus.*aiayn-keras prepare"
    ):
        TokenShards(tmp_path)
    index = json.loads((copy / "index.json").read_text())
    (copy / "index.json").write_text(json.dumps({**index, "version": 9}))
    with pytest.raises(CorpusError, match="version 9, this package reads version 1"):
        TokenShards(copy)
    (copy / "index.json").write_text("{")
    with pytest.raises(CorpusError, match=r"index\.json is damaged"):
        TokenShards(copy)


FACTS = {"bytes": 1, "sha256": "0" * 64}
SHARD = {"name": "a", "pairs": 1, "files": {"array_record": FACTS, "lengths.npy": FACTS}}
INDEX = {"version": 1, "dtype": "<u2", "origin": {"corpus": "demo"}, "shards": [SHARD]}


def write_index(folder, index):
    text = index if isinstance(index, str) else json.dumps(index)
    (folder / "index.json").write_text(text)
    return folder


def test_an_index_is_read(tmp_path):
    index = read_index(write_index(tmp_path, INDEX))
    assert (index.dtype, index.origin, index.shards[0].files.lengths.bytes) == (
        "<u2",
        {"corpus": "demo"},
        1,
    )


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("", "is damaged: Invalid JSON"),
        ("[" * 100_000, "is damaged: Invalid JSON"),
        ('{"version": 1, "origin": ' + "[" * 100_000, "is damaged: Invalid JSON"),
        ("[]", "is damaged: Input should be an object"),
        ("null", "is damaged: Input should be an object"),
        ({**INDEX, "version": "1"}, "has version '1', this package reads version 1"),
        ({**INDEX, "version": True}, "has version True, this package reads version 1"),
        ({**INDEX, "dtype": "O"}, "`dtype`: Input should be '<u2' or '<u4'"),
        ({**INDEX, "shards": []}, "`shards`: List should have at least 1 item"),
        ({**INDEX, "shards": {}}, "`shards`: Input should be a valid array"),
        ({**INDEX, "more": 1}, "`more`: Extra inputs are not permitted"),
        ({**INDEX, "shards": [SHARD, SHARD]}, "`shards`: two shards have the same name"),
        ({**INDEX, "shards": [{**SHARD, "name": "../a"}]}, "`shards.0.name`: String should match"),
        ({**INDEX, "shards": [{**SHARD, "name": "/a"}]}, "`shards.0.name`: String should match"),
        ({**INDEX, "shards": [{**SHARD, "name": "a\n"}]}, "`shards.0.name`: String should match"),
        (
            {**INDEX, "shards": [{**SHARD, "pairs": 2**31}]},
            "`shards.0.pairs`: Input should be less",
        ),
        (
            {**INDEX, "shards": [{**SHARD, "pairs": 1.5}]},
            "`shards.0.pairs`: Input should be a valid",
        ),
        ({**INDEX, "shards": [{**SHARD, "files": {}}]}, "`shards.0.files.array_record`: Field req"),
        (
            {name: INDEX[name] for name in ("version", "dtype", "origin")},
            "`shards`: Field required",
        ),
        (json.dumps(INDEX) + " " * 64_000_000, "has more than 64,000,000 bytes"),
    ],
)
def test_a_wrong_index_is_refused_with_its_field(tmp_path, index, message):
    with pytest.raises(CorpusError, match=rf"index\.json.*{message}.*Prepare the corpus again"):
        read_index(write_index(tmp_path, index))


def test_an_index_that_is_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "index.json")
    with pytest.raises(CorpusError, match=r"index\.json is not a regular file"):
        read_index(tmp_path)
