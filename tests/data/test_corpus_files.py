import gzip
import hashlib
import io
import zipfile

import pytest

from aiayn_keras.data import CorpusError, corpora
from aiayn_keras.data.corpora import RemoteFile, fetch


def test_every_file_has_a_home_and_a_checksum():
    files = [*corpora.MULTI30K.values(), corpora.TATOEBA]
    assert len({file.path for file in files}) == len({file.sha256 for file in files}) == 19
    for file in files:
        assert len(file.sha256) == 64
        assert all(url.startswith("http") for url in file.urls)
    master = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1"
    assert f"{master}/raw/val.fr.gz" in corpora.MULTI30K["raw/validation.fr"].urls
    tok = corpora.MULTI30K["tok/test.en"]
    assert f"{master}/tok/test_2016_flickr.lc.norm.tok.en" in tok.urls
    assert tok.path == "multi30k/tok/test_2016_flickr.lc.norm.tok.en"


TEXT = "ein Löwe\nzwei Löwen\n".encode()
SHA256 = hashlib.sha256(TEXT).hexdigest()


def zipped(name="inner/text.de"):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(name, TEXT)
    return archive.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "member"),
    [
        ("text.de", TEXT, None),
        ("text.de.gz", gzip.compress(TEXT), None),
        ("text.zip", zipped(), "inner/text.de"),
    ],
    ids=["plain", "gz", "zip"],
)
def test_file_arrives_unpacked_and_is_fetched_once(server, tmp_path, name, data, member):
    file = RemoteFile("folder/text.de", SHA256, (server.serve(name, data),), member)
    path = fetch(file, tmp_path)
    assert path == tmp_path / "folder/text.de"
    assert path.read_bytes() == TEXT
    assert fetch(file, tmp_path) == path
    assert len(server.requests) == 1


def test_cached_file_that_was_damaged_is_fetched_again(server, tmp_path):
    file = RemoteFile("text.de", SHA256, (server.serve("text.de", TEXT),))
    (tmp_path / "text.de").write_bytes(TEXT[:-3])
    assert fetch(file, tmp_path).read_bytes() == TEXT


def test_second_home_is_tried_when_the_first_fails(server, tmp_path):
    homes = (server.serve("gone", None), server.serve("bad", b"x"), server.serve("good", TEXT))
    assert fetch(RemoteFile("text.de", SHA256, homes), tmp_path, retries=0).read_bytes() == TEXT
    assert server.requests == ["/gone", "/bad", "/good"]


def test_failed_request_is_tried_again(server, tmp_path):
    file = RemoteFile("text.de", SHA256, (server.serve("text.de", [None, TEXT]),))
    assert fetch(file, tmp_path, retries=1).read_bytes() == TEXT
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "data", "member", "message"),
    [
        ("text.de", TEXT[:-1], None, f"expected {SHA256}"),
        ("text.de", None, None, "404"),
        ("text.gz", gzip.compress(TEXT)[:-9], None, "/text.gz: "),
        ("text.zip", zipped()[:40], "inner/text.de", "not a zip file"),
        ("text.zip", zipped("other"), "inner/text.de", "does not contain inner/text.de"),
    ],
    ids=["other bytes", "not there", "cut gz", "cut zip", "zip of other files"],
)
def test_failed_download_leaves_nothing_behind(server, tmp_path, name, data, member, message):
    file = RemoteFile("text.de", SHA256, (server.serve(name, data),), member)
    with pytest.raises(CorpusError, match=message) as caught:
        fetch(file, tmp_path, retries=0)
    assert "AIAYN_KERAS_DATA" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
