import gzip
import hashlib
import io
import zipfile

import pytest

from aiayn_keras.data import (
    CorpusError,
    corpora,
    corpus_names,
    load_corpus,
    load_craft,
)
from aiayn_keras.data.corpora import CRAFT, RemoteFile
from aiayn_keras.data.parallel_text import letters_of


def lay_out(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(name="multi30k")
def multi30k_folder(tmp_path, monkeypatch):
    names = {"train": 3, "val": 2, "test_2016_flickr": 1}
    for language in ("en", "de", "fr"):
        for name, count in names.items():
            lines = [f"{language} {name} {n}\n" for n in range(count)]
            raw, tok = "".join(lines).upper(), "".join(lines)
            lay_out(tmp_path, {f"multi30k/raw/{name}.{language}": raw})
            lay_out(tmp_path, {f"multi30k/tok/{name}.lc.norm.tok.{language}": tok})
    monkeypatch.setenv("AIAYN_KERAS_DATA", str(tmp_path))
    return tmp_path


def test_demo_has_the_sizes_asked_for():
    corpus = load_corpus("demo", train_size=30, validation_size=4, test_size=5, seed=9)
    assert [len(text) for text in (corpus.train, corpus.validation, corpus.test)] == [30, 4, 5]
    assert (corpus.source_language, corpus.target_language) == ("en", "de")
    assert corpus.train != load_corpus("demo", train_size=30, validation_size=4, test_size=5).train


@pytest.mark.parametrize("name", ["train_size", "validation_size", "test_size"])
def test_sizes_of_the_demo_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"`{name}` must be at least 0 and at most 10000000"):
        load_corpus("demo", **{name: 10**10})
    with pytest.raises(TypeError, match=f"`{name}` must be an integer"):
        load_corpus("demo", **{name: 2.5})


@pytest.mark.parametrize("language", ["de", "fr"])
def test_multi30k_is_read_from_the_data_folder(multi30k, language):
    corpus = load_corpus(f"multi30k-en-{language}")
    assert list(corpus.train)[2] == ("en train 2", f"{language} train 2")
    assert list(corpus.validation)[1] == ("en val 1", f"{language} val 1")
    assert list(corpus.test) == [("en test_2016_flickr 0", f"{language} test_2016_flickr 0")]
    assert corpus.test.name == f"multi30k-en-{language}-test"
    raw = load_corpus(f"multi30k-en-{language}", variant="raw")
    assert raw.train[0] == ("EN TRAIN 0", f"{language.upper()} TRAIN 0")


def test_argument_comes_before_the_variable(multi30k, tmp_path):
    other = tmp_path / "other"
    lay_out(other, {"tatoeba-spa-eng/spa.txt": "Go.\tVe.\n"})
    assert load_corpus("tatoeba-en-es", data_dir=other).source_language == "en"


def test_missing_file_is_named_with_the_variable(multi30k):
    (multi30k / "multi30k/tok/val.lc.norm.tok.de").unlink()
    with pytest.raises(FileNotFoundError, match=r"val\.lc\.norm\.tok\.de.*AIAYN_KERAS_DATA"):
        load_corpus("multi30k-en-de")


def test_no_sentence_of_tatoeba_is_in_two_splits(tmp_path):
    # Every source has two translations, and every third of these is another source's as well.
    lines = [
        f"Sentence {n}.\t{'¡' * k}Frase {n - (n % 3 == 0 and k)}-{k}.\tCC-BY\n"
        for n in range(600)
        for k in range(2)
    ]
    lay_out(tmp_path, {"tatoeba-spa-eng/spa.txt": "".join(lines)})
    corpus = load_corpus("tatoeba-en-es", data_dir=tmp_path)
    texts = (corpus.train, corpus.validation, corpus.test)
    assert sum(map(len, texts)) == 1200
    for side in ("sources", "targets"):
        letters = [{letters_of(sentence) for sentence in getattr(text, side)} for text in texts]
        assert letters[0].isdisjoint(letters[1] | letters[2])
        assert letters[1].isdisjoint(letters[2])
    assert 4 <= len(corpus.validation) <= 60
    assert 4 <= len(corpus.test) <= 60
    assert corpus.test.name == "tatoeba-en-es-test"


def test_the_phrases_come_with_the_package_and_are_clean():
    corpus = load_corpus("phrases-en-es")
    texts = (corpus.train, corpus.validation, corpus.test)
    assert [len(text) > 10 for text in texts] == [True] * 3
    pairs = [pair for text in texts for pair in text]
    assert len(set(pairs)) == len(pairs) == 49_784
    for source, target in pairs:
        assert source.strip() == source != ""
        assert target.strip() == target != ""
        assert target.count("¿") == target.count("?"), target
        assert target.count("¡") == target.count("!"), target


