"""Use of a training before its end: the model of a checkpoint, and the state of the training.

Reading changes nothing in the folder, so a training may be running there.
"""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training.averaging import average_checkpoints, read_beginning
from aiayn_keras.training.building import build_model, build_translator, copy_weights
from aiayn_keras.training.checkpoints import list_checkpoints
from aiayn_keras.training.delivery import Delivery, read_delivery
from aiayn_keras.training.recipe import Recipe, load_recipe
from aiayn_keras.training.recipe_changes import comparable, read_changes
from aiayn_keras.training.resume import read_recipe_text
from aiayn_keras.training.run_folder import (
    Evaluation,
    RunFolder,
    best_update,
    read_evaluation,
    read_history,
)
from aiayn_keras_light.search_numbers import read_search_defaults, search_defaults_of

_BEST, _LAST = "best", "last"
"""Names of checkpoints, besides numbers of updates."""
_TRIES = 5
"""Number of attempts to find a checkpoint while a running training deletes the ones just found."""


@dataclass(frozen=True)
class FoundCheckpoint:
    """A checkpoint of a training.

    Attributes:
        path: Its path.
        updates: Number of updates done.
        description: Which one it is, in words.
    """

    path: Path
    updates: int
    description: str


@dataclass(frozen=True)
class LoadedCheckpoint:
    """The model of a checkpoint.

    Attributes:
        model: A `TransformerSeq2SeqLM` that takes text.
        updates: Number of updates done.
        description: Which one it is, in words.
    """

    model: TransformerSeq2SeqLM
    updates: int
    description: str


def load_from_checkpoint(run, checkpoint=_BEST):
    """Makes the model of a checkpoint of a training, finished or not.

    If the optimizer keeps a moving average of the weights, the model has that average.

    Args:
        run: Folder of the training.
        checkpoint: Number of its updates; `"last"`; or `"best"`, the best of those that exist by
            the recipe's `training.monitor`.

    Returns:
        A `LoadedCheckpoint`.

    Raises:
        FileNotFoundError: If the folder holds no training, or no such checkpoint.
        ValueError: If a file of the training is damaged.
    """
    folder = RunFolder(Path(run))
    recipe = _read_recipe(folder)
    find_checkpoint(run, checkpoint)  # refuses a missing one before a model is built
    tokenizer, initial = read_beginning(folder, recipe)
    model = build_model(recipe, tokenizer, initial)
    found = _load(model, run, checkpoint)
    translator = build_translator(model, recipe, tokenizer, initial)
    copy_weights(model, translator)
    return LoadedCheckpoint(translator, found.updates, found.description)


def _load(model, run, checkpoint):
    """Loads a checkpoint, or the one that has taken its place: the training may be running."""
    for _ in range(_TRIES):
        found = find_checkpoint(run, checkpoint)
        try:
            average_checkpoints(model, [found.path])
        except FileNotFoundError:  # the training has deleted it
            continue
        return found
    raise FileNotFoundError(f"{found.path} and others were deleted while they were being read.")


def search_defaults_of_training(run):
    """Reads the numbers of a search that the models of a training's checkpoints have.

    They are those of the recipe's `evaluation` and, where it sets none, of the initial model. The
    `search.json` of a folder is older if a finished training goes on: it is the delivered model's.

    Args:
        run: Folder of the training.

    Returns:
        Dictionary, as `search_defaults` of a `TransformerSeq2SeqLM`.

    Raises:
        FileNotFoundError: If the folder holds no training.
        ValueError: If a file of the training, or of its initial model, is damaged.
    """
    recipe = _read_recipe(RunFolder(Path(run)))
    initial = recipe.model.initial
    defaults = {} if initial is None else read_search_defaults(Path(initial))
    return {**defaults, **search_defaults_of(recipe.evaluation.search_options())}


def find_checkpoint(run, checkpoint=_BEST):
    """Finds a checkpoint of a training without reading it.

    Args:
        run: Folder of the training.
        checkpoint: As in `load_from_checkpoint`.

    Returns:
        A `FoundCheckpoint`.

    Raises:
        FileNotFoundError: If the folder holds no training, or no such checkpoint.
        ValueError: If a file of the training is damaged.
    """
    folder = RunFolder(Path(run))
    updates, description = _find(folder, _read_recipe(folder), checkpoint)
    return FoundCheckpoint(_list_all(folder)[updates], updates, description)


