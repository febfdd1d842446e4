"""Checkpoints: a model's weights and its optimizer's state in one file.

The file's name holds the number of the update and a checksum. For a model with adapters (LoRA), the
file holds the adapters instead of the weights, which do not change.
"""

import functools
import hashlib
import logging
import os
import re
import tempfile
import warnings
from pathlib import Path

import h5py
import keras

from aiayn_keras.common.weight_files import (
    bytes_of_file,
    check_room_for,
    check_weight_file,
    new_weight_file,
)
from aiayn_keras.training.adapters import A, B, has_adapters, read_adapters, write_adapters
from aiayn_keras_light.files import publish, writing_folder

logger = logging.getLogger(__name__)

_NAME = re.compile(r"update-(\d{8})\.([0-9a-f]{16})\.weights\.h5")


class DamagedCheckpointError(ValueError):
    """Raised for a checkpoint that is not what was written under its name."""


def save_checkpoint(model, folder, update):
    """Writes a checkpoint as `folder/update-NNNNNNNN.DIGEST.weights.h5`.

    Args:
        model: A compiled `keras.Model` whose optimizer is built.
        folder: The folder to write to.
        update: Number of updates done.

    Returns:
        The checkpoint's path.

    Raises:
        OSError: If it cannot be written, for instance to a full disk; earlier checkpoints stay.
    """
    folder = Path(folder)
    try:
        # Before anything is written: HDF5 may crash the process on a full disk.
        check_room_for([*model.variables, *model.optimizer.variables], folder)
        with writing_folder(folder) as writing:
            temporary = writing / "new.weights.h5"
            _write(model, temporary)
            path = folder / f"update-{update:08d}.{_digest_of(temporary, update)}.weights.h5"
            publish(temporary, path)
    except (OSError, RuntimeError) as error:  # h5py raises either on a full disk.
        reason = " ".join(str(error).split())[:200]
        raise OSError(
            f"The checkpoint of update {update} cannot be written to {folder}: {reason}. Earlier "
            "ones are kept: make room, then run the same command again to go on."
        ) from error
    return path


def take_part_in_saving(model, update):
    """Does what the first process needs from the others while it saves; no file is kept.

    Keras computes the learning rate when it saves, and needs all processes for that.

    Args:
        model: As in `save_checkpoint`.
        update: Number of updates done.
    """
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(model, folder, update)


def load_checkpoint(model, path):
    """Reads what `save_checkpoint` wrote into a model of the same architecture.

    Args:
        model: A compiled `keras.Model`.
        path: The checkpoint's path.

    Raises:
        DamagedCheckpointError: If the file is not what was written.
        ValueError: If the model has a different architecture.
    """
    _check_digest(path)
    _load_checked(model, path)


def list_checkpoints(folder):
    """Lists the checkpoints in a folder as pairs `(update, path)`, oldest first."""
    folder = Path(folder)
    if not folder.is_dir():
        return []
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in matches if match)


def newest_update(folder):
    """The update of the newest checkpoint in a folder; 0 if there is none."""
    return max((update for update, _ in list_checkpoints(folder)), default=0)


def prune_checkpoints(folder, keep, best=()):
    """Deletes all checkpoints but the last `keep` ones and those of the updates `best`."""
    for update, path in list_checkpoints(folder)[:-keep]:
        if update not in best and not path.is_dir():
            path.unlink()


def set_aside_damaged_checkpoints(folder):
    """Renames damaged checkpoints, newest first, with a warning, until one is undamaged."""
    for _, path in reversed(list_checkpoints(folder)):
        try:
            _check_digest(path)
            return
        except DamagedCheckpointError as error:
            aside = path.with_name(f"damaged-{path.name}")
            path.rename(aside)
            logger.warning(
                "%s It is renamed to %s, and the one before it is used.", error, aside.name
            )


def load_last_checkpoint(model, folder):
    """Loads the newest undamaged checkpoint; newer ones are renamed, with a warning.

    Args:
        model: The model that was saved.
        folder: Folder with the checkpoints.

    Returns:
        The checkpoint's update; 0 if there is none, which leaves the model unchanged.
    """
    set_aside_damaged_checkpoints(folder)
    return load_newest_checkpoint(model, folder)


