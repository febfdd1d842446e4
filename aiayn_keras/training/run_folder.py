"""The folder of a training: names of its files, its history and its evaluation.

`history.json` has a row of figures for each checkpoint and decides which one is the best;
`evaluation.json` is written last and marks the training as finished.
"""

import itertools
import json
import logging
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import Field, PositiveInt

from aiayn_keras.common.folder_lock import lock_files
from aiayn_keras.training.recipe_sections import MONITORS
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import WRITING, atomic_path, check_places, read_bytes, write_text

logger = logging.getLogger(__name__)

_MAX_HISTORY_BYTES = 1 << 26
"""Maximum size of a history: some 300,000 checkpoints."""
_MAX_EVALUATION_BYTES = 1 << 16
_FOLDERS = "checkpoints/", "stopped/", "tensorboard/train/", "tensorboard/validation/"
"""Folders inside that of a training to which files are added."""


@dataclass(frozen=True)
class RunFolder:
    """Paths of a training's files. Once the model is saved there, this is a model folder, too.

    Attributes:
        path: The folder.
    """

    path: Path

    recipe = property(lambda self: self.path / "recipe.yaml")
    tokenizer = property(lambda self: self.path / "tokenizer.spm")
    target_tokenizer = property(lambda self: self.path / "target_tokenizer.spm")
    inputs = property(lambda self: self.path / "inputs.json")
    bad_lines = property(lambda self: self.path / "bad_lines.jsonl")
    lock = property(lambda self: self.path / "training.lock")
    history = property(lambda self: self.path / "history.json")
    changes = property(lambda self: self.path / "changes.json")
    checkpoints = property(lambda self: self.path / "checkpoints")
    stopped = property(lambda self: self.path / "stopped")
    candidates = property(lambda self: self.path / "candidates.json")
    tensorboard = property(lambda self: self.path / "tensorboard")
    learning_curves = property(lambda self: self.path / "learning_curves.png")
    attention = property(lambda self: self.path / "attention.png")
    adapters = property(lambda self: self.path / "adapters.h5")
    evaluation = property(lambda self: self.path / "evaluation.json")

    def is_free(self):
        """Tells if it holds at most a lock and the half-written files of a killed process."""
        if not self.path.exists():
            return True
        return self.path.is_dir() and all(
            path in lock_files(self.lock) or path.name.startswith(WRITING)
            for path in self.path.iterdir()
        )

    def check_places(self):
        """Raises an `OSError` if a file or a link stands where a folder belongs."""
        check_places(self.path, _FOLDERS)

    def create(self, recipe, tokenizer, inputs):
        """Writes what a resumed training needs; deletes half-written files of killed processes.

        Args:
            recipe: The `Recipe`.
            tokenizer: The `TransformerTokenizer`.
            inputs: The `RunInputs`.

        Raises:
            OSError: If it cannot be written, or a file or a link stands where a folder belongs.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.check_places()
        write_text(self.recipe, recipe.to_yaml())
        inputs.write(self.inputs)
        self.checkpoints.mkdir(exist_ok=True)
        if recipe.model.initial is None:  # an initial model brings its own
            protos = {
                self.target_tokenizer: tokenizer.target_proto,
                self.tokenizer: tokenizer.proto,
            }
            for file, proto in protos.items():
                if proto is not None:
                    with atomic_path(file) as path:
                        path.write_bytes(proto)
        for leftover in self.path.rglob(f"{WRITING}*"):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover)


class _HistoryRow(pydantic.BaseModel):
    """The figures of one checkpoint in `history.json`.

    Attributes:
        updates: Number of updates done.
        learning_rate: Learning rate of the next update.
        loss: Mean training loss since the previous checkpoint, in nats per token.
        val_loss: Loss on the validation text, in nats per token.
        val_perplexity: Perplexity per wordpiece on the validation text.
        val_bleu: BLEU on the validation text, 0 to 100, if it was measured.
        val_chrf: chrF2 on the validation text, 0 to 100, if it was measured.
        val_figure: Figure of a `training.monitor` of your own, if it was measured.
        tokens_per_second: Real target tokens trained on in a second since the previous checkpoint.
        gradient_norm: Norm of the gradient, the root mean square over about the last 50 updates.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    updates: PositiveInt
    learning_rate: float
    loss: float
    val_loss: float
    val_perplexity: float = Field(allow_inf_nan=True)  # the exponential of a finite loss
    val_bleu: float | None = None
    val_chrf: float | None = None
    val_figure: float | None = None
    tokens_per_second: float | None = None
    gradient_norm: float | None = Field(default=None, allow_inf_nan=True)  # squares may overflow


_ROWS = pydantic.TypeAdapter(list[_HistoryRow])


def write_history(path, history):
    """Writes a history: a list of dictionaries, one for each checkpoint, oldest first."""
    write_text(path, json.dumps(history, indent=1))


def read_history(path, update):
    """Reads the history up to an update.

    Args:
        path: `RunFolder.history`.
        update: The last update to include.

    Returns:
        List of dictionaries, one for each checkpoint, oldest first; empty if there is no file.

    Raises:
        ValueError: If the file is not what `write_history` wrote.
        OSError: If it cannot be read.
    """
    if not os.path.lexists(path):
        return []
    try:
        rows = _ROWS.validate_json(read_bytes(path, _MAX_HISTORY_BYTES))
    except pydantic.ValidationError as error:
        problem = error.errors()[0]
        where = " ".join(str(part) for part in ("at", *problem["loc"])) if problem["loc"] else ""
        raise ValueError(f"{path} is damaged: {problem['msg']} {where}".rstrip() + ".") from None
    if any(row.updates >= later.updates for row, later in itertools.pairwise(rows)):
        raise ValueError(f"{path} is damaged: its updates are not in ascending order.")
    return [row.model_dump(exclude_none=True) for row in rows if row.updates <= update]


