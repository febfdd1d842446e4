"""Drawn trees show which constituents they share."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.image import imread as read_png

from aiayn_keras.parsing import Tree, parse_linearized
from aiayn_keras.parsing.drawing import OWN, SHARED, plot_tree_pair

WORDS = ["we", "pay", "$5$", "today"]
REFERENCE = parse_linearized("(S (NP XX )NP (VP XX (NP XX )NP (NP XX )NP )VP )S", WORDS)
OTHER = parse_linearized("(S (NP XX )NP (VP XX (NP (NP XX XX )NP )NP )VP )S", WORDS)


def drawn(figure):
    """Tuples of text, side and colour of the labels, by their places."""
    texts = figure.axes[0].texts
    labels = [text for text in texts if text.get_text() in ("S", "NP", "VP")]
    return [
        (text.get_text(), "above" if text.get_position()[1] > 0 else "below",
         to_hex(text.get_color()).upper())
        for text in labels
    ]  # fmt: skip


def test_constituents_of_both_trees_and_of_one_alone_have_their_colours(tmp_path):
    path = tmp_path / "new" / "trees.png"
    figure = plot_tree_pair(REFERENCE, OTHER, path=path, title="a title", names=("gold", "ours"))
    labels = drawn(figure)
    assert sorted(labels) == sorted(
        [
            *((label, side, SHARED) for label in ("S", "NP", "VP") for side in ("above", "below")),
            *[("NP", side, OWN) for side in ("above", "below") for _ in range(2)],
        ]
    )
    assert read_png(path).shape[2] == 4
    assert {"gold", "ours"} <= {text.get_text() for text in figure.axes[0].texts}


def test_a_constituent_that_one_tree_has_twice_is_shared_once():
    once = parse_linearized("(NP XX XX )NP", WORDS[:2])
    twice = Tree("NP", (once,))
    assert sorted(drawn(plot_tree_pair(once, twice))) == sorted(
        [("NP", "above", SHARED), ("NP", "below", SHARED), ("NP", "below", OWN)]
    )


def test_parents_stand_above_their_children_and_words_in_their_order():
    texts = plot_tree_pair(REFERENCE, OTHER).axes[0].texts
    words = [text.get_position()[0] for text in texts[:4]]
    assert words == sorted(words)
    assert texts[2].get_text() == r"\$5\$"
    places = {
        text.get_text(): text.get_position()[1] for text in texts if text.get_color() == SHARED
    }
    assert places["S"] < places["VP"] < places["NP"] < 0  # the last, of the lower tree


def test_no_tree_is_refused_by_name():
    with pytest.raises(TypeError, match=r"`tree` must be a tree.*Received: None"):
        plot_tree_pair(REFERENCE, None)
    with pytest.raises(TypeError, match="`reference` must be a tree"):
        plot_tree_pair("(S XX )S", REFERENCE)


def test_trees_of_other_words_are_refused():
    other = parse_linearized("(S XX )S", ["you"])
    with pytest.raises(ValueError, match=r"`tree` must have the same words as `reference`.*'you'"):
        plot_tree_pair(REFERENCE, other)
