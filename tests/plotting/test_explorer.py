"""The page is one safe file that holds the weights it was given."""

import base64
import html
import json
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.plotting import attention_explorer
from tests.helpers import H, S, T, assert_close

ATTACK = "</script><!--<script><img src=x onerror=alert(1)>"


def embedded(page):
    """The text that the page's script reads, as the HTML parser delimits it."""
    (text,) = re.findall(r'<script type="application/json" id="maps">(.*?)</script>', page, re.S)
    return json.loads(text)


def test_the_page_holds_words_and_weights_of_every_kind(maps):
    data = embedded(attention_explorer(maps, title="A pair").page)
    assert data["title"] == "A pair"
    assert data["words"] == {
        "source": [*maps.source_tokens],
        "target": [*maps.target_tokens],
        "written": [*maps.target_tokens[1:], "</s>"],
    }
    for kind, expected in zip(data["kinds"], (maps.encoder, maps.decoder, maps.cross), strict=True):
        whole = np.frombuffer(base64.b64decode(kind["weights"]), "<u2").reshape(kind["shape"])
        assert_close(whole / 65535, expected, rtol=0, atol=0.5 / 65535)


def test_the_pair_is_the_title_unless_there_is_one(make_maps):
    maps = make_maps(["▁a", "▁hou", "se", "</s>"], ["<s>", "▁ein", "▁Haus"])
    assert embedded(attention_explorer(maps).page)["title"] == "a house → ein Haus"
    assert embedded(attention_explorer(maps, title="Mine").page)["title"] == "Mine"


def test_nothing_is_called_darker_which_is_lighter_on_dark_paper(maps):
    assert "darker" not in attention_explorer(maps).page


def test_the_words_that_look_are_the_rows(maps):
    kinds = embedded(attention_explorer(maps).page)["kinds"]
    assert [(kind["queries"], kind["keys"]) for kind in kinds] == [
        ("source", "source"),
        ("target", "target"),
        ("written", "source"),
    ]


def test_weights_that_are_not_there_are_left_out(maps):
    maps.encoder = maps.decoder = None
    (kind,) = embedded(attention_explorer(maps).page)["kinds"]
    assert kind["name"] == "Cross-attention"
    maps.cross = None
    with pytest.raises(ValueError, match="at least one kind"):
        attention_explorer(maps)


def test_no_token_ends_the_script_or_begins_a_comment(make_maps):
    page = attention_explorer(make_maps([ATTACK], ["a"]), title=ATTACK).page
    assert page.count("</script>") == attention_explorer(make_maps(["a"], ["a"])).page.count(
        "</script>"
    )
    assert "<!--" not in page
    assert "<img" not in page
    data = embedded(page)
    assert data["title"] == ATTACK
    assert data["words"]["source"] == [ATTACK.replace(" ", "␣")]


def test_a_page_of_an_ordinary_sentence_is_small(make_maps):
    tokens = [f"▁token{i}" for i in range(30)]
    assert len(attention_explorer(make_maps(tokens, tokens)).page) < 100_000


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(maps):
    explorer = attention_explorer(maps)
    frame = explorer._repr_html_()
    (source,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(source) == explorer.page
    assert 'sandbox="allow-scripts"' in frame
    assert re.fullmatch(r"AttentionExplorer\(\d+ kB\): .*", repr(explorer))


def test_the_frame_grows_with_the_sentence_up_to_a_limit(make_maps):
    short, longer, long, longest = (
        attention_explorer(make_maps(["a"] * length, ["b"])).height for length in (2, 5, 60, 61)
    )
    assert short < longer < long == longest


def test_the_page_is_saved_whole_and_nothing_beside_it(maps, tmp_path):
    explorer = attention_explorer(maps)
    explorer.save(tmp_path / "new" / "attention.html")
    assert (tmp_path / "new" / "attention.html").read_text("utf-8") == explorer.page
    assert os.listdir(tmp_path / "new") == ["attention.html"]


def test_a_failed_save_leaves_the_old_page(maps, tmp_path, monkeypatch):
    def full_disk(source, target):
        raise OSError("No space left on device")

    path = tmp_path / "attention.html"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        attention_explorer(maps).save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["attention.html"]


def test_a_translation_alone_is_refused_with_the_way_to_its_maps():
    translation = SimpleNamespace(text="ein Haus", source_tokens=())
    with pytest.raises(
        TypeError, match=r"model\.attention_maps\(source, translation\.text\).*cross"
    ):
        attention_explorer(translation)


@pytest.mark.parametrize("shape", [(T, S), (H, T, S), (2, H, S, T), (0, H, T, S)])
def test_weights_that_do_not_fit_the_tokens_are_refused(maps, shape):
    maps.cross = np.zeros(shape)
    with pytest.raises(ValueError, match=r"`maps\.cross` must have the shape \(N, H, 7, 5\)"):
        attention_explorer(maps)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf])
def test_numbers_that_are_no_weights_are_refused(maps, value):
    maps.decoder[1, 2, 3, 1] = value
    with pytest.raises(ValueError, match=r"`maps\.decoder` must be weights between 0 and 1"):
        attention_explorer(maps)


def test_a_weight_that_half_precision_puts_above_1_counts_as_1(maps):
    maps.cross[0, 0, 0, 0] = 1.004
    data = embedded(attention_explorer(maps).page)
    whole = np.frombuffer(base64.b64decode(data["kinds"][2]["weights"]), "<u2")
    assert whole[0] == 65535