def set_aside_damaged_history(path):
    """Renames a damaged history, with a warning."""
    try:
        read_history(path, 0)
    except (ValueError, OSError) as error:
        aside = path.with_name(f"damaged-{path.name}")
        path.rename(aside)
        logger.warning("%s It is renamed to %s, and its figures are not used.", error, aside.name)


def as_columns(history):
    """Turns a history into a dictionary of lists, with NaN where a value was not measured."""
    keys = dict.fromkeys(key for row in history for key in row)
    return {key: [row.get(key, math.nan) for row in history] for key in keys}


def column_of(monitor):
    """Names the figure of a history that belongs to a recipe's `training.monitor`."""
    return f"val_{monitor}" if monitor in MONITORS else "val_figure"


def best_update(history, monitor, among=None):
    """Finds the update with the lowest validation loss, or the highest of a different figure.

    Args:
        history: List of dictionaries, one for each checkpoint, oldest first.
        monitor: The recipe's `training.monitor`.
        among: Updates to choose from, for instance those whose checkpoints exist; defaults to all.

    Returns:
        The update, the earliest among equals; `None` if nothing was measured.
    """
    name, sign = column_of(monitor), 1 if monitor == "loss" else -1
    rows = [row for row in history if name in row and (among is None or row["updates"] in among)]
    return min(rows, key=lambda row: sign * row[name])["updates"] if rows else None


def is_out_of_patience(history, monitor, patience):
    """Tells if none of the last `patience` measurements was better than the best one before them.

    Args:
        history: List of dictionaries, one for each checkpoint, oldest first.
        monitor: The recipe's `training.monitor`.
        patience: Number of measurements; `None` for endless patience.
    """
    best = best_update(history, monitor)
    if patience is None or best is None:
        return False
    later = [row for row in history if column_of(monitor) in row and row["updates"] > best]
    return len(later) >= patience


_Text = Annotated[str, Field(max_length=500)]
_Score = Annotated[float, Field(ge=0.0, le=100.1, allow_inf_nan=False)]


class DomainFigures(pydantic.BaseModel):
    """Scores of a fine-tuning on one text: those of the initial model and of the result.

    Attributes:
        text: Name of the text.
        sentences: Number of its sentences.
        bleu_before: BLEU of the initial model, 0 to 100.
        bleu_after: BLEU of the result.
        chrf_before: chrF2 of the initial model, 0 to 100.
        chrf_after: chrF2 of the result.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    text: _Text
    sentences: Annotated[int, Field(ge=1)]
    bleu_before: _Score
    bleu_after: _Score
    chrf_before: _Score
    chrf_after: _Score


def format_domains(domains):
    """Formats a list of `DomainFigures` as a table, a line each."""
    title = "what fine-tuning changed"
    names = [f"{each.text} ({each.sentences:,})" for each in domains]
    width = max(map(len, [title, *names]))
    lines = [f"{title:<{width}}{'BLEU before':>14}{'after':>8}{'chrF2 before':>15}{'after':>8}"]
    for name, each in zip(names, domains, strict=True):
        lines.append(
            f"{name:<{width}}{each.bleu_before:>14.2f}{each.bleu_after:>8.2f}"
            f"{each.chrf_before:>15.2f}{each.chrf_after:>8.2f}"
        )
    return "\n".join(lines)


class Evaluation(pydantic.BaseModel):
    """The content of `evaluation.json`, which a training writes when it is finished.

    Attributes:
        test: Name of the test text.
        sentences: Number of its sentences.
        bleu: BLEU, 0 to 100.
        details: N-gram precisions, brevity penalty and lengths, as sacreBLEU prints them.
        signature: sacreBLEU's signature.
        chrf: chrF2, 0 to 100, if it was measured.
        chrf_signature: sacreBLEU's signature of chrF2.
        domains: After a fine-tuning, a `DomainFigures` for the test text, and one for the test text
            of `corpus.mix`.
        engine: Name of the engine that translated the test text, such as `"keras"`; older files
            lack it.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    test: _Text
    sentences: Annotated[int, Field(ge=1)]
    bleu: _Score
    details: _Text
    signature: _Text
    chrf: _Score | None = None
    chrf_signature: _Text | None = None
    domains: Annotated[list[DomainFigures], Field(max_length=2)] | None = None
    engine: _Text | None = None

    def write(self, path):
        """Writes the file, whole or not at all."""
        write_text(path, self.model_dump_json(indent=1, exclude_none=True))

    def __str__(self):
        chrf = "" if self.chrf is None else f"; chrF2 {self.chrf:.2f} ({self.chrf_signature})"
        test = f"{self.sentences} sentences of {self.test}"
        return f"{self.bleu:.2f} on {test} ({self.signature}){chrf}"


def read_evaluation(path):
    """Reads an `Evaluation` from a file.

    Raises:
        OSError: If the file is missing or not a regular file.
        ValueError: If it is not what a training writes; the message names the field.
    """
    remedy = "It is not the result of a training."
    return parse(Evaluation, read_bytes(path, _MAX_EVALUATION_BYTES), path, remedy)
