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
from pathlib import Path

import keras

from aiayn_keras.common.checks import check_integer
from aiayn_keras.common.files import check_is_new, new_folder, write_text
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
from aiayn_keras.training.recipe_sections import MAX_CHECKPOINTS
from aiayn_keras.training.resume import check_initial, read_inputs, read_recipe_text, read_tokenizer
from aiayn_keras.training.run_folder import RunFolder, best_update, read_history, write_history

logger = logging.getLogger(__name__)

_REMEDY = (
    "the ones after it, to train again from the one before it; or average only the later ones with "
    "`aiayn-keras average --last NUMBER`."
)


def average_checkpoints(model, paths):
    """Sets the model's trainable weights to the mean over checkpoints.

    Where the optimizer keeps an EMA of the weights, the mean is taken over the EMAs. Where the
    model has adapters, `A` and `B` are averaged separately, so that the mean has the same rank and
    can be saved in the same way; the mean of the products `A·B` differs from it by the covariance
    of `A` and `B`.

    Args:
        model: The model that was saved in the checkpoints.
        paths: Checkpoint files, at least one.

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
            raise DamagedCheckpointError(f"{error} Delete it and {_REMEDY}") from None
        model.optimizer.finalize_variable_values(model.trainable_variables)
        # In float64, so that the order of the sum does not matter.
        values = [
            keras.ops.convert_to_numpy(variable).astype("float64")
            for variable in model.trainable_variables
        ]
        sums = values if sums is None else [a + b for a, b in zip(sums, values, strict=True)]
    for variable, total in zip(model.trainable_variables, sums, strict=True):
        variable.assign((total / len(paths)).astype(variable.dtype))


def chosen_checkpoints(folder, training):
    """Chooses the checkpoints whose mean becomes the model.

    Args:
        folder: The `RunFolder`.
        training: The recipe's `TrainingSection`.

    Returns:
        List of paths, oldest first.

    Raises:
        ValueError: If one of the last checkpoints is missing.
    """
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    last, every = max(checkpoints), training.checkpoint_every
    if training.keep_best:
        history = read_history(folder.history, last)
        best = best_update(history, training.monitor, among=checkpoints)
        if best is None or best != best_update(history, training.monitor):
            logger.warning(
                "The best checkpoint is unknown or no longer exists: the %s is used instead.",
                "last one" if best is None else "best of those that remain",
            )
        return [checkpoints[last if best is None else best]]
    return _last_without_gap(folder, checkpoints, every, training.average_checkpoints)


def _last_without_gap(folder, checkpoints, every, count):
    """Lists the last `count` checkpoints, or all of a shorter training."""
    last = max(checkpoints)
    updates = range(max(every, last - (count - 1) * every), last + 1, every)
    missing = [str(update) for update in updates if update not in checkpoints]
    if missing:
        raise ValueError(
            f"{folder.checkpoints} lacks the checkpoint of update {', '.join(missing)}, which "
            f"belongs to the mean. Delete {_REMEDY}"
        )
    return [checkpoints[update] for update in updates]


def _last_in_a_row(checkpoints, every):
    """Lists the checkpoints from the last gap to the newest one, oldest first."""
    if not checkpoints:
        return []
    last = max(checkpoints)
    updates = itertools.takewhile(checkpoints.__contains__, range(last, 0, -every))
    return [checkpoints[update] for update in updates][::-1]


def write_average(run, output, last=None):
    """Writes the mean of a training's last checkpoints as a model folder.

    Args:
        run: Folder of a training, finished or not.
        output: Folder to make; it must not exist.
        last: Number of checkpoints; defaults to the recipe's `average_checkpoints`, or to all that
            the training has written if these are fewer.

    Returns:
        List of the checkpoints' paths, oldest first.

    Raises:
        FileNotFoundError: If `run` does not hold a training.
        FileExistsError: If `output` exists.
        ValueError: If there are fewer checkpoints, or a file of the training is damaged.
        OSError: If the model cannot be written, for instance to a full disk; nothing of it is left.
    """
    folder, output = RunFolder(Path(run)), Path(output)
    if not folder.recipe.is_file():
        raise FileNotFoundError(f"{run} does not hold a training: it has no recipe.")
    check_is_new(output)
    recipe_text = read_recipe_text(folder)
    recipe, inputs = load_recipe(folder.recipe), read_inputs(folder)
    tokenizer, initial = _read_beginning(folder, recipe)
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    every = recipe.training.checkpoint_every
    if last is None:  # as the training itself does; it may be shorter
        last = min(
            recipe.training.average_checkpoints, max(max(checkpoints, default=0) // every, 1)
        )
    paths = _last_in_a_row(checkpoints, every)[-check_integer("last", last, 1, MAX_CHECKPOINTS) :]
    if len(paths) < last:
        raise ValueError(
            f"{run} has {len(paths)} checkpoints in a row up to the newest, fewer than {last}."
        )
    newest = max(checkpoints)
    history = read_history(folder.history, newest)
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


def _read_beginning(folder, recipe):
    """Returns the tokenizer of a training, and its `InitialModel` or `None`."""
    initial = read_initial(recipe)
    if initial is not None:
        check_initial(folder, recipe, initial)
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
