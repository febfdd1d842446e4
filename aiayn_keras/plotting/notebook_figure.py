"""The class of all figures. It stands alone since importing it imports Matplotlib."""

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that needs no display and is displayed by notebooks, even without pyplot."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def _repr_png_(self):
        """Draws the figure for IPython, which displays plain figures only if pyplot is loaded."""
        picture = io.BytesIO()
        self.savefig(picture, format="png", bbox_inches="tight")
        return picture.getvalue()
