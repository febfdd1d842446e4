"""Progress on standard error: a bar in terminals and notebooks, otherwise occasional lines.

A short file of its own, because training, preparation and translation all use it and it alone
imports tqdm.
"""

import sys

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

_LINE = "{desc}{n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
SECONDS_BETWEEN_LINES = 10
"""Minimum time between two lines."""
_CURSOR_UP = "\x1b[A"
"""Escape sequence that tqdm writes for nested bars."""


class _WholeLines:
    """A file for `tqdm` that writes each update to standard error as a separate line."""

    def write(self, text):
        line = text.replace(_CURSOR_UP, "").strip()
        if line and sys.stderr is not None:
            sys.stderr.write(f"{line}\n")

    def flush(self):
        if sys.stderr is not None:
            sys.stderr.flush()


def open_progress(first_line_after=0, **options):
    """Opens a `tqdm` bar, which writes a line every ten seconds outside terminals and notebooks.

    Args:
        first_line_after: Seconds before the first line; shorter work writes none.
        **options: Options for `tqdm`.
    """
    is_terminal = (
        sys.stderr is not None and sys.stderr.isatty()
    )  # a process may lack standard error
    is_notebook = tqdm is not tqdm_asyncio  # `tqdm.notebook` would import all widgets to say so
    if is_notebook or is_terminal:
        return tqdm(dynamic_ncols=True, **options)
    return tqdm(
        file=_WholeLines(),
        delay=first_line_after,
        mininterval=SECONDS_BETWEEN_LINES,
        miniters=1,
        bar_format=_LINE,
        **options,
    )
