"""Figures show the numbers they were given, with names and units, and files are whole."""

import io
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread as read_png

import aiayn_keras
from aiayn_keras import plotting
from tests.helpers import H, S, T, assert_close

HISTORY = {
    "loss": [5.0, 3.0, 2.0],
    "val_loss": [4.5, 3.5, float("nan")],
    "val_bleu": [1.0, 20.5, 19.0],
    "learning_rate": [1e-4, 2e-4, 1e-4],
}
SOURCE = ["▁a", "▁red", "▁bi", "cycle", "</s>"]
TARGET = ["▁ein", "▁rot", "es", "▁Fahr", "rad", "▁über", "</s>"]


@pytest.fixture
def weights():
    scores = np.random.default_rng(0).random((H, T, S))
    return scores / scores.sum(axis=-1, keepdims=True)


def shown(axes):
    """The matrix behind a heat map."""
    (image,) = axes.images
    return image.get_array()


def labels(ticks):
    return [tick.get_text() for tick in ticks]


def test_learning_curves_draw_loss_bleu_and_learning_rate_with_units():
    loss, bleu, rate = plotting.plot_learning_curves(HISTORY).axes
    training, validation = loss.get_lines()
    assert_close(training.get_xydata(), [[1, 5.0], [2, 3.0], [3, 2.0]])
    assert_close(validation.get_xydata()[:2], [[1, 4.5], [2, 3.5]])
    assert labels(loss.get_legend().get_texts()) == ["training", "validation"]
    assert loss.get_ylabel() == "loss (nats per token)"
    assert (bleu.get_ylabel(), rate.get_ylabel()) == ("BLEU", "learning rate")
    assert {axes.get_xlabel() for axes in (loss, bleu, rate)} == {"epoch"}


def test_a_single_epoch_is_a_whole_number():
    for figure in (
        plotting.plot_learning_curves({"loss": [5.0]}),
        plotting.plot_trainings({"a": {"updates": [1], "loss": [5.0]}}),
    ):
        assert all(tick == int(tick) for tick in figure.axes[0].get_xticks())


def test_the_best_bleu_is_written_beside_its_point():
    _, bleu, _ = plotting.plot_learning_curves(HISTORY).axes
    (best,) = bleu.texts
    assert (best.get_text(), best.xy) == ("20.5", (2, 20.5))


def test_updates_take_the_place_of_epochs():
    (loss,) = plotting.plot_learning_curves({"loss": [5.0, 3.0], "updates": [200, 400]}).axes
    assert loss.get_xlabel() == "updates"
    assert_close(loss.get_lines()[0].get_xydata(), [[200, 5.0], [400, 3.0]])


def test_what_was_not_measured_is_skipped():
    history = {"bleu": [1.0, float("nan"), 3.0], "updates": [2, 4, 6]}
    (bleu,) = plotting.plot_learning_curves(history).axes
    assert_close(bleu.get_lines()[0].get_xydata(), [[2, 1.0], [6, 3.0]])


def test_a_history_that_never_measured_bleu_has_no_best():
    (bleu,) = plotting.plot_learning_curves({"bleu": [float("nan")] * 2}).axes
    assert not bleu.texts


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ({"accuracy": [1.0]}, r"`history` needs at least one of .*\['accuracy'\]"),
        ({"loss": [1.0, 2.0], "val_loss": [1.0]}, "'loss': 2, 'val_loss': 1"),
        ({"loss": [1.0, 2.0], "updates": [1]}, "1 for `updates`"),
    ],
)
def test_a_history_that_cannot_be_drawn_is_refused(history, message):
    with pytest.raises(ValueError, match=message):
        plotting.plot_learning_curves(history)


def test_attention_of_one_head_shows_its_weights_and_tokens(weights):
    figure = plotting.plot_attention(weights[0], SOURCE, TARGET, title="layer 1")
    heat_map, scale = figure.axes
    assert_close(shown(heat_map), weights[0])
    assert labels(heat_map.get_xticklabels()) == ["·a", "·red", "·bi", "cycle", "</s>"]
    assert labels(heat_map.get_yticklabels())[5] == "·über"
    assert scale.get_ylabel() == "attention weight"
    assert figure.get_suptitle() == "layer 1"


def test_attention_names_its_axes(weights):
    first, *_ = plotting.plot_attention(weights, SOURCE, TARGET).axes
    assert [first.get_xlabel(), first.get_ylabel()] == ["keys", "queries"]
    first, second, *_ = plotting.plot_attention(
        weights, SOURCE, TARGET, x_label="source", y_label="written"
    ).axes
    assert [first.get_xlabel(), first.get_ylabel()] == ["source", "written"]
    assert [second.get_xlabel(), second.get_ylabel()] == ["source", ""]


def test_attention_of_all_heads_shares_one_scale(weights):
    *heads, _ = plotting.plot_attention(weights, SOURCE, TARGET).axes
    assert [axes.get_title() for axes in heads] == ["head 1", "head 2", "head 3"]
    for axes, head in zip(heads, weights, strict=True):
        assert_close(shown(axes), head)
        assert_close(axes.images[0].get_clim(), (0.0, weights.max()))


