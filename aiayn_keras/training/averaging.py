"""Averages of weights: the mean of the last checkpoints (paper 6.1), and a moving one.

Where the optimizer keeps an exponential moving average (EMA) of the weights, it is measured and
saved in their place. It is Keras' EMA: it starts with the weights after the first update and is
not debiased, so that after `n` more updates these still have a share of `ema_momentum ** n` (37 %
after 1,000 updates at 0.999). With gradient accumulation it moves once per batch, not once per
update.
"""

import contextlib
import itertools
import logging
import sys
from pathlib import Path

import keras

from aiayn_keras.training.building import (
    build_model,
    build_translator,
    copy_weights,
    read_initial,
    save_trained,
)
from aiayn_keras.training.checkpoints import (
    DamagedCheckpointError,
    list_checkpoints,
    load_checkpoint,
)
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.recipe_changes import read_changes, value_at
from aiayn_keras.training.recipe_sections import MAX_CHECKPOINTS
from aiayn_keras.training.resume import check_initial, read_inputs, read_recipe_text, read_tokenizer
from aiayn_keras.training.run_folder import RunFolder, read_history, write_history
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.files import check_is_new, new_folder, write_text

logger = logging.getLogger(__name__)

REMEDY = (
    "the ones after it, to train again from the one before it; or average only the later ones with "
    "`aiayn-keras average --last NUMBER`."
)
"""Advice for a missing or damaged checkpoint, after "Delete"."""


def average_checkpoints(model, paths, moving=True):
    """Sets the model's trainable weights to the mean over checkpoints.

    Where the optimizer keeps an EMA of the weights, the mean is taken over the EMAs. Where the
    model has adapters, `A` and `B` are averaged separately, so that the mean has the same rank and
    can be saved in the same way; the mean of the products `A·B` differs from it by the covariance
    of `A` and `B`.

    Args:
        model: The model that was saved in the checkpoints.
        paths: Checkpoint files, at least one.
        moving: Whether to take the EMAs of the weights, if the optimizer keeps them.

    Raises:
        ValueError: If `paths` is empty, or a checkpoint is damaged.
    """
    if not paths:
        raise ValueError("`paths` must name at least one checkpoint. Received none.")
    sums = None
    for path in paths:
        try:
            load_checkpoint(model, path)
        except DamagedCheckpointError as error:
            raise DamagedCheckpointError(f"{error} Delete it and {REMEDY}") from None
        if moving:
            model.optimizer.finalize_variable_values(model.trainable_variables)
        # In float64, so that the order of the sum does not matter.
        values = [
            keras.ops.convert_to_numpy(variable).astype("float64")
            for variable in model.trainable_variables
        ]
        sums = values if sums is None else [a + b for a, b in zip(sums, values, strict=True)]
    for variable, total in zip(model.trainable_variables, sums, strict=True):
        variable.assign((total / len(paths)).astype(variable.dtype))


def expected_updates(checkpoints, history, checkpoint_every):
    """Lists the updates of all checkpoints that a training has written, oldest first.

    Args:
        checkpoints: The updates of those that exist, at least one.
        history: List of dictionaries, one for each checkpoint; the oldest may be lost.
        checkpoint_every: Number of updates between checkpoints before the history.
    """
    last = max(checkpoints)
    known = {row["updates"] for row in history if row["updates"] <= last} | {last}
    return [*range(checkpoint_every, min(known), checkpoint_every), *sorted(known)]


def checkpoints_in_a_row(checkpoints, history, checkpoint_every):
    """Lists the updates of the checkpoints from the last gap to the newest one, oldest first.

    The arguments are those of `expected_updates`.
    """
    if not checkpoints:
        return []
    newest_first = reversed(expected_updates(checkpoints, history, checkpoint_every))
    return list(itertools.takewhile(checkpoints.__contains__, newest_first))[::-1]


