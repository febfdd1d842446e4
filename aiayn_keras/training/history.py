"""The figures of every checkpoint, and decisions from them: the best one, the end of patience."""

import itertools
import json
import logging
import math
import os

import pydantic
from pydantic import Field, PositiveInt

from aiayn_keras.files import read_bytes, write_text

logger = logging.getLogger(__name__)

MOST_BYTES = 1 << 26
"""Greatest size of a history: some 300,000 checkpoints."""


class HistoryRow(pydantic.BaseModel):
    """The figures of one checkpoint, as `history.json` holds them.

    Attributes:
        updates: Number of updates done.
        learning_rate: Rate of the next update.
        loss: Mean training loss since the checkpoint before.
        val_loss: Loss on the validation text.
        val_perplexity: Perplexity per wordpiece on it.
        val_bleu: BLEU on it, where it was due.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    updates: PositiveInt
    learning_rate: float
    loss: float
    val_loss: float
    val_perplexity: float = Field(allow_inf_nan=True)  # the exponential of a finite loss
    val_bleu: float | None = None


_ROWS = pydantic.TypeAdapter(list[HistoryRow])


def write_history(path, history):
    """Writes a list of dictionaries, one for a checkpoint, as `read_history` reads it."""
    write_text(path, json.dumps(history, indent=1))


def read_history(path, update):
    """Reads the history up to an update: a list of dictionaries, one for a checkpoint.

    Args:
        path: The `RunFolder`'s file `history`.
        update: The last update to include.

    Raises:
        ValueError: If the file is not what `write_history` wrote.
        OSError: If it cannot be read.
    """
    if not os.path.lexists(path):
        return []
    try:
        rows = _ROWS.validate_json(read_bytes(path, MOST_BYTES))
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        where = " ".join(str(part) for part in ("at", *problem["loc"])) if problem["loc"] else ""
        raise ValueError(f"{path} is damaged: {problem['msg']} {where}".rstrip() + ".") from None
    if any(row.updates >= later.updates for row, later in itertools.pairwise(rows)):
        raise ValueError(f"{path} is damaged: its updates are not in order.")
    return [row.model_dump(exclude_none=True) for row in rows if row.updates <= update]


def set_aside_damaged_history(path):
    """Renames a history that cannot be read, with a warning."""
    try:
        read_history(path, 0)
    except (ValueError, OSError) as error:
        aside = path.with_name(f"damaged-{path.name}")
        path.rename(aside)
        logger.warning("%s It is %s now; the figures in it are left out.", error, aside.name)


def as_columns(history):
    """A list of dictionaries as a dictionary of lists, NaN where a value was not measured."""
    keys = dict.fromkeys(key for row in history for key in row)
    return {key: [row.get(key, math.nan) for row in history] for key in keys}


def best_update(history, monitor, among=None):
    """Finds the update with the lowest validation loss or the highest validation BLEU.

    Args:
        history: List of dictionaries, one for a checkpoint, oldest first.
        monitor: `"loss"` or `"bleu"`.
        among: Updates to choose from, such as those whose checkpoints are there; all if not given.

    Returns:
        The update (the first one of equals), or `None` if there is no measurement.
    """
    name, sign = f"val_{monitor}", -1 if monitor == "bleu" else 1
    rows = [row for row in history if name in row and (among is None or row["updates"] in among)]
    return min(rows, key=lambda row: sign * row[name])["updates"] if rows else None


def is_out_of_patience(history, monitor, patience):
    """Whether the last `patience` measurements were no better than the best one before them.

    Args:
        history: List of dictionaries, one for a checkpoint, oldest first.
        monitor: `"loss"` or `"bleu"`.
        patience: Number of measurements, or `None` for endless patience.
    """
    best = best_update(history, monitor)
    if patience is None or best is None:
        return False
    return sum(f"val_{monitor}" in row and row["updates"] > best for row in history) >= patience
