"""S3 over its protocol on loopback: what is written there is what would be written here."""

import os

import numpy as np
import pytest

from aiayn_keras.common.file_addresses import read_file, sizes_in, whole_file
from aiayn_keras.common.found_files import find_files
from aiayn_keras.data import CorpusError, TokenShards
from aiayn_keras.data.shard_folders import copy_shards
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.scale.translation import translate_files
from aiayn_keras.scale.worker_pool import WorkerPool
from tests.scale.test_jobs import DEMO, TEXT, read_parts, recipe_of

pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")


@pytest.fixture(scope="module", name="bucket")
def served_bucket():
    """The URL of a new bucket of a server that speaks S3's protocol on loopback."""
    import s3fs

    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem().mkdir("corpus")
        yield "s3://corpus"
    server.stop()


def test_files_appear_whole_or_not_at_all(bucket):
    address = f"{bucket}/whole/a.txt"
    with pytest.raises(UnicodeEncodeError), whole_file(address) as path:
        path.write_text("half, then \ud800", "utf-8")
    assert sizes_in(f"{bucket}/whole") == {}
    with whole_file(address) as path:
        path.write_text("whole")
    assert sizes_in(f"{bucket}/whole") == {"a.txt": 5}
    assert read_file(address, 5) == b"whole"
    with pytest.raises(ValueError, match=r"a\.txt has more than 4 bytes"):
        read_file(address, 4)
    (found,) = find_files(f"{bucket}/whole/*.txt")
    assert (found.address, found.bytes) == (address, 5)
    with pytest.raises(FileNotFoundError, match=r"There is no file s3://corpus/nowhere"):
        read_file(f"{bucket}/nowhere", 9)


def test_a_preparation_there_is_one_here(bucket, tmp_path):
    files = []
    for name, side in (("a.en", TEXT.sources), ("a.de", TEXT.targets)):
        with whole_file(f"{bucket}/text/{name}") as path:
            path.write_text("".join(f"{line}\n" for line in side), "utf-8")
        files.append(f"{bucket}/text/{name}")
    options = {"part_bytes": 9_000, "max_pairs_per_shard": 100}
    assert prepare(recipe_of(files), f"{bucket}/shards", WorkerPool(1), **options) == (600, 0)
    assert prepare(recipe_of(files), tmp_path / "here", WorkerPool(1), **options) == (600, 0)
    copy = copy_shards(f"{bucket}/shards", tmp_path / "cache")
    there, here = (TokenShards(folder) for folder in (copy, tmp_path / "here"))
    assert there.tokenizer_proto == here.tokenizer_proto
    for one, other in zip(there.read(np.arange(600), 0), here.read(np.arange(600), 0), strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
    name = next(copy.glob("*.array_record")).name
    os.truncate(copy / name, 10)
    assert copy_shards(f"{bucket}/shards", tmp_path / "cache") == copy
    assert len(TokenShards(copy)) == 600
    with whole_file(f"{bucket}/shards/{name}") as path:
        path.write_bytes(b"other")
    (copy / name).unlink()
    with pytest.raises(CorpusError, match=rf"shards/{name} is damaged"):
        copy_shards(f"{bucket}/shards", tmp_path / "cache")


@pytest.mark.slow
def test_a_translation_there_is_one_here(bucket, tmp_path):
    content = "".join(f"{line}\n" for line in TEXT.sources[:30]).encode()
    (tmp_path / "in.txt").write_bytes(content)
    with whole_file(f"{bucket}/in/in.txt") as path:
        path.write_bytes(content)
    options = {"part_bytes": 500, "num_beams": 1}
    translate_files(DEMO, tmp_path / "in.txt", tmp_path / "out", **options)
    for _ in range(2):  # the second time there is nothing to do
        assert translate_files(DEMO, f"{bucket}/in/*.txt", f"{bucket}/out", **options) == (30, 0)
    texts = [name for name in sorted(sizes_in(f"{bucket}/out")) if name.endswith(".txt")]
    there = b"".join(read_file(f"{bucket}/out/{name}", 10_000) for name in texts)
    assert there.decode() == read_parts(tmp_path / "out")
