"""The figures of every checkpoint, and decisions from them: the best one, the end of patience."""

import json
import math


def read_history(path, update):
    """Reads the history up to an update: a list of dictionaries, one for a checkpoint.

    Args:
        path: The `RunFolder`'s file `history`.
        update: The last update to include.
    """
    if not path.is_file():
        return []
    history = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in history if row["updates"] <= update]


def as_columns(history):
    """A list of dictionaries as a dictionary of lists, NaN where a value was not measured."""
    keys = dict.fromkeys(key for row in history for key in row)
    return {key: [row.get(key, math.nan) for row in history] for key in keys}


def best_update(history, monitor):
    """Finds the update with the lowest validation loss or the highest validation BLEU.

    Args:
        history: List of dictionaries, one for a checkpoint, oldest first.
        monitor: `"loss"` or `"bleu"`.

    Returns:
        The update (the first one of equals), or `None` if there is no measurement.
    """
    name, sign = f"val_{monitor}", -1 if monitor == "bleu" else 1
    rows = [row for row in history if name in row]
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
