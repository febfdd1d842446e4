"""Changes to a training that has begun: which are allowed, and `changes.json`, their history.

The sections of a recipe name their `changeable` fields. A change takes effect from the newest
checkpoint on; the optimizer's state, the place in the data and the seeds are kept. `changes.json`
also notes the backend and the version of the package that a training began or went on with.
"""

import datetime
import importlib.metadata
import itertools
import math
import os
from typing import Annotated, Any

import pydantic
from pydantic import Field, NonNegativeInt

from aiayn_keras.backend import backend_name
from aiayn_keras.training.recipe_sections import MONITORS
from aiayn_keras.training.run_folder import best_update
from aiayn_keras_light.files import read_bytes, write_text

_MAX_CHANGES_BYTES = 1 << 24
_Text = Annotated[str, Field(max_length=200)]


class Change(pydantic.BaseModel):
    """The beginning of a training, or a point at which it went on differently.

    Attributes:
        updates: Number of updates done at that point.
        time: Time of the change, ISO 8601 in UTC.
        backend: The backend from there on.
        version: The version of the package from there on.
        fields: For each changed field, named `section.field`, its value before and after.
        batch: If the batches changed, the number of the one with which the training goes on.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    updates: NonNegativeInt
    time: _Text
    backend: _Text
    version: _Text
    fields: dict[str, tuple[Any, Any]] = {}
    batch: NonNegativeInt | None = None

    def __str__(self):
        texts = [f"`{name}` {old} → {new}" for name, (old, new) in self.fields.items()]
        what = f"{', '.join(texts)}; " if texts else ""
        return f"update {self.updates:,}, {self.time}: {what}{self.backend}, {self.version}"


_CHANGES = pydantic.TypeAdapter(list[Change])


def differences(theirs, ours):
    """Finds the fields in which two recipes differ.

    Args:
        theirs: A `Recipe`.
        ours: A `Recipe`.

    Returns:
        A dictionary from `section.field` to the pair of values.
    """
    old, new = (recipe.model_dump(mode="json") for recipe in (theirs, ours))
    return {
        f"{section}.{field}": (old[section][field], value)
        for section, fields in new.items()
        for field, value in fields.items()
        if old[section][field] != value
    }


def is_changeable(recipe, name):
    """Tells whether a training that has begun may change the field `section.field`."""
    section, _, field = name.partition(".")
    return field in getattr(recipe, section).changeable


def read_changes(path):
    """Reads `RunFolder.changes`.

    Returns:
        List of `Change`, oldest first; empty if there is no file, as in older trainings.

    Raises:
        ValueError: If the file is not what `write_changes` wrote.
        OSError: If it cannot be read.
    """
    if not os.path.lexists(path):
        return []
    try:
        return _CHANGES.validate_json(read_bytes(path, _MAX_CHANGES_BYTES))
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        raise ValueError(
            f"{path} is damaged: {problem['msg']}. It says from which batch the training goes on: "
            "put back the file that the training wrote, or choose another folder."
        ) from None


def write_changes(path, changes):
    """Writes a list of `Change`, whole or not at all."""
    write_text(path, _CHANGES.dump_json(changes, indent=1).decode())


def without_unused(changes, recipe):
    """Drops a last `Change` whose process was killed before it changed the recipe.

    Args:
        changes: List of `Change`.
        recipe: The `Recipe` in the folder.
    """
    values = recipe.model_dump(mode="json")
    for name, (_, new) in changes[-1].fields.items() if changes else ():
        section, _, field = name.partition(".")
        if values[section][field] != new:
            return changes[:-1]
    return changes


def next_changes(changes, updates, fields, batches_per_update, batch=None):
    """Lists the changes of a training that begins or goes on.

    Args:
        changes: List of `Change` so far.
        updates: Number of updates done.
        fields: Changed fields, as in `differences`.
        batches_per_update: Number of batches in an update before this change.
        batch: Number of the next batch, if batches changed.

    Returns:
        The list, with a new `Change` if anything differs. Changes that were made after `updates`,
        and whose checkpoints were lost, now count from `updates` on.
    """
    kept = [_rewound(change, updates, batches_per_update) for change in changes]
    now = Change(
        updates=updates,
        time=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        backend=backend_name(),
        version=importlib.metadata.version("aiayn_keras"),
        fields=fields,
        batch=batch,
    )
    is_same = kept and (kept[-1].backend, kept[-1].version) == (now.backend, now.version)
    return kept if is_same and not fields else [*kept, now]


def _rewound(change, updates, batches_per_update):
    """Moves a `Change` back to an update if it was made after it."""
    lost = max(change.updates - updates, 0)
    batch = change.batch
    if batch is not None:
        batch = max(batch - lost * batches_per_update, 0)
    return change.model_copy(update={"updates": change.updates - lost, "batch": batch})


def next_batch(changes, updates, batches_per_update):
    """Number of the first batch after an update.

    Args:
        changes: List of `Change`, none of them after `updates`.
        updates: Number of updates done.
        batches_per_update: Number of batches in an update since the last change.
    """
    for change in reversed(changes):
        if change.batch is not None:
            return change.batch + (updates - change.updates) * batches_per_update
    return updates * batches_per_update


def same_place(batch, batches_per_epoch, new_batches_per_epoch, new_batches_per_update):
    """Finds the new batch at the old place in the text, or the nearest that begins an update.

    Args:
        batch: Number of the next batch among the old batches.
        batches_per_epoch: Number of old batches in one pass over the text.
        new_batches_per_epoch: Number of new batches in one pass.
        new_batches_per_update: Number of new batches in an update.
    """
    place = batch * new_batches_per_epoch / batches_per_epoch
    return round(place / new_batches_per_update) * new_batches_per_update


def value_at(changes, updates, name, value):
    """The value that a field had during an update.

    Args:
        changes: List of `Change`.
        updates: Number of the update, counted from 1.
        name: The field, as `section.field`.
        value: Its value now.
    """
    for change in reversed(changes):
        if change.updates >= updates and name in change.fields:
            value, _ = change.fields[name]
    return value


def comparable(history, changes, monitor):
    """Leaves out the rows whose figure was measured differently than it is now.

    Args:
        history: List of dictionaries, one for each checkpoint.
        changes: List of `Change`.
        monitor: The recipe's `training.monitor`.
    """
    return _stretches(history, changes, monitor)[-1]


def best_updates(history, changes, monitor, among):
    """Finds the best update of each stretch of a history within which figures can be compared.

    The arguments are those of `comparable` and `best_update`. Which of these updates is the best
    can only be told by measuring them in the same way.

    Returns:
        List of updates, oldest first; without the stretches in which nothing was measured.
    """
    stretches = _stretches(history, changes, monitor)
    bests = [best_update(rows, monitor, among) for rows in stretches]
    return [update for update in bests if update is not None]


def _stretches(history, changes, monitor):
    """Divides a history after each update at which the measurement of its figure changed."""
    if monitor == "loss":
        return [history]
    ends = {
        change.updates
        for change in changes
        for name in change.fields
        if name.startswith("evaluation.")
        or (name == "training.monitor" and monitor not in MONITORS)
    }
    return [
        [row for row in history if first < row["updates"] <= last]
        for first, last in itertools.pairwise(sorted({0, *ends, math.inf}))
    ]
