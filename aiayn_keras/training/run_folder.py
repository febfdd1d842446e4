"""The folder of a training: what it leaves, and what it needs to go on."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.training.checkpoints import list_checkpoints
from aiayn_keras.training.files import atomic_path, write_text


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
        if not self.path.exists() or (self.path.is_dir() and not any(self.path.iterdir())):
            return False
        if not self.recipe.is_file():
            raise FileExistsError(
                f"{self.path} exists and is not empty, and is no training: choose another folder."
            )
        if self.evaluation.is_file():
            raise FileExistsError(
                f"{self.path} holds a finished training: choose another folder, or delete it."
            )
        if self.recipe.read_text(encoding="utf-8") != recipe.to_yaml():
            raise FileExistsError(
                f"{self.path} holds an unfinished training of another recipe: choose another "
                f"folder, or train with {self.recipe}."
            )
        return True

    def create(self, recipe, tokenizer):
        """Makes the folder, with what a resumed run needs; clears what a killed one half wrote."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.recipe, recipe.to_yaml())
        self.checkpoints.mkdir(exist_ok=True)
        with atomic_path(self.tokenizer) as path:
            path.write_bytes(tokenizer.proto)
        for leftover in self.path.rglob(".writing-*"):
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