def load_newest_checkpoint(model, folder):
    """Does what `load_last_checkpoint` does once the damaged ones have been set aside."""
    checkpoints = list_checkpoints(folder)
    if not checkpoints:
        return 0
    update, path = checkpoints[-1]
    _load_checked(model, path)
    return update


def _load_checked(model, path):
    """Reads a checkpoint whose checksum has been compared."""
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    try:
        check_weight_file(path)
        _read(model, path)
    except (OSError, KeyError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is not a checkpoint of this model: {reason}") from error


def _check_digest(path):
    """Refuses a file that is not named like a checkpoint, or whose checksum differs.

    Raises:
        DamagedCheckpointError: If the checksum is not the one in the name, or it is not a file.
        ValueError: If the name holds no checksum.
    """
    path = Path(path)
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(
            f"{path} is not named like a checkpoint: update-NNNNNNNN.DIGEST.weights.h5."
        )
    if os.path.lexists(path) and not path.is_file():
        raise DamagedCheckpointError(f"The checkpoint {path} is damaged: it is not a regular file.")
    digest = _digest_of(path, int(match[1]))
    if digest != match[2]:
        raise DamagedCheckpointError(
            f"The checkpoint {path} is damaged: its checksum is {digest}, not that in its name."
        )


def _digest_of(path, update):
    """Returns 16 hexadecimal digits that stand for a file and the number of its update."""
    begun = functools.partial(hashlib.sha256, f"update {update}\n".encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, begun).hexdigest()[:16]


def _write(model, path):
    if not has_adapters(model):
        model.save_weights(path)
        return
    others = [v.path for v in model.trainable_variables if not v.path.endswith((A, B))]
    if others:
        raise ValueError(
            f"A checkpoint of a model with adapters holds nothing else, but {others[0]} is trained "
            "too: set its `trainable` to False, as `add_adapters` does."
        )
    # `save_weights` would merge the adapters, and the training could not go on.
    variables = [*model.trainable_variables, *model.optimizer.variables]
    with new_weight_file(path, bytes_of_file(variables)) as file:
        write_adapters(model, file.create_group("adapters"))
        model.optimizer.save_own_variables(file.create_group("optimizer"))


def _read(model, path):
    with h5py.File(path) as file:
        state = file["optimizer"] if has_adapters(model) else file["optimizer/vars"]
        is_of_this_optimizer = len(state) == len(model.optimizer.variables)
        if has_adapters(model):
            read_adapters(model, file["adapters"])
        if not is_of_this_optimizer:
            _read_optimizer_of_another_kind(model, state)
        elif has_adapters(model):
            model.optimizer.load_own_variables(state)
    if not has_adapters(model):
        with warnings.catch_warnings():
            if not is_of_this_optimizer:
                warnings.filterwarnings("ignore", "Skipping variable loading for optimizer")
            model.load_weights(path)


def _read_optimizer_of_another_kind(model, state):
    """Reads a state whose optimizer differs in accumulating gradients or in scaling losses.

    Variables that both optimizers have are taken over, by name; others keep their initial values.
    """
    ours = model.optimizer
    for written in _kinds(getattr(ours, "inner_optimizer", ours)):
        written.build(model.trainable_variables)
        if len(written.variables) == len(state):
            break
    else:
        raise ValueError(
            f"its optimizer has {len(state)} variables, but the recipe's has {len(ours.variables)}"
        )
    written.load_own_variables(state)
    values = {_name_in_optimizer(variable): variable for variable in written.variables}
    for variable in ours.variables:
        if _name_in_optimizer(variable) in values:
            variable.assign(values[_name_in_optimizer(variable)])


def _kinds(optimizer):
    """Makes optimizers like this one, with and without accumulation and a scale of the loss."""
    for steps in (None, 2):
        for scales_loss in (False, True):
            config = {**optimizer.get_config(), "gradient_accumulation_steps": steps}
            kind = type(optimizer).from_config(config)
            yield keras.optimizers.LossScaleOptimizer(kind) if scales_loss else kind


def _name_in_optimizer(variable):
    return variable.path.rpartition("/")[2]
