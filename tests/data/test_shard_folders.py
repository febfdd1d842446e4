import json

import pytest

from aiayn_keras.data import CorpusError, TokenShards, generate_demo_pairs, write_shards
from aiayn_keras.data.shard_folders import dtype_of, split_into_shards

ORIGIN = {"corpus": "demo"}


@pytest.fixture(scope="module", name="text")
def demo_text():
    return generate_demo_pairs(2300, 0, "train")


@pytest.fixture(scope="module", name="proto")
def vocabulary(text, learn_vocabulary):
    return learn_vocabulary(text, 200)


@pytest.mark.parametrize(
    ("max_pairs_per_shard", "sizes"),
    [(1000, [1000, 1000, 300]), (1150, [1150, 1150]), (2300, [2300])],
)
def test_shards_have_a_greatest_size(tmp_path, text, proto, max_pairs_per_shard, sizes):
    count = write_shards(tmp_path / "out", text, proto, 200, ORIGIN, max_pairs_per_shard)
    index = json.loads((tmp_path / "out/index.json").read_text("utf-8"))
    assert (count, index["origin"], index["dtype"]) == (2300, ORIGIN, "<u2")
    assert [shard["pairs"] for shard in index["shards"]] == sizes
    assert len(TokenShards(tmp_path / "out", max_length=None)) == 2300


@pytest.mark.parametrize("count", range(8))
def test_a_stream_is_split_without_loss(count):
    assert [list(some) for some in split_into_shards(range(count), 3)] == [
        list(range(start, min(start + 3, count))) for start in range(0, count, 3)
    ]


def test_ids_have_the_smallest_type():
    assert [dtype_of(size) for size in (8, 2**16, 2**16 + 1)] == ["<u2", "<u2", "<u4"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path, proto):
    def broken():
        yield from [("a", "b")] * 1500
        raise CorpusError("a.en, line 1501: not valid UTF-8")

    with pytest.raises(CorpusError, match="line 1501"):
        write_shards(tmp_path / "out", broken(), proto, 200, ORIGIN)
    with pytest.raises(ValueError, match="corpus is empty"):
        write_shards(tmp_path / "out", [], proto, 200, ORIGIN)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="mine exists"):
        write_shards(tmp_path / "mine", [("a", "b")], proto, 200, ORIGIN)
