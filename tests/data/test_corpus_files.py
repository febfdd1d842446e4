from aiayn_keras.data import corpus_files


def test_every_file_has_a_home_and_a_checksum():
    files = [*corpus_files.MULTI30K.values(), corpus_files.TATOEBA]
    assert len({file.path for file in files}) == len({file.sha256 for file in files}) == 19
    for file in files:
        assert len(file.sha256) == 64
        assert all(url.startswith("http") for url in file.urls)
    master = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1"
    assert f"{master}/raw/val.fr.gz" in corpus_files.MULTI30K["raw/validation.fr"].urls
    tok = corpus_files.MULTI30K["tok/test.en"]
    assert f"{master}/tok/test_2016_flickr.lc.norm.tok.en" in tok.urls
    assert tok.path == "multi30k/tok/test_2016_flickr.lc.norm.tok.en"
