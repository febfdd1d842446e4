"""Everything that makes a training that was stopped end as if it had not been.

A checkpoint holds the weights and the optimizer's state. Its update says the rest: the place in the
data, how much of the history counts, and, since every epoch ends with a checkpoint, the epoch from
which dropout's random state follows.
"""

import logging
from dataclasses import dataclass

import keras
import numpy as np

from aiayn_keras.backend import seed_torch_dropout
from aiayn_keras.files import read_bytes
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training.checkpoints import (
    DamagedCheckpointError,
    check_digest,
    list_checkpoints,
    load_checked,
)
from aiayn_keras.training.history import read_history
from aiayn_keras.training.inputs import check_tokenizer
from aiayn_keras.training.recipe import load_recipe

logger = logging.getLogger(__name__)

MOST_TOKENIZER_BYTES = 1 << 26


def check_folder(folder, recipe):
    """Refuses a folder that is neither free nor holds an unfinished training of the same recipe.

    Raises:
        FileExistsError: If the `RunFolder` holds anything else.
        RecipeError: If the recipe in it is not valid.
    """
    if folder.is_free():
        return
    if not folder.recipe.is_file():
        raise FileExistsError(
            f"{folder.path} exists and is not empty, and is no training: choose another folder."
        )
    if (folder.path / "task.json").is_file() and not folder.checkpoints.is_dir():
        raise FileExistsError(
            f"{folder.path} holds a model and no training: choose another folder."
        )
    if folder.evaluation.is_file():
        raise FileExistsError(
            f"{folder.path} holds a finished training: choose another folder, or delete it."
        )
    differences = _differences(load_recipe(folder.recipe), recipe)
    if differences:
        raise FileExistsError(
            f"{folder.path} holds an unfinished training of another recipe, which differs in "
            f"{'; '.join(differences)}. Choose another folder, or go on with the recipe "
            f"{folder.recipe}."
        )


def _differences(theirs, ours):
    """Texts `section.field (theirs, ours)` of the fields in which two recipes differ."""
    theirs, ours = (recipe.model_dump(mode="json") for recipe in (theirs, ours))
    return [
        f"`{section}.{field}` ({theirs[section][field]} there, {value} here)"
        for section, fields in ours.items()
        for field, value in fields.items()
        if theirs[section][field] != value
    ]


def read_tokenizer(folder):
    """The tokenizer of the training in a `RunFolder`, or `None` if it has none yet.

    Raises:
        ValueError: If it is not the one with which the training began.
        OSError: If it cannot be read.
    """
    if not folder.tokenizer.exists():
        return None
    proto = read_bytes(folder.tokenizer, MOST_TOKENIZER_BYTES)
    check_tokenizer(folder, proto)
    return TransformerTokenizer(proto=proto)


def set_aside_damaged_checkpoints(folder):
    """Renames damaged checkpoints, with a warning, until the newest one is whole."""
    for _, path in reversed(list_checkpoints(folder)):
        try:
            check_digest(path)
            return
        except DamagedCheckpointError as error:
            aside = path.with_name(f"damaged-{path.name}")
            path.rename(aside)
            logger.warning("%s It is %s now; the one before is used.", error, aside.name)


def load_last_checkpoint(model, folder):
    """Loads the newest checkpoint that is whole; newer ones are renamed, with a warning.

    Args:
        model: The model that the checkpoints are of.
        folder: Folder with the checkpoints.

    Returns:
        The checkpoint's update; 0 if there is none, which leaves the model unchanged.
    """
    set_aside_damaged_checkpoints(folder)
    return _load_newest(model, folder)


def _load_newest(model, folder):
    checkpoints = list_checkpoints(folder)
    if not checkpoints:
        return 0
    update, path = checkpoints[-1]
    load_checked(model, path)
    return update


@dataclass(frozen=True)
class StartingPoint:
    """The place at which a training begins or goes on.

    Attributes:
        updates: Number of updates done.
        history: List of dictionaries, one for a checkpoint up to there.
    """

    updates: int
    history: list

    @property
    def is_measured(self):
        """Whether the history's last row is that of the checkpoint to go on from."""
        return bool(self.history) and self.history[-1]["updates"] == self.updates


def resume(model, folder):
    """Loads the newest checkpoint, if there is one, and finds the place at which to go on.

    Damaged checkpoints and histories must have been set aside, by one process for all.

    Args:
        model: The model to train.
        folder: The `RunFolder`.

    Returns:
        The `StartingPoint`.
    """
    updates = _load_newest(model, folder.checkpoints)
    if updates:
        logger.info("Going on from update %s.", f"{updates:,}")
    start = StartingPoint(updates, read_history(folder.history, updates))
    if updates and not start.is_measured:
        logger.warning(
            "%s does not have the figures of update %s: the choice of the best checkpoint and "
            "the end of patience follow from those that it has.",
            folder.history,
            f"{updates:,}",
        )
    return start


class SeedDropout(keras.callbacks.Callback):
    """Sets dropout's random state at the first batch of every epoch, by the epoch's number.

    Args:
        recipe: The `Recipe`.
    """

    def __init__(self, recipe):
        super().__init__()
        self._seed, self._epoch = recipe.training.seed, 0
        self._batches_per_epoch = (
            recipe.training.checkpoint_every * recipe.optimizer.gradient_accumulation_steps
        )

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        # Not before the first batch: PyTorch's data loader draws from the same generator, once.
        if batch == 0:
            seed_torch_dropout(self._seed, self._epoch)
            _set_seed_counts(self.model, self._epoch * self._batches_per_epoch)


def _set_seed_counts(model, batches):
    """Sets the states `(seed, count)` of Keras' seed generators, which count batches."""
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, batches]))
