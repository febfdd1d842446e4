"""Figures: learning curves, attention, the schedule, masks and trees; and two pages to explore.

Every function `plot_...` returns a `matplotlib.figure.Figure` and, given a `path`, also writes it
there as a PNG. Nothing touches pyplot: no display is needed and no figure stays open behind the
caller's back. In a notebook the returned figure shows itself. Matplotlib is imported on the first
plot. `attention_explorer` and `decoding_steps` return interactive pages, which need no network.
Every function `draw_...` returns an `SvgDrawing`, a picture of the architecture and not of data.
"""

from aiayn_keras.plotting.architecture_drawing import draw_architecture
from aiayn_keras.plotting.curves import plot_learning_curves, plot_schedule
from aiayn_keras.plotting.decoding_steps import DecodingSteps, decoding_steps
from aiayn_keras.plotting.explorer import AttentionExplorer, attention_explorer
from aiayn_keras.plotting.figures import COLORS
from aiayn_keras.plotting.heat_maps import plot_attention, plot_masks
from aiayn_keras.plotting.mask_drawing import draw_mask_choice
from aiayn_keras.plotting.shape_drawing import draw_shapes
from aiayn_keras.plotting.svg import SvgDrawing
from aiayn_keras.plotting.tree_drawings import plot_tree_pair

__all__ = [
    "COLORS",
    "AttentionExplorer",
    "DecodingSteps",
    "SvgDrawing",
    "attention_explorer",
    "decoding_steps",
    "draw_architecture",
    "draw_mask_choice",
    "draw_shapes",
    "plot_attention",
    "plot_learning_curves",
    "plot_masks",
    "plot_schedule",
    "plot_tree_pair",
]
