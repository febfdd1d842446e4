"""Figures: learning curves, attention, the schedule and masks; and two pages to explore.

Every function `plot_...` returns a `matplotlib.figure.Figure` and, given a `path`, also writes it
there as a PNG. Nothing touches pyplot: no display is needed and no figure stays open behind the
caller's back. In a notebook the returned figure shows itself. Matplotlib is imported on the first
plot. `attention_explorer` and `decoding_steps` return interactive pages, which need no network.
"""

from aiayn_keras.plotting.curves import plot_learning_curves, plot_schedule
from aiayn_keras.plotting.decoding_steps import DecodingSteps, decoding_steps
from aiayn_keras.plotting.explorer import AttentionExplorer, attention_explorer
from aiayn_keras.plotting.figures import COLORS
from aiayn_keras.plotting.heat_maps import plot_attention, plot_masks

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
]
