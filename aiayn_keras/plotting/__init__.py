"""Figures of learning curves, schedules, attention and masks, and two interactive pages.

Every `plot_...` function returns a `matplotlib.figure.Figure` and, if `path` is given, also writes
it as a PNG. Figures do not use pyplot, so they need no display and never stay open unnoticed.
A notebook displays the returned figure. `attention_explorer` and `decoding_steps` return
interactive pages, which work without a network.
"""

from aiayn_keras.plotting.comparison import plot_trainings
from aiayn_keras.plotting.figures import COLORS, plot_learning_curves, plot_schedule
from aiayn_keras.plotting.heat_maps import plot_attention, plot_masks
from aiayn_keras.plotting.interactive_page import (
    AttentionExplorer,
    DecodingSteps,
    attention_explorer,
    decoding_steps,
)

__all__ = [
    "COLORS",
    "AttentionExplorer",
    "DecodingSteps",
    "attention_explorer",
    "decoding_steps",
    "plot_attention",
    "plot_learning_curves",
    "plot_masks",
    "plot_schedule",
    "plot_trainings",
]
