"""The folder of a training: names of its files, and which checkpoints are in it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.files import WRITING, atomic_path, write_text


@dataclass(frozen=True)
class RunFolder:
    """Names of the files of a training; with the model's preset beside them, a model folder.

    Attributes:
        path: The folder.
    """

    path: Path

    recipe = property(lambda self: self.path / "recipe.yaml")
    tokenizer = property(lambda self: self.path / "tokenizer.spm")
    inputs = property(lambda self: self.path / "inputs.json")
    lock = property(lambda self: self.path / "training.lock")
    history = property(lambda self: self.path / "history.json")
    checkpoints = property(lambda self: self.path / "checkpoints")
    tensorboard = property(lambda self: self.path / "tensorboard")
    learning_curves = property(lambda self: self.path / "learning_curves.png")
    attention = property(lambda self: self.path / "attention.png")
    adapters = property(lambda self: self.path / "adapters.h5")
    evaluation = property(lambda self: self.path / "evaluation.json")

    def is_free(self):
        """Whether nothing is there but a lock and what a killed process left half written."""
        if not self.path.exists():
            return True
        return self.path.is_dir() and all(
            path == self.lock or path.name.startswith(WRITING) for path in self.path.iterdir()
        )

    def create(self, recipe, tokenizer, inputs):
        """Makes the folder with what a resumed training needs; deletes half-written leftovers.

        Args:
            recipe: The `Recipe`.
            tokenizer: The `TransformerTokenizer`.
            inputs: The `RunInputs`.

        Raises:
            OSError: If it cannot be written, or something else has a folder's name.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        for folder in (self.checkpoints, self.tensorboard):
            if os.path.lexists(folder) and not folder.is_dir():
                raise NotADirectoryError(f"{folder} is no folder: move it elsewhere.")
        write_text(self.recipe, recipe.to_yaml())
        inputs.write(self.inputs)
        self.checkpoints.mkdir(exist_ok=True)
        if recipe.model.initial is None:  # which has a tokenizer
            with atomic_path(self.tokenizer) as path:
                path.write_bytes(tokenizer.proto)
        for leftover in self.path.rglob(f"{WRITING}*"):
            shutil.rmtree(leftover)
