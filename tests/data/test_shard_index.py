import json
import os

import pytest

from aiayn_keras.data import CorpusError
from aiayn_keras.data.token_shards import read_index

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
