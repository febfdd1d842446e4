import pytest
from matplotlib.image import imread as read_png

from aiayn_keras import plotting
from tests.helpers import assert_close

NAN = float("nan")
HISTORIES = {
    "a": {
        "updates": [10, 20, 30],
        "loss": [5.0, 4.0, 3.0],
        "val_loss": [4.5, 3.5, 2.5],
        "val_bleu": [NAN, 7.0, NAN],
        "learning_rate": [1e-4, 2e-4, 1e-4],
        "gradient_norm": [0.5, float("inf"), 0.7],
    },
    "$b$": {"updates": [15, 45], "val_loss": [6.0, 5.0], "tokens_per_second": [900.0, 1100.0]},
}


def test_panels_show_what_was_measured_over_updates(tmp_path):
    figure = plotting.plot_trainings(HISTORIES, tmp_path / "f.png")
    loss, bleu, rate, gradient, speed = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "loss (nats per token)",
        "BLEU",
        "learning rate",
        "gradient norm",
        "target tokens per second",
    ]
    validation, training, other = loss.get_lines()
    assert_close(validation.get_xydata(), [[10, 4.5], [20, 3.5], [30, 2.5]])
    assert_close(training.get_xydata(), [[10, 5.0], [20, 4.0], [30, 3.0]])
    assert_close(other.get_xydata(), [[15, 6.0], [45, 5.0]])
    assert validation.get_color() == training.get_color() != other.get_color()
    assert validation.get_linewidth() > training.get_linewidth()
    assert_close(bleu.get_lines()[0].get_xydata(), [[20, 7.0]])
    (line,) = speed.get_lines()
    assert_close(line.get_xydata(), [[15, 900.0], [45, 1100.0]])
    assert line.get_color() == other.get_color()
    assert len(rate.get_lines()) == 1
    assert_close(gradient.get_lines()[0].get_xydata(), [[10, 0.5], [30, 0.7]])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", r"\$b\$"]
    assert read_png(tmp_path / "f.png").std() > 0.01


def test_36_trainings_have_different_lines():
    figure = plotting.plot_trainings(
        {str(n): {"updates": [1], "val_loss": [float(n)]} for n in range(36)}
    )
    lines = {
        (line.get_color(), str(line._unscaled_dash_pattern)) for line in figure.axes[0].get_lines()
    }
    assert len(lines) == 36


@pytest.mark.parametrize(
    ("histories", "message"),
    [
        ({}, "Received: no histories"),
        ({"a": {"updates": [1], "val_loss": [NAN]}}, "at least one of val_loss"),
        ({"a": {"val_loss": [1.0]}}, r"history of a needs `updates`.*\['val_loss'\]"),
        ({"a": {"updates": [1, 2], "loss": [1.0]}}, r"same length.*'updates': 2, 'loss': 1"),
    ],
)
def test_histories_without_figures_are_refused(histories, message):
    with pytest.raises(ValueError, match=message):
        plotting.plot_trainings(histories)