def write_average(run, output, last=None):
    """Writes the mean of a training's last checkpoints as a model folder.

    Args:
        run: Folder of a training, finished or not.
        output: Folder to make; it must not exist, nor be within `run`, where a training writes.
        last: Number of checkpoints; defaults to the recipe's `average_checkpoints`, or to all that
            the training has written if these are fewer.

    Returns:
        List of the checkpoints' paths, oldest first.

    Raises:
        FileNotFoundError: If `run` does not hold a training, or no checkpoint of it is left.
        FileExistsError: If `output` exists.
        ValueError: If there are fewer checkpoints, `last` is not given and the newest checkpoint is
            missing, a file of the training is damaged, or `output` is within `run`.
        OSError: If the model cannot be written, for instance to a full disk; nothing of it is left.
    """
    folder, output = RunFolder(Path(run)), Path(output)
    if not folder.recipe.is_file():
        raise FileNotFoundError(f"{run} does not hold a training: it has no recipe.")
    check_is_new(output)
    if output.resolve().is_relative_to(folder.path.resolve()):
        raise ValueError(
            f"`output` must be outside of {run}, which holds a training and its own files. "
            f"Received: output={output}."
        )
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    if not checkpoints:
        raise FileNotFoundError(
            f"{run} has no checkpoints to average: give the folder of a training with its folder "
            f"{folder.checkpoints.name}."
        )
    recipe_text = read_recipe_text(folder)
    recipe, inputs = load_recipe(folder.recipe), read_inputs(folder)
    tokenizer, initial = read_beginning(folder, recipe)
    newest = max(checkpoints)
    all_rows = read_history(folder.history, sys.maxsize)
    if last is None and all_rows and all_rows[-1]["updates"] > newest:
        raise ValueError(
            f"{run} has no checkpoint of update {all_rows[-1]['updates']}, which "
            f"{folder.history.name} has: the newest one is {checkpoints[newest].name}. Train on to "
            "have it written again, or give --last to average those that are there."
        )
    history = [row for row in all_rows if row["updates"] <= newest]
    every = recipe.training.checkpoint_every
    every = value_at(read_changes(folder.changes), 1, "training.checkpoint_every", every)
    if last is None:  # as the training itself does; it may be shorter
        all_written = len(expected_updates(checkpoints, history, every))
        last = min(recipe.training.average_checkpoints, all_written)
    row = checkpoints_in_a_row(checkpoints, history, every)
    paths = [checkpoints[update] for update in row]
    paths = paths[-check_integer("last", last, 1, MAX_CHECKPOINTS) :]
    if len(paths) < last:
        raise ValueError(
            f"{run} has {len(paths)} checkpoints in a row up to the newest, fewer than {last}: "
            f"give --last {len(paths)}. A training keeps as many as "
            "`training.average_checkpoints` says."
        )
    model = build_model(recipe, tokenizer, initial)
    average_checkpoints(model, paths)
    translator = build_translator(model, recipe, tokenizer, initial)
    copy_weights(model, translator)
    with new_folder(output) as written:
        save_trained(model, translator, RunFolder(written))
        write_text(written / folder.recipe.name, recipe_text)
        if inputs is not None:
            inputs.write(written / folder.inputs.name)
        write_history(written / folder.history.name, history)
    return paths


def read_beginning(folder, recipe):
    """Returns the tokenizer of a training, and its `InitialModel` or `None`."""
    initial = read_initial(recipe)
    if initial is not None:
        check_initial(folder, recipe, initial)
        if (begun := read_inputs(folder)) and begun.copy_without_letters is not None:
            initial.tokenizer.copy_without_letters = begun.copy_without_letters
            initial.tokenizer.learned_length = begun.learned_length
        return initial.tokenizer, initial
    tokenizer = read_tokenizer(folder)
    if tokenizer is None:
        raise FileNotFoundError(f"{folder.path} does not hold a training: it has no tokenizer.")
    return tokenizer, None


class ValidateEMA(keras.callbacks.Callback):
    """Lets `fit` measure the validation loss with the EMA of the weights."""

    def __init__(self):
        super().__init__()
        self._validation = contextlib.ExitStack()

    def on_test_begin(self, logs=None):
        self._validation.enter_context(ema_weights(self.model))

    def on_test_end(self, logs=None):
        self._validation.close()


class KeepWeights(keras.callbacks.Callback):
    """Keeps the weights in the model at the end of `fit`, where Keras would put in their EMA."""

    def __init__(self):
        super().__init__()
        self._kept = None

    def on_epoch_end(self, epoch, logs=None):
        self._kept = _copies(self.model.trainable_variables)

    def on_train_end(self, logs=None):
        _assign(self.model.trainable_variables, self._kept)


@contextlib.contextmanager
def ema_weights(model):
    """Gives the model the EMA of its weights within a block, if the optimizer keeps one."""
    kept = _copies(model.trainable_variables)
    model.optimizer.finalize_variable_values(model.trainable_variables)
    # A copy, since a compiled step of JAX uses up the arrays of the model, not the optimizer's.
    _assign(model.trainable_variables, _copies(model.trainable_variables))
    try:
        yield
    finally:
        _assign(model.trainable_variables, kept)


def _copies(variables):
    return [keras.ops.copy(variable) for variable in variables]


def _assign(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
