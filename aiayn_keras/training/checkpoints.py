"""Weights and optimizer state at an update, as one file whose name says its checksum."""

import errno
import logging
import math
import re
import shutil
from pathlib import Path

import keras
import numpy as np

from aiayn_keras.files import digest_of, publish, writing_folder

logger = logging.getLogger(__name__)

BYTES_PER_NUMBER = 4
BYTES_PER_VARIABLE = 4096  # HDF5's own, at most
_NAME = re.compile(r"update-(\d{8})\.([0-9a-f]{16})\.weights\.h5")


class DamagedCheckpointError(ValueError):
    """A checkpoint that is not what was written."""


def save_checkpoint(model, folder, update):
    """Writes weights and optimizer state as `folder/update-NNNNNNNN.DIGEST.weights.h5`.

    Raises:
        OSError: If it cannot be written, such as on a full disk; what was there stays.
    """
    folder = Path(folder)
    try:
        _check_room(model, folder)
        with writing_folder(folder) as writing:
            temporary = writing / "new.weights.h5"
            model.save_weights(temporary)
            path = folder / f"update-{update:08d}.{digest_of(temporary)}.weights.h5"
            publish(temporary, path)
    except (OSError, RuntimeError) as error:  # h5py reports a full disk by either.
        reason = " ".join(str(error).split())[:200]
        raise OSError(
            f"The checkpoint of update {update} cannot be written to {folder}: {reason}. Those "
            "before are kept: make room, and go on with the same command."
        ) from error
    return path


def _check_room(model, folder):
    """Refuses a disk that is too full before HDF5 does, which then may end the process."""
    variables = [*model.variables, *model.optimizer.variables]
    wanted = sum(BYTES_PER_NUMBER * math.prod(v.shape) + BYTES_PER_VARIABLE for v in variables)
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise OSError(
            errno.ENOSPC,
            f"No space left on device: {wanted / 1e6:.1f} MB are needed, {free / 1e6:.1f} MB free",
        )


def load_checkpoint(model, path):
    """Reads what `save_checkpoint` wrote into a model of the same architecture.

    Raises:
        DamagedCheckpointError: If the file is not what was written.
        ValueError: If it is of another architecture.
    """
    path = Path(path)
    if _NAME.fullmatch(path.name) is None:
        raise ValueError(
            f"{path} is not named as a checkpoint is: update-NNNNNNNN.DIGEST.weights.h5."
        )
    _check_digest(path)
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    try:
        model.load_weights(path)
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is no checkpoint of this model: {reason}") from error


def _check_digest(path):
    digest = digest_of(path)
    if digest != _NAME.fullmatch(path.name)[2]:
        raise DamagedCheckpointError(
            f"The checkpoint {path} is damaged: its checksum is {digest}, not that in its name."
        )


def load_last_checkpoint(model, folder):
    """Loads the newest checkpoint that is whole.

    Damaged ones are reported and renamed, so that they are not met again.

    Args:
        model: The model that the checkpoints are of.
        folder: Folder with the checkpoints.

    Returns:
        The checkpoint's update; 0 if there is none, and then the model is as it was.
    """
    for update, path in reversed(list_checkpoints(folder)):
        try:
            load_checkpoint(model, path)
        except DamagedCheckpointError as error:
            _set_aside(path, error)
        else:
            return update
    return 0


def set_aside_damaged_checkpoints(folder):
    """Renames the newest checkpoints until one is whole, as `load_last_checkpoint` does.

    Of several processes that are to load, one does this first.
    """
    for _, path in reversed(list_checkpoints(folder)):
        try:
            _check_digest(path)
        except DamagedCheckpointError as error:
            _set_aside(path, error)
        else:
            return


def _set_aside(path, error):
    aside = path.with_name(f"damaged-{path.name}")
    path.rename(aside)
    logger.warning("%s It is %s now; the one before is used.", error, aside.name)


def skip_random_state(model, batches):
    """Puts dropout where it is after some batches, so that a resumed training draws the same.

    Keras saves no random state, but counts it: each batch moves every dropout layer's
    `(seed, count)` on by one count. PyTorch's dropout is the task of `SeedDropout`.
    """
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, batches]))


def list_checkpoints(folder):
    """Checkpoints of a folder, oldest first, as pairs of update and path."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def prune_checkpoints(folder, keep, best=None):
    """Deletes all but the last `keep` checkpoints and that of update `best`."""
    for update, path in list_checkpoints(folder)[:-keep]:
        if update != best:
            path.unlink()
