"""The choice of the weights that a training delivers, by the rule `training.keep`.

`best` compares candidates, among them the paper's mean of the last checkpoints (6.1), by their
translations of the validation text; `candidates.json` in the folder of the training holds the
table.
"""

import logging
import os
from typing import Annotated

import pydantic
from pydantic import Field

from aiayn_keras.training.averaging import (
    REMEDY,
    average_checkpoints,
    checkpoints_in_a_row,
    expected_updates,
)
from aiayn_keras.training.checkpoints import list_checkpoints
from aiayn_keras.training.recipe_changes import best_updates, value_at
from aiayn_keras.training.recipe_sections import MONITORS
from aiayn_keras.training.run_folder import read_history
from aiayn_keras.training.validation import Validation
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes, write_text

logger = logging.getLogger(__name__)

_MAX_TABLE_BYTES = 1 << 22
_CONFIG = pydantic.ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")
_Figure = Annotated[float, Field(allow_inf_nan=False)]


class Candidate(pydantic.BaseModel):
    """Weights that a training may deliver, and their figures on the validation text.

    Attributes:
        name: Description of the weights.
        updates: Updates of the checkpoints whose mean they are.
        is_average: Whether these are the moving averages (EMA) that the optimizer keeps.
        perplexity: Perplexity per wordpiece, if it was measured.
        bleu: BLEU, 0 to 100.
        chrf: chrF2, 0 to 100.
        figure: Figure of a `training.monitor` of your own.
    """

    model_config = _CONFIG

    name: Annotated[str, Field(max_length=200)]
    updates: Annotated[list[int], Field(min_length=1)]
    is_average: bool = False
    perplexity: float | None = None
    bleu: _Figure | None = None
    chrf: _Figure | None = None
    figure: _Figure | None = None


class Delivery(pydantic.BaseModel):
    """The content of `candidates.json`: the table of candidates, and the one that was chosen.

    Attributes:
        keep: The rule, `training.keep`.
        compared_by: The figure that the rule `best` compares, `"bleu"`, `"chrf"` or `"figure"`.
        delivered: Name of the chosen candidate.
        candidates: All candidates if the rule is `best`; otherwise only the chosen one.
        engine: Name of the engine that translated for the figures of the rule `best`, such as
            `"keras"`; older files lack it.
    """

    model_config = _CONFIG

    keep: str
    compared_by: str | None = None
    delivered: Annotated[str, Field(max_length=200)]
    candidates: Annotated[list[Candidate], Field(min_length=1)]
    engine: Annotated[str, Field(max_length=200)] | None = None

    def write(self, path):
        """Writes the file, whole or not at all."""
        write_text(path, self.model_dump_json(indent=1, exclude_none=True))

    def __str__(self):
        if self.compared_by is None:
            return f"Delivered: {self.delivered} (training.keep: {self.keep})."
        title = "on the validation text"
        width = max(len(title), *(len(each.name) for each in self.candidates))
        has_figure = self.compared_by == "figure"
        titles = ["perplexity", "BLEU", "chrF2", *(["monitor"] if has_figure else [])]
        lines = [f"  {title:<{width}}" + "".join(f"{t:>12}" for t in titles)]
        for each in self.candidates:
            figures = f"{each.perplexity:>12.4g}{each.bleu:>12.2f}{each.chrf:>12.2f}"
            figures += f"{each.figure:>12.4g}" if has_figure else ""
            mark = "*" if each.name == self.delivered else " "
            lines.append(f"{mark} {each.name:<{width}}{figures}")
        names = {"bleu": "BLEU", "chrf": "chrF2", "figure": "training.monitor"}
        by = names[self.compared_by]
        return "\n".join([*lines, f"Delivered: {self.delivered}, the best by {by}."])


def read_delivery(path):
    """Reads `RunFolder.candidates`; returns `None` if there is no such file.

    Raises:
        ValueError: If it is not what a training writes.
        OSError: If it cannot be read.
    """
    if not os.path.lexists(path):
        return None
    return parse(
        Delivery, read_bytes(path, _MAX_TABLE_BYTES), path, "It is not a table of candidates."
    )


