"""The mean of the last checkpoints (paper 6.1)."""

from pathlib import Path

import keras

from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.training.checkpoints import load_checkpoint
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.run_folder import RunFolder


def average_checkpoints(model, paths):
    """Sets the model's trainable weights to the mean over checkpoints.

    Args:
        model: The model that the checkpoints are of.
        paths: Checkpoint files, at least one.

    Raises:
        ValueError: If there is no path.
    """
    if not paths:
        raise ValueError("`paths` must name at least one checkpoint. Received none.")
    sums = None
    for path in paths:
        load_checkpoint(model, path)
        # In float64, so that the order of the sum does not matter.
        values = [
            keras.ops.convert_to_numpy(variable).astype("float64")
            for variable in model.trainable_variables
        ]
        sums = values if sums is None else [a + b for a, b in zip(sums, values, strict=True)]
    for variable, total in zip(model.trainable_variables, sums, strict=True):
        variable.assign((total / len(paths)).astype(variable.dtype))


def write_average(run, last, output):
    """Writes the mean of a training's last checkpoints as a model folder.

    Args:
        run: Folder of a training, finished or not.
        last: Number of checkpoints.
        output: Folder to fill; it must be empty or not exist.

    Returns:
        List of the checkpoints' paths, oldest first.

    Raises:
        FileNotFoundError: If `run` is no training.
        FileExistsError: If `output` is not empty.
        ValueError: If there are fewer checkpoints.
    """
    folder, output = RunFolder(Path(run)), Path(output)
    if not (folder.recipe.is_file() and folder.tokenizer.is_file()):
        raise FileNotFoundError(f"{run} is no training: it has no recipe or no tokenizer.")
    if output.exists() and any(output.iterdir()):
        raise FileExistsError(f"{output} exists and is not empty: choose another folder.")
    paths = folder.last_checkpoints(last)
    if len(paths) < last:
        raise ValueError(f"{run} has {len(paths)} checkpoints, fewer than {last}.")
    recipe = load_recipe(folder.recipe)
    tokenizer = TransformerTokenizer(proto=folder.tokenizer.read_bytes())
    model = recipe.build_model(tokenizer.vocabulary_size())
    average_checkpoints(model, paths)
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer)
    TransformerSeq2SeqLM(model.backbone, preprocessor).save_to_preset(str(output))
    return paths
