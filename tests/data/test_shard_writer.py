import json

import pytest

from aiayn_keras.data import CorpusError, generate_demo_pairs, write_shards

ORIGIN = {"corpus": "demo"}


@pytest.fixture(scope="module", name="text")
def demo_text():
    return generate_demo_pairs(2300, 0, "train")


@pytest.fixture(scope="module", name="proto")
def vocabulary(text, learn_vocabulary):
    return learn_vocabulary(text, 200)


def test_workers_get_a_thousand_pairs_in_turn(tmp_path, text, proto):
    handed = []
    count = write_shards(tmp_path / "out", text, proto, 200, 2, ORIGIN, progress=handed.append)
    assert (count, handed) == (2300, [1000, 1000, 300])
    index = json.loads((tmp_path / "out/index.json").read_text("utf-8"))
    assert index["origin"] == ORIGIN
    assert [shard["pairs"] for shard in index["shards"]] == [1300, 1000]


def test_a_worker_without_pairs_is_not_in_the_index(tmp_path, text, proto):
    write_shards(tmp_path / "out", text[:10], proto, 200, 3, ORIGIN)
    index = json.loads((tmp_path / "out/index.json").read_text("utf-8"))
    assert [shard["pairs"] for shard in index["shards"]] == [10]


def test_a_folder_appears_whole_or_not_at_all(tmp_path, proto):
    def broken():
        yield from [("a", "b")] * 1500
        raise CorpusError("a.en, line 1501: not valid UTF-8")

    with pytest.raises(CorpusError, match="line 1501"):
        write_shards(tmp_path / "out", broken(), proto, 200, 2, ORIGIN)
    with pytest.raises(ValueError, match="corpus is empty"):
        write_shards(tmp_path / "out", [], proto, 200, 2, ORIGIN)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileExistsError, match="mine exists"):
        write_shards(tmp_path / "mine", [("a", "b")], proto, 200, 2, ORIGIN)


def test_a_worker_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"tokenizes failed: .*[a-z]"):
        write_shards(tmp_path / "out", [("a", "b")] * 5000, b"no model", 200, 2, ORIGIN)
    assert list(tmp_path.iterdir()) == []
