"""Everything that makes a training that was stopped end as if it had not been.

A checkpoint holds the weights and the optimizer's state. Its update says the rest: the place in the
data, how much of the history counts, and, since every epoch ends with a checkpoint, the epoch from
which dropout's random state follows.
"""

import json
import logging
from dataclasses import dataclass

import keras
import numpy as np

from aiayn_keras.backend import seed_torch_dropout
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training.checkpoints import (
    DamagedCheckpointError,
    check_digest,
    list_checkpoints,
    load_checked,
)
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.validation_history import is_out_of_patience

logger = logging.getLogger(__name__)


def check_folder(folder, recipe):
    """Refuses a folder that is neither free nor holds an unfinished training of the same recipe.

    Args:
        folder: The `RunFolder`.
        recipe: The `Recipe`.

    Raises:
        FileExistsError: If the folder holds anything else.
        RecipeError: If the recipe in it is not valid.
    """
    if folder.is_free():
        return
    if not folder.recipe.is_file():
        raise FileExistsError(
            f"{folder.path} exists and is not empty, and is no training: choose another folder."
        )
    if folder.evaluation.is_file():
        raise FileExistsError(
            f"{folder.path} holds a finished training: choose another folder, or delete it."
        )
    differences = _differences(load_recipe(folder.recipe), recipe)
    if differences:
        raise FileExistsError(
            f"{folder.path} holds an unfinished training of another recipe, which differs in "
            f"{'; '.join(differences)}. Choose another folder, or train with {folder.recipe}."
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
    """The tokenizer of the training in a `RunFolder`, or `None` if it has none yet."""
    if folder.tokenizer.is_file():
        return TransformerTokenizer(proto=folder.tokenizer.read_bytes())
    return None


def set_aside_damaged_checkpoints(folder):
    """Renames the newest checkpoints until one is whole, and says so in the log.

    Args:
        folder: Folder with the checkpoints.
    """
    for _, path in reversed(list_checkpoints(folder)):
        try:
            check_digest(path)
            return
        except DamagedCheckpointError as error:
            aside = path.with_name(f"damaged-{path.name}")
            path.rename(aside)
            logger.warning("%s It is %s now; the one before is used.", error, aside.name)


def load_last_checkpoint(model, folder):
    """Loads the newest checkpoint that is whole.

    Damaged ones are reported and renamed, so that they are not met again.

    Args:
        model: The model that the checkpoints are of.
        folder: Folder with the checkpoints.

    Returns:
        The checkpoint's update; 0 if there is none, and then the model is as it was.
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
        batches: Number of batches read.
        epoch: Number of epochs done, each of which ended with a checkpoint.
        history: List of dictionaries, one for a checkpoint up to there.
        out_of_patience: Whether the training had already ended, for want of progress.
    """

    updates: int
    batches: int
    epoch: int
    history: list
    out_of_patience: bool


def resume(model, folder, recipe):
    """Loads the newest checkpoint, if there is one, and finds the place at which to go on.

    Damaged checkpoints must have been set aside, by one process for all.

    Args:
        model: The model to train.
        folder: The `RunFolder`.
        recipe: The `Recipe`.

    Returns:
        The `StartingPoint`.
    """
    training = recipe.training
    updates = _load_newest(model, folder.checkpoints)
    if updates:
        logger.info("Going on from update %s.", f"{updates:,}")
    history = read_history(folder, updates)
    return StartingPoint(
        updates=updates,
        batches=updates * recipe.optimizer.gradient_accumulation_steps,
        epoch=updates // training.checkpoint_every,
        history=history,
        out_of_patience=is_out_of_patience(history, training.monitor, training.patience),
    )


def read_history(folder, update):
    """Reads the history of a `RunFolder` up to an update, one dictionary for a checkpoint."""
    if not folder.history.is_file():
        return []
    history = json.loads(folder.history.read_text(encoding="utf-8"))
    return [row for row in history if row["updates"] <= update]


class SeedDropout(keras.callbacks.Callback):
    """Sets dropout's random state at the first batch of every epoch, by the epoch's number.

    Args:
        seed: The training's seed.
        batches_per_epoch: Number of batches of an epoch.
    """

    def __init__(self, seed, batches_per_epoch):
        super().__init__()
        self.seed = seed
        self.batches_per_epoch = batches_per_epoch
        self._epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        # Not before the first batch: PyTorch's data loader draws from the same generator, once.
        if batch == 0:
            seed_torch_dropout(self.seed, self._epoch)
            self._set_counts(self._epoch * self.batches_per_epoch)

    def _set_counts(self, batches):
        """Sets Keras' seed generators, `(seed, count)`, which count the batches."""
        for variable in self.model.variables:
            if variable.path.endswith("seed_generator_state"):
                seed, _ = keras.ops.convert_to_numpy(variable)
                variable.assign(np.array([seed, batches]))