def test_unknown_corpus_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"demo, multi30k-en-de, .*Received: name='wmt14'"):
        load_corpus("wmt14")
    with pytest.raises(ValueError, match="Received: variant='bpe'"):
        load_corpus("demo", variant="bpe")
    assert corpus_names()[0] == "demo"


def test_corpus_is_downloaded_where_no_folder_is_named(server, tmp_path, monkeypatch):
    monkeypatch.delenv("AIAYN_KERAS_DATA", raising=False)
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "aiayn_keras"))
    text = b"Go.\tVe.\nGo.\tVete.\n"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("spa-eng/spa.txt", text)
    url = server.serve("spa-eng.zip", archive.getvalue())
    file = RemoteFile("t/spa.txt", hashlib.sha256(text).hexdigest(), (url,), "spa-eng/spa.txt")
    monkeypatch.setattr(corpora, "TATOEBA", file)
    corpus = load_corpus("tatoeba-en-es")
    assert sum(map(len, (corpus.train, corpus.validation, corpus.test))) == 2
    assert (tmp_path / "aiayn_keras/t/spa.txt").read_bytes() == text


def test_multi30k_is_downloaded_side_by_side(server, tmp_path, monkeypatch):
    monkeypatch.delenv("AIAYN_KERAS_DATA", raising=False)
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "aiayn_keras"))
    files = {}
    for key in corpora.MULTI30K:
        if key.startswith("raw/"):
            data = f"{key} 1\n{key} 2\n".encode()
            url = server.serve(f"{key}.gz", gzip.compress(data))
            files[key] = RemoteFile(key, hashlib.sha256(data).hexdigest(), (url,))
    monkeypatch.setattr(corpora, "MULTI30K", files)
    corpus = load_corpus("multi30k-en-fr", variant="raw")
    assert corpus.test[1] == ("raw/test.en 2", "raw/test.fr 2")


PENN = "craft/structural-annotation/treebank/penn"
ARTICLES = {"train": "11532192", "dev": "17194222", "test": "11319941"}


def lay_out_trees(folder, articles=ARTICLES):
    for split, article in articles.items():
        for name, text in (
            (f"craft/articles/ids/craft-ids-{split}.txt", f"{article}\n"),
            (f"{PENN}/{article}.tree", f"( (NP-SBJ (DT the) (NN {split}) (-NONE- *)) )\n"),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def test_craft_is_split_by_article_as_its_lists_say(tmp_path, monkeypatch):
    lay_out_trees(tmp_path)
    monkeypatch.setenv("AIAYN_KERAS_DATA", str(tmp_path))
    corpus = load_corpus("craft-parsing")
    assert list(corpus.train) == [("the train", "(NP XX XX )NP")]
    assert list(corpus.validation) == [("the dev", "(NP XX XX )NP")]
    assert corpus.test.name == "craft-parsing-test"
    assert load_corpus("craft-parsing", tree_leaves="tags").test[0][1] == "(NP DT NN )NP"
    with pytest.raises(ValueError, match="`tree_leaves` must be"):
        load_corpus("craft-parsing", tree_leaves="words")


def test_an_article_that_craft_does_not_have_is_named(tmp_path):
    lay_out_trees(tmp_path)
    (tmp_path / "craft/articles/ids/craft-ids-dev.txt").write_text("17194222\n../x\n")
    with pytest.raises(CorpusError, match=r"ids-dev\.txt, line 2: CRAFT has no article '\.\./x'"):
        load_craft(tmp_path)


def test_craft_is_downloaded_where_no_folder_is_named(server, tmp_path, monkeypatch):
    monkeypatch.delenv("AIAYN_KERAS_DATA", raising=False)
    monkeypatch.setenv("AIAYN_KERAS_CACHE", str(tmp_path / "aiayn_keras"))
    lay_out_trees(tmp_path / "home")
    files = {}
    for path in (tmp_path / "home").rglob("*.t*"):
        name = path.relative_to(tmp_path / "home").as_posix()
        url = server.serve(name, path.read_bytes())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        files[name.removeprefix("craft/")] = RemoteFile(name, digest, (url,))
    monkeypatch.setattr(corpora, "CRAFT", files)
    assert [tree.words() for tree in load_craft().test] == [["the", "test"]]


def test_every_file_of_craft_has_a_home_and_a_checksum():
    assert len(CRAFT) == 3 + 97
    assert len({file.sha256 for file in CRAFT.values()}) == 100
    file = CRAFT["structural-annotation/treebank/penn/11319941.tree"]
    assert file.path == f"{PENN}/11319941.tree"
    assert file.urls == (
        "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/master/structural-annotation/"
        "treebank/penn/11319941.tree",
    )
