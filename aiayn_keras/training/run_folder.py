"""The folder of a training: what it leaves, and what it needs to go on."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml

from aiayn_keras.files import WRITING, atomic_path, write_text
from aiayn_keras.training.checkpoints import list_checkpoints
from aiayn_keras.training.validation_history import best_update


@dataclass(frozen=True)
class RunFolder:
    """Names of the files of a training; with the model's preset beside them, a model folder.

    Attributes:
        path: The folder.
    """

    path: Path

    recipe = property(lambda self: self.path / "recipe.yaml")
    tokenizer = property(lambda self: self.path / "tokenizer.spm")
    history = property(lambda self: self.path / "history.json")
    checkpoints = property(lambda self: self.path / "checkpoints")
    tensorboard = property(lambda self: self.path / "tensorboard")
    learning_curves = property(lambda self: self.path / "learning_curves.png")
    attention = property(lambda self: self.path / "attention.png")
    evaluation = property(lambda self: self.path / "evaluation.json")

    def is_unfinished(self, recipe):
        """Whether the folder holds a run of the same recipe to go on with; else it must be free.

        Returns:
            False if the folder does not exist or is empty.

        Raises:
            FileExistsError: If the folder holds anything else.
        """
        if not self.path.exists() or (self.path.is_dir() and self._is_empty()):
            return False
        if not self.recipe.is_file():
            raise FileExistsError(
                f"{self.path} exists and is not empty, and is no training: choose another folder."
            )
        if self.evaluation.is_file():
            raise FileExistsError(
                f"{self.path} holds a finished training: choose another folder, or delete it."
            )
        theirs = yaml.safe_load(self.recipe.read_text(encoding="utf-8"))
        differences = _differences(theirs, yaml.safe_load(recipe.to_yaml()))
        if differences:
            raise FileExistsError(
                f"{self.path} holds an unfinished training of another recipe, which differs in "
                f"{'; '.join(differences)}. Choose another folder, or train with {self.recipe}."
            )
        return True

    def _is_empty(self):
        """Whether there is nothing but what a killed process left half written."""
        return all(path.name.startswith(WRITING) for path in self.path.iterdir())

    def create(self, recipe, tokenizer):
        """Makes the folder, with what a resumed run needs; clears what a killed one half wrote."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.recipe, recipe.to_yaml())
        self.checkpoints.mkdir(exist_ok=True)
        with atomic_path(self.tokenizer) as path:
            path.write_bytes(tokenizer.proto)
        for leftover in self.path.rglob(f"{WRITING}*"):
            shutil.rmtree(leftover)

    def read_history(self, update):
        """The history up to an update, a list of dictionaries, one for a checkpoint."""
        if not self.history.is_file():
            return []
        history = json.loads(self.history.read_text(encoding="utf-8"))
        return [row for row in history if row["updates"] <= update]

    def last_checkpoints(self, count):
        """Paths of the last checkpoints, oldest first."""
        return [path for _, path in list_checkpoints(self.checkpoints)[-count:]]

    def chosen_checkpoints(self, training):
        """Paths of the checkpoints whose mean is the model, as a `TrainingSection` says."""
        if not training.keep_best:
            return self.last_checkpoints(training.average_checkpoints)
        checkpoints = dict(list_checkpoints(self.checkpoints))
        best = best_update(self.read_history(max(checkpoints)), training.monitor)
        return [checkpoints[best]]


def _differences(theirs, ours):
    """Texts `section.field (theirs, ours)` of two recipes as dictionaries."""
    fields = [
        (f"{section}.{field}", *(side.get(section, {}).get(field) for side in (theirs, ours)))
        for section in dict.fromkeys([*theirs, *ours])
        for field in dict.fromkeys([*theirs.get(section, {}), *ours.get(section, {})])
    ]
    return [f"`{name}` ({old} there, {new} here)" for name, old, new in fields if old != new]