def _read_recipe(folder):
    if not folder.recipe.is_file():
        raise FileNotFoundError(f"{folder.path} does not hold a training: it has no recipe.")
    read_recipe_text(folder)
    return load_recipe(folder.recipe)


def _list_all(folder):
    """Maps updates to the paths of their checkpoints, including that of a stopped training."""
    return dict([*list_checkpoints(folder.stopped), *list_checkpoints(folder.checkpoints)])


def _find(folder, recipe, checkpoint):
    """Finds the update that a name or a number stands for, and a description of it."""
    existing = _list_all(folder)
    if not existing and (folder.path / "task.json").is_file():
        raise FileNotFoundError(
            f"{folder.path} has a model and no checkpoints. Omit `--checkpoint` to use the model; "
            "if its training was stopped, resume it with `aiayn-keras train`."
        )
    if not existing:
        raise FileNotFoundError(
            f"{folder.path} has no checkpoint yet: its first one is written after "
            f"{min(recipe.training.checkpoint_every, recipe.training.updates):,} updates."
        )
    last, monitor = max(existing), recipe.training.monitor
    if checkpoint == _LAST:
        return last, "its newest checkpoint"
    if checkpoint == _BEST:
        history = comparable(
            read_history(folder.history, last), read_changes(folder.changes), monitor
        )
        best = best_update(history, monitor, among=existing)
        if best is None:
            return last, f"its newest checkpoint, since {monitor} has not been measured"
        return best, f"its best checkpoint by {monitor}"
    if checkpoint not in existing:
        raise FileNotFoundError(
            f"{folder.path} has no checkpoint of update {checkpoint}. It has: "
            f"{', '.join(map(str, sorted(existing)))}."
        )
    return checkpoint, "the checkpoint that was asked for"


@dataclass(frozen=True)
class TrainingState:
    """The state of a training.

    Attributes:
        recipe: Its `Recipe`.
        is_finished: Whether it has delivered a model.
        updates: Number of updates of the newest checkpoint.
        checkpoints: Updates of the checkpoints that exist, oldest first.
        history: List of dictionaries, one for each measured checkpoint.
        best: Update of the best row by the monitor; `None` if nothing was measured.
        changes: List of `Change`.
        delivery: The `Delivery`, once finished.
        evaluation: The `Evaluation`, once finished.
        seconds_left: Time for the remaining updates at the pace of the last two checkpoints;
            `None` if it is unknown.
    """

    recipe: Recipe
    is_finished: bool
    updates: int
    checkpoints: list[int]
    history: list = dataclasses.field(repr=False)
    best: int | None
    changes: list
    delivery: Delivery | None
    evaluation: Evaluation | None
    seconds_left: float | None


def read_state(run):
    """Reads the `TrainingState` of a folder.

    Raises:
        FileNotFoundError: If the folder holds no training.
        ValueError: If a file of the training is damaged.
    """
    folder = RunFolder(Path(run))
    is_finished = folder.evaluation.is_file()
    if not folder.recipe.is_file():
        raise FileNotFoundError(f"{run} does not hold a training: it has no recipe.")
    recipe, existing = load_recipe(folder.recipe), _list_all(folder)
    updates = max(existing, default=0)
    history = read_history(folder.history, updates)
    changes, monitor = read_changes(folder.changes), recipe.training.monitor
    return TrainingState(
        recipe=recipe,
        is_finished=is_finished,
        updates=updates,
        checkpoints=sorted(existing),
        history=history,
        best=best_update(comparable(history, changes, monitor), monitor),
        changes=changes,
        delivery=read_delivery(folder.candidates),
        evaluation=read_evaluation(folder.evaluation) if is_finished else None,
        seconds_left=_seconds_left(folder, recipe.training.updates - updates),
    )


def _seconds_left(folder, updates_left):
    """Estimates the time for some updates from when the last two checkpoints were written."""
    newest = list_checkpoints(folder.checkpoints)[-2:]
    if len(newest) < 2 or updates_left <= 0:
        return None
    (before, old), (after, new) = newest
    try:
        seconds = new.stat().st_mtime - old.stat().st_mtime
    except FileNotFoundError:  # the training is running, and has deleted it
        return None
    pace = seconds / (after - before)
    return pace * updates_left if pace > 0 and math.isfinite(pace) else None
