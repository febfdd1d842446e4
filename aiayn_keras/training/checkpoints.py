"""Checkpoints: weights and optimizer state in one file, whose name holds update and checksum.

Of a model with adapters (LoRA) they hold the adapters instead of the weights, which stay.
"""

import functools
import hashlib
import os
import re
from pathlib import Path

import h5py

from aiayn_keras.common.files import publish, writing_folder
from aiayn_keras.common.weight_files import check_room_for, check_weight_file
from aiayn_keras.training.adapters import A, B, has_adapters, read_adapters, write_adapters

_NAME = re.compile(r"update-(\d{8})\.([0-9a-f]{16})\.weights\.h5")


class DamagedCheckpointError(ValueError):
    """Raised for a checkpoint whose content or update has changed since it was written."""


def save_checkpoint(model, folder, update):
    """Writes weights and optimizer state as `folder/update-NNNNNNNN.DIGEST.weights.h5`.

    Raises:
        OSError: If it cannot be written, such as on a full disk; earlier checkpoints stay.
    """
    folder = Path(folder)
    try:
        # Before anything is written: HDF5 may crash the process on a full disk.
        check_room_for([*model.variables, *model.optimizer.variables], folder)
        with writing_folder(folder) as writing:
            temporary = writing / "new.weights.h5"
            _write(model, temporary)
            path = folder / f"update-{update:08d}.{digest_of(temporary, update)}.weights.h5"
            publish(temporary, path)
    except (OSError, RuntimeError) as error:  # h5py reports a full disk by either.
        reason = " ".join(str(error).split())[:200]
        raise OSError(
            f"The checkpoint of update {update} cannot be written to {folder}: {reason}. Earlier "
            "ones are kept: make room, and go on with the same command."
        ) from error
    return path


def digest_of(path, update):
    """The first 16 hexadecimal digits of the SHA-256 of an update's number and its file."""
    begun = functools.partial(hashlib.sha256, f"update {update}\n".encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, begun).hexdigest()[:16]


def load_checkpoint(model, path):
    """Reads what `save_checkpoint` wrote into a model of the same architecture.

    Raises:
        DamagedCheckpointError: If the file is not what was written.
        ValueError: If it is of another architecture.
    """
    check_digest(path)
    load_checked(model, path)


def load_checked(model, path):
    """Reads a checkpoint as `load_checkpoint` does, but computes no checksum."""
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    try:
        check_weight_file(path)
        _read(model, path)
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is no checkpoint of this model: {reason}") from error


def _write(model, path):
    if not has_adapters(model):
        model.save_weights(path)
        return
    others = [v.path for v in model.trainable_variables if not v.path.endswith((A, B))]
    if others:
        raise ValueError(
            f"Only adapters are kept of a model that has some, but {others[0]} is trained too: set "
            "its `trainable` to False, as `add_adapters` does."
        )
    # Keras would merge the adapters, and a training could not go on.
    with h5py.File(path, "w") as file:
        write_adapters(model, file.create_group("adapters"))
        model.optimizer.save_own_variables(file.create_group("optimizer"))


def _read(model, path):
    if not has_adapters(model):
        model.load_weights(path)
        return
    with h5py.File(path) as file:
        read_adapters(model, file["adapters"])
        model.optimizer.load_own_variables(file["optimizer"])


def check_digest(path):
    """Refuses a file that is not named as a checkpoint is, or whose checksum is another.

    Raises:
        DamagedCheckpointError: If the checksum is not that in the name, or it is no file.
        ValueError: If the name holds none.
    """
    path = Path(path)
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(
            f"{path} is not named as a checkpoint is: update-NNNNNNNN.DIGEST.weights.h5."
        )
    if os.path.lexists(path) and not path.is_file():
        raise DamagedCheckpointError(f"The checkpoint {path} is damaged: it is no regular file.")
    digest = digest_of(path, int(match[1]))
    if digest != match[2]:
        raise DamagedCheckpointError(
            f"The checkpoint {path} is damaged: its checksum is {digest}, not that in its name."
        )


def list_checkpoints(folder):
    """Lists a folder's checkpoints, oldest first, as pairs of update and path."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def prune_checkpoints(folder, keep, best=None):
    """Deletes all but the last `keep` checkpoints and that of update `best`."""
    for update, path in list_checkpoints(folder)[:-keep]:
        if update != best and not path.is_dir():
            path.unlink()
