"""Work of which the engines' tests can say when it fails, and how often it was done."""

import os
import signal
import sys
from pathlib import Path


class CountingWorkDouble:
    """Writes a file for each call of a part, and kills its process at the first call of some.

    Its module needs no Keras; `keras` is a file if it was loaded nevertheless.

    Args:
        folder: Path of a folder for the files.
        killed: Numbers of the parts at which it kills its process, once each.
        refused: Number of a part at which it raises an error.
    """

    def __init__(self, folder, killed=(), refused=None):
        self._folder, self._killed, self._refused = Path(folder), killed, refused
        _new_file(self._folder, "started")
        if "keras" in sys.modules:
            (self._folder / "keras").touch()

    def __call__(self, part):
        """The part, times ten."""
        calls = _new_file(self._folder, f"call-{part}")
        if part in self._killed and calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if part == self._refused:
            raise ValueError(f"part {part} is damaged")
        return part * 10


def _new_file(folder, stem):
    """Makes the next file of a stem; how many there are."""
    number = 1
    while True:
        try:
            (folder / f"{stem}.{number}").touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return number
