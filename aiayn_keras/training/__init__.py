"""Training from a recipe, and measuring the result (paper 5 and 6)."""

from aiayn_keras.backend import DevicesError
from aiayn_keras.common.folder_lock import FolderInUseError
from aiayn_keras.training.adapters import merge_adapters
from aiayn_keras.training.averaging import average_checkpoints, write_average
from aiayn_keras.training.checkpoints import (
    DamagedCheckpointError,
    list_checkpoints,
    load_checkpoint,
    load_last_checkpoint,
    save_checkpoint,
)
from aiayn_keras.training.recipe import Recipe, RecipeError, load_recipe, recipe_names
from aiayn_keras.training.run_folder import Evaluation, RunFolder, read_evaluation
from aiayn_keras.training.trainer import TrainingResult, train
from aiayn_keras.training.training_state import load_from_checkpoint, read_state
from aiayn_keras.training.translation_scores import (
    BleuScore,
    ChrfScore,
    TerScore,
    corpus_bleu,
    corpus_chrf,
    corpus_ter,
    evaluate_bleu,
)

__all__ = [
    "BleuScore",
    "ChrfScore",
    "DamagedCheckpointError",
    "DevicesError",
    "Evaluation",
    "FolderInUseError",
    "Recipe",
    "RecipeError",
    "RunFolder",
    "TerScore",
    "TrainingResult",
    "average_checkpoints",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "evaluate_bleu",
    "list_checkpoints",
    "load_checkpoint",
    "load_from_checkpoint",
    "load_last_checkpoint",
    "load_recipe",
    "merge_adapters",
    "read_evaluation",
    "read_state",
    "recipe_names",
    "save_checkpoint",
    "train",
    "write_average",
]
