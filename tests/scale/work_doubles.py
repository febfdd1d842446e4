"""Work of which the engines' tests can say when it fails, and how often it was done."""

import os
import signal
import sys
import time
from pathlib import Path


class OddError(Exception):
    """Is made of more than its message."""

    def __init__(self, part, problem):
        super().__init__(f"part {part} is {problem}")


class CountingWorkDouble:
    """Writes a file for each call of a part, and kills its process at the first call of some.

    Its module needs neither Keras nor Grain, which brings JAX; `keras` and `grain` are files if
    they were loaded nevertheless.

    Args:
        folder: Path of a folder for the files.
        killed: Numbers of the parts at which it kills its process, once each; of a negative one,
            each time; -1 for when it is made.
        refused: Number of a part at which it raises an error; -1 for when it is made.
        odd: Whether that error is one that pickle cannot make anew.
    """

    def __init__(self, folder, killed=(), refused=None, odd=False):
        if -1 in killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if refused == -1:
            raise ValueError("the model is damaged")
        self._folder, self._killed, self._refused = Path(folder), killed, refused
        self._odd = odd
        _new_file(self._folder, "started")
        for name in {"keras", "grain"} & sys.modules.keys():
            (self._folder / name).touch()

    def __call__(self, part):
        """The part, times ten."""
        calls = _new_file(self._folder, f"call-{part}")
        if part in self._killed and (calls == 1 or part < 0):
            os.kill(os.getpid(), signal.SIGKILL)
        if part == self._refused:
            raise OddError(part, "damaged") if self._odd else ValueError(f"part {part} is damaged")
        return part * 10


class EndlessWorkDouble:
    """Writes the number of its process into a file for each call, and does not come back.

    Args:
        folder: Path of a folder for the files.
    """

    def __init__(self, folder):
        self._folder = Path(folder)

    def __call__(self, part):
        """Sleeps for longer than any test."""
        with (self._folder / "processes").open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(600)


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
