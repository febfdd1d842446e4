"""Trainings of six updates that are stopped, killed and changed on their way."""

import contextlib
import os
import signal

import pytest

from aiayn_keras.training import train
from aiayn_keras.training.fitting import Position
from tests.runs import small_recipe

SETTINGS = (
    *("training.updates=6", "training.checkpoint_every=2", "training.bleu_every=2"),
    *("evaluation.max_length=8", "corpus.validation_size=20", "corpus.test_size=20"),
)


class KilledError(Exception):
    """Test double of a process that is killed."""


def short_recipe(*settings):
    return small_recipe(*SETTINGS, *settings)


def train_until(recipe, folder, updates, is_killed=False):
    """Trains until an update, then presses Ctrl-C, or is killed."""
    count = Position.on_train_batch_end

    def end(position, batch, logs=None):
        count(position, batch, logs)
        if position.is_between_updates and position.updates == updates:
            if is_killed:
                raise KilledError
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Position, "on_train_batch_end", end)
        with contextlib.suppress(KeyboardInterrupt, KilledError):
            train(recipe, folder)
            pytest.fail("The training was not stopped.")
