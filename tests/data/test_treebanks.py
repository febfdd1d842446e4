import hashlib

import pytest

from aiayn_keras.data import CorpusError, corpora, load_corpus, load_craft
from aiayn_keras.data.corpora import CRAFT
from aiayn_keras.data.corpus_files import RemoteFile

PENN = "craft/structural-annotation/treebank/penn"
ARTICLES = {"train": "11532192", "dev": "17194222", "test": "11319941"}


def lay_out(folder, articles=ARTICLES):
    for split, article in articles.items():
        for name, text in (
            (f"craft/articles/ids/craft-ids-{split}.txt", f"{article}\n"),
            (f"{PENN}/{article}.tree", f"( (NP-SBJ (DT the) (NN {split}) (-NONE- *)) )\n"),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def test_craft_is_split_by_article_as_its_lists_say(tmp_path, monkeypatch):
    lay_out(tmp_path)
    monkeypatch.setenv("AIAYN_KERAS_DATA", str(tmp_path))
    corpus = load_corpus("craft-parsing")
    assert list(corpus.train) == [("the train", "(NP XX XX )NP")]
    assert list(corpus.validation) == [("the dev", "(NP XX XX )NP")]
    assert corpus.test.name == "craft-parsing-test"
    assert load_corpus("craft-parsing", tree_leaves="tags").test[0][1] == "(NP DT NN )NP"
    with pytest.raises(ValueError, match="`tree_leaves` must be"):
        load_corpus("craft-parsing", tree_leaves="words")


def test_an_article_that_craft_does_not_have_is_named(tmp_path):
    lay_out(tmp_path)
    (tmp_path / "craft/articles/ids/craft-ids-dev.txt").write_text("17194222\n../x\n")
    with pytest.raises(CorpusError, match=r"ids-dev\.txt, line 2: CRAFT has no article '\.\./x'"):
        load_craft(tmp_path)


def test_craft_is_downloaded_where_no_folder_is_named(server, tmp_path, monkeypatch):
    monkeypatch.delenv("AIAYN_KERAS_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / name)
    lay_out(tmp_path / "home")
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
