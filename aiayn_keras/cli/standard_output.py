"""Standard output, where a command's results go."""

import sys


def check_standard_output():
    """Refuses to work for nobody.

    Raises:
        OSError: If the process was started without standard output.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed, so the results would be lost.")
