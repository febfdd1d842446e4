import gzip

import pytest

from aiayn_keras.data import CorpusError, read_parallel, stream_parallel

SOURCE = "\ufeffa cat\r\ntwo\u2028parts\n\ncafe\u0301\n".encode()
TARGET = "eine Katze\nzwei\nleer\nCafé".encode()


def write(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("compressed", [False, True])
def test_the_pairs_are_those_of_read_parallel(tmp_path, compressed):
    if compressed:
        source = write(tmp_path / "a.en.gz", gzip.compress(SOURCE))
    else:
        source = write(tmp_path / "a.en", SOURCE)
    target = write(tmp_path / "a.de", TARGET)
    pairs = list(stream_parallel(source, target))
    assert pairs == list(read_parallel(source, target))
    assert pairs[3] == ("café", "Café")


def test_columns_are_read_too(tmp_path):
    path = write(tmp_path / "a.tsv", b"a\tb\tby whom\nc\td\n")
    assert list(stream_parallel(path)) == [("a", "b"), ("c", "d")]
    write(path, b"a\tb\nno tab\n")
    with pytest.raises(CorpusError, match=r"a\.tsv, line 2.*no tab"):
        list(stream_parallel(path))


@pytest.mark.parametrize(("first", "second"), [("a.en", "a.de"), ("a.de", "a.en")])
def test_the_longer_file_is_named(tmp_path, first, second):
    write(tmp_path / "a.en", b"1\n2\n3\n")
    write(tmp_path / "a.de", b"1\n2\n")
    with pytest.raises(CorpusError, match=r"2 lines in .*a\.de, more in .*a\.en"):
        list(stream_parallel(tmp_path / first, tmp_path / second))


def test_damage_is_named(tmp_path):
    good = write(tmp_path / "a.de", b"1\n2\n")
    bad = write(tmp_path / "a.en", b"1\ncaf\xe9\n")
    with pytest.raises(CorpusError, match=r"a\.en, line 2: not valid UTF-8 \(byte 0xe9\)"):
        list(stream_parallel(bad, good))
    cut = write(tmp_path / "b.en.gz", gzip.compress(b"1\n2\n" * 1000)[:-20])
    with pytest.raises(CorpusError, match=r"b\.en\.gz: not a complete gzip"):
        list(stream_parallel(cut, cut))
    with pytest.raises(FileNotFoundError, match=r"no\.en"):
        list(stream_parallel(tmp_path / "no.en", good))
