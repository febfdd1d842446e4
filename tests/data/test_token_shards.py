import json

import numpy as np
import pytest
import sentencepiece

from aiayn_keras.data import (
    CorpusError,
    FilterReport,
    PackedBatches,
    TokenPairs,
    TokenShards,
    generate_demo_pairs,
    write_shards,
)

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
    write_shards(folder, text, proto, 200, 2, ORIGIN)
    return folder


@pytest.fixture
def copy(folder, tmp_path):
    import shutil

    return shutil.copytree(folder, tmp_path / "copy")


def in_shard_order(sequence):
    """Chunks of 1,000 go to the two workers in turn."""
    return [*sequence[:1000], *sequence[2000:], *sequence[1000:2000]]


def test_shards_read_what_the_tokenizer_gives(folder, text, proto):
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    sides = [in_shard_order(processor.encode(list(side))) for side in (text.sources, text.targets)]
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
    path = copy / "train-00001-of-00002.array_record"
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match=rf"train-00001.*bytes instead of {len(data):,}"):
        TokenShards(copy)
    path.unlink()
    with pytest.raises(CorpusError, match=r"train-00001.*is missing"):
        TokenShards(copy)


def test_a_changed_bit_is_found(copy):
    flip_bit(copy / "train-00000-of-00002.lengths.npy")
    with pytest.raises(CorpusError, match=r"lengths\.npy is damaged: its checksum"):
        TokenShards(copy)


def test_a_changed_bit_in_a_record_is_found_when_it_is_read(copy):
    flip_bit(copy / "train-00000-of-00002.array_record")
    shards = TokenShards(copy)
    with pytest.raises(CorpusError, match=r"are damaged: .*Prepare the corpus again"):
        shards.read(np.arange(PAIRS), 0)


def test_a_folder_without_or_with_another_index(copy, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no prepared corpus.*aiayn-keras prepare"):
        TokenShards(tmp_path)
    index = json.loads((copy / "index.json").read_text())
    (copy / "index.json").write_text(json.dumps({**index, "version": 9}))
    with pytest.raises(CorpusError, match="version 9, this package reads 1"):
        TokenShards(copy)
    (copy / "index.json").write_text("{")
    with pytest.raises(CorpusError, match=r"index\.json is damaged"):
        TokenShards(copy)
