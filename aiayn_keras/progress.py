"""Progress on standard error: a bar in terminals and notebooks, elsewhere a line now and then."""

import sys

from tqdm.auto import tqdm
from tqdm.notebook import tqdm_notebook

LINE = "{desc}{n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
SECONDS_BETWEEN_LINES = 10
CURSOR_UP = "\x1b[A"
"""Written by a bar inside another one."""


class WholeLines:
    """Standard error as a file in which every text becomes a line, for a `tqdm`."""

    def write(self, text):
        line = text.replace(CURSOR_UP, "").strip()
        if line and sys.stderr is not None:
            sys.stderr.write(f"{line}\n")

    def flush(self):
        if sys.stderr is not None:
            sys.stderr.flush()


def open_progress(first_line_after=0, **options):
    """Opens a `tqdm` bar; without terminal or notebook it writes a line every ten seconds.

    Args:
        first_line_after: Seconds that pass before the first line; work that takes less shows none.
        **options: Of `tqdm`.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()  # a process may have none
    if issubclass(tqdm, tqdm_notebook) or is_terminal:
        return tqdm(dynamic_ncols=True, **options)
    return tqdm(
        file=WholeLines(),
        delay=first_line_after,
        mininterval=SECONDS_BETWEEN_LINES,
        miniters=1,
        bar_format=LINE,
        **options,
    )
