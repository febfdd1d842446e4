"""A Matplotlib figure that a notebook shows, whether or not pyplot is loaded."""

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that needs no display; as the last line of a cell it shows itself."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def _repr_png_(self):
        """The picture for IPython, which draws plain figures only after pyplot is loaded."""
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