def deliver(run):
    """Chooses weights by `training.keep`, and gives them to the model of a `TrainingRun`.

    Returns:
        The `Delivery`.

    Raises:
        ValueError: If a checkpoint that belongs to a mean is missing or damaged.
    """
    training, folder = run.recipe.training, run.folder
    if training.keep == "best":
        delivery = _compare(run, _all_candidates(run))
    else:
        count = 1 if training.keep == "last" else training.average_checkpoints
        updates = last_without_gap(folder, training, run.changes, count)
        chosen = _candidate(run, updates)
        delivery = Delivery(keep=training.keep, delivered=chosen.name, candidates=[chosen])
    chosen = next(each for each in delivery.candidates if each.name == delivery.delivered)
    _load(run, chosen)
    return delivery


def _compare(run, candidates):
    monitor = run.recipe.training.monitor
    by = {"loss": "bleu"}.get(monitor, monitor if monitor in MONITORS else "figure")
    validation, measured = Validation(run), []
    for number, candidate in enumerate(candidates, 1):
        logger.info("Candidate %s of %s: %s", number, len(candidates), candidate.name)
        _load(run, candidate)
        measured.append(candidate.model_copy(update=validation.of_these_weights()))
    best = max(measured, key=lambda each: (getattr(each, by), -each.perplexity))
    return Delivery(
        keep="best",
        compared_by=by,
        delivered=best.name,
        candidates=measured,
        engine=validation.engine,
    )


def _load(run, candidate):
    checkpoints = dict(list_checkpoints(run.folder.checkpoints))
    paths = [checkpoints[update] for update in candidate.updates]
    average_checkpoints(run.model, paths, moving=candidate.is_average)


def _all_candidates(run):
    """Lists the last checkpoint, the means of the last ones, and the best ones by the monitor."""
    folder, training = run.folder, run.recipe.training
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    history = read_history(folder.history, max(checkpoints))
    row = checkpoints_in_a_row(checkpoints, history, _first_period(training, run.changes))
    candidates = [_candidate(run, row[-1:])]
    if run.recipe.optimizer.ema_momentum is not None:
        name = f"update {row[-1]:,}, without the moving average"
        candidates.append(Candidate(name=name, updates=row[-1:]))
    for count in range(2, min(training.average_checkpoints, len(row)) + 1):
        candidates.append(_candidate(run, row[-count:]))
    bests = best_updates(history, run.changes, training.monitor, checkpoints)
    return candidates + [_candidate(run, [best]) for best in bests if best != row[-1]]


def _candidate(run, updates):
    is_average = run.recipe.optimizer.ema_momentum is not None
    if len(updates) > 1:
        things = "moving averages" if is_average else "checkpoints"
        name = f"mean of {len(updates)} {things}, {updates[0]:,} to {updates[-1]:,}"
    else:
        name = f"{'moving average at update' if is_average else 'update'} {updates[-1]:,}"
    return Candidate(name=name, updates=updates, is_average=is_average)


def _first_period(training, changes):
    """Updates between checkpoints when the training began."""
    return value_at(changes, 1, "training.checkpoint_every", training.checkpoint_every)


def last_without_gap(folder, training, changes, count):
    """Lists the updates of the last `count` checkpoints, or of all of a shorter training.

    Checkpoints that an earlier, smaller `average_checkpoints` has deleted are not required.

    Args:
        folder: The `RunFolder`.
        training: The recipe's `TrainingSection`.
        changes: List of `Change`.
        count: Number of checkpoints.

    Returns:
        List of updates, oldest first.

    Raises:
        ValueError: If one of the checkpoints is missing.
    """
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    history = read_history(folder.history, max(checkpoints))
    expected = expected_updates(checkpoints, history, _first_period(training, changes))
    kept, name = len(expected), "training.average_checkpoints"
    for later, update in enumerate(reversed(expected)):  # the last `now` were kept at that time
        now = value_at(changes, update, name, training.average_checkpoints)
        kept = min(kept, later + now)
    updates = expected[-min(count, kept) :]
    missing = [str(update) for update in updates if update not in checkpoints]
    if missing:
        raise ValueError(
            f"{folder.checkpoints} lacks the checkpoint of update {', '.join(missing)}, which "
            f"belongs to the mean. Delete {REMEDY}"
        )
    return updates
