"""Weights and optimizer state at an update, as one file."""

import re
from pathlib import Path

import keras
import numpy as np

from aiayn_keras.training.files import atomic_path

_NAME = re.compile(r"update-(\d{8})\.weights\.h5")


def save_checkpoint(model, folder, update):
    """Writes `folder/update-NNNNNNNN.weights.h5`: weights and optimizer state."""
    path = Path(folder) / f"update-{update:08d}.weights.h5"
    with atomic_path(path) as temporary:
        model.save_weights(temporary)
    return path


def load_checkpoint(model, path):
    """Reads what `save_checkpoint` wrote into a model of the same architecture.

    Raises:
        ValueError: If the file is damaged or of another architecture.
    """
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    try:
        model.load_weights(path)
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} is no checkpoint of this model, or is damaged: {reason}"
        ) from error


def skip_random_state(model, updates):
    """Puts dropout where it is after some updates, so that a resumed training draws the same.

    Keras saves no random state, but counts it: each update moves every dropout layer's
    `(seed, count)` on by one count. On PyTorch, Keras draws dropout from torch's own generator
    instead: there a resumed training is another one from its checkpoint on.
    """
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, updates]))


def list_checkpoints(folder):
    """Checkpoints of a folder, oldest first, as pairs of update and path."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def prune_checkpoints(folder, keep):
    """Deletes all but the last `keep` checkpoints."""
    for _, path in list_checkpoints(folder)[:-keep]:
        path.unlink()
