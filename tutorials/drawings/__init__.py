"""Drawings of the architecture for the lessons, as SVG.

Every `draw_...` function returns an `SvgDrawing`, which notebooks display.
"""

from drawings.architecture import draw_architecture
from drawings.mask import draw_mask_choice
from drawings.shape import draw_shapes
from drawings.svg import SvgDrawing

__all__ = ["SvgDrawing", "draw_architecture", "draw_mask_choice", "draw_shapes"]
