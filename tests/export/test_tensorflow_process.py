"""What is said of a TensorFlow process that fails or is killed."""

import os
import signal
import sys

import pytest

from aiayn_keras.export.saved_model import read_arguments, run_in_tensorflow


class ModelDouble:
    """Has nothing to save: these processes load no model."""

    def save_to_preset(self, preset):
        """Leaves the folder empty."""


def main():
    """Ends the process as its arguments say."""
    arguments = read_arguments()
    if signal_number := arguments.get("signal"):
        os.kill(os.getpid(), signal_number)
    if text := arguments.get("long_text"):
        sys.exit(f"read {len(text):,}")
    sys.exit(arguments["words"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signal": signal.SIGKILL}, "was killed by signal 9, perhaps for want of memory"),
        pytest.param(
            *({"words": "first\nlast"}, "could not export the model: last$"), marks=pytest.mark.slow
        ),
        pytest.param(
            *({"long_text": "a" * 1_000_000}, "could not export the model: read 1,000,000$"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_it_is_told_how_the_process_ended(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        run_in_tensorflow(__name__, ModelDouble(), **arguments)