def test_many_heat_maps_fold_into_rows_that_fit_a_notebook_and_do_not_overlap():
    tokens = [f"▁token{i}" for i in range(12)]
    figure = plotting.plot_attention(np.full((8, 12, 12), 1 / 12), tokens, tokens, title="mean")
    assert figure.get_figwidth() < 11
    figure.draw_without_rendering()
    *heads, _ = [axes.get_tightbbox() for axes in figure.axes]
    assert len(heads) == 8
    assert not [(a, b) for a, b in itertools.combinations(heads, 2) if overlap(a, b)]


def overlap(a, b):
    """Returns whether two boxes share more than the pixel that rounding adds."""
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("Donaudampfschifffahrt", "Donaudampfschif…"),
        ("▁$5", r"·\$5"),
        ("two words", "two␣words"),
        ("", "⟨empty⟩"),
        (17, "17"),
    ],
)
def test_every_token_can_be_shown(token, label):
    figure = plotting.plot_attention([[1.0]], [token], ["x"])
    assert labels(figure.axes[0].get_xticklabels()) == [label]


@pytest.mark.parametrize("shape", [(S, T), (T,), (H, T, S + 1), (0, T, S), (1, H, T, S)])
def test_weights_that_do_not_fit_the_tokens_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(T, S\) or \(H, T, S\).*T=7, S=5"):
        plotting.plot_attention(np.zeros(shape), SOURCE, TARGET)


def test_masks_show_true_as_filled():
    causal = np.tril(np.ones((T, T), dtype=bool))
    figure = plotting.plot_masks({"causal": causal, "everything": np.ones_like(causal)})
    first, second = figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["causal", "everything"]
    assert_close(shown(first), causal)
    red, green, blue, _ = first.images[0].cmap(1.0)
    assert red + green + blue < 1.0, "what may be looked at is dark"


def test_names_of_maps_are_whole(tmp_path):
    masks = {name: np.tri(7) for name in ("causal", "a name that is wider than its own map", "c")}
    figure = plotting.plot_masks(masks, path=tmp_path / "masks.png")
    renderer = figure.canvas.get_renderer()
    left, middle, right = (axes.title.get_window_extent(renderer) for axes in figure.axes)
    assert left.x1 < middle.x0
    assert middle.x1 < right.x0
    picture = read_png(tmp_path / "masks.png")
    assert (picture[[0, -1]] == 1).all(), "names begin inside of the picture"


@pytest.mark.parametrize("masks", [{}, {"a": [True]}, {"a": [[True]], "b": [[True, True]]}])
def test_masks_of_different_shapes_are_refused(masks):
    with pytest.raises(ValueError, match=r"with the same shape\. Received"):
        plotting.plot_masks(masks)


def test_schedule_draws_update_n_at_the_rate_of_step_n_minus_1():
    (axes,) = plotting.plot_schedule(lambda step: step / 10, steps=3).axes
    assert_close(axes.get_lines()[0].get_xydata(), [[1, 0.0], [2, 0.1], [3, 0.2]])


def test_schedules_are_compared_by_name():
    (axes,) = plotting.plot_schedule({"a": lambda step: 1, "b": lambda step: 2}, steps=9).axes
    assert labels(axes.get_legend().get_texts()) == ["a", "b"]


def test_lines_that_lie_on_each_other_are_told_apart_without_colour():
    rates = dict.fromkeys("abcdef", lambda step: 1)
    (axes,) = plotting.plot_schedule(rates, steps=9).axes
    # `_dash_pattern` since `get_linestyle` calls every pattern of numbers "--".
    assert len({str(line._dash_pattern) for line in axes.get_lines()}) == len(rates)


def test_a_schedule_of_one_step_is_refused():
    with pytest.raises(ValueError, match="`steps` must be at least 2"):
        plotting.plot_schedule(lambda step: 1.0, steps=1)


def test_a_png_is_written_and_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "masks.png"
    plotting.plot_masks({"all": [[True]]}, path=path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert os.listdir(path.parent) == ["masks.png"]


def test_a_notebook_shows_the_figure_on_white():
    picture = plotting.plot_masks({"all": [[True]]})._repr_png_()
    red, green, blue, opacity = read_png(io.BytesIO(picture))[0, 0]
    assert (red, green, blue, opacity) == (1, 1, 1, 1)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "masks.png"
    path.write_bytes(b"old")

    def full_disk(source, target):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        plotting.plot_masks({"all": [[True]]}, path=path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["masks.png"]


def test_no_state_and_no_matplotlib_before_the_first_plot():
    program = (
        "import sys, types\n"
        "package = types.ModuleType('aiayn_keras')  # without its imports of Keras\n"
        f"package.__path__ = {aiayn_keras.__path__!r}\n"
        "sys.modules['aiayn_keras'] = package\n"
        "from aiayn_keras import plotting\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plotting.plot_masks({'all': [[True]]})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_characters_that_the_font_lacks_are_one_line(tmp_path, caplog, recwarn):
    weights = np.full((1, 2, 2), 0.5)
    plotting.plot_attention(weights, ["हिन्दी", "ไทย"], ["a", "b"], path=tmp_path / "a.png")
    (record,) = caplog.records
    assert "a.png has boxes instead of" in record.getMessage()
    assert not [each for each in recwarn if "Glyph" in str(each.message)]
