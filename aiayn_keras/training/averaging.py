"""The mean of the last checkpoints (paper 6.1)."""

import shutil
from pathlib import Path

import keras

from aiayn_keras.files import check_is_new, new_folder
from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer, text_preprocessor
from aiayn_keras.training.checkpoints import list_checkpoints, load_checkpoint
from aiayn_keras.training.history import best_update, read_history
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.run_folder import RunFolder


def average_checkpoints(model, paths):
    """Sets the model's trainable weights to the mean over checkpoints.

    Where the optimizer keeps an EMA of the weights, the mean is over the EMAs.

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
        model.optimizer.finalize_variable_values(model.trainable_variables)
        # In float64, so that the order of the sum does not matter.
        values = [
            keras.ops.convert_to_numpy(variable).astype("float64")
            for variable in model.trainable_variables
        ]
        sums = values if sums is None else [a + b for a, b in zip(sums, values, strict=True)]
    for variable, total in zip(model.trainable_variables, sums, strict=True):
        variable.assign((total / len(paths)).astype(variable.dtype))


def chosen_checkpoints(folder, training):
    """Paths of a `RunFolder`'s checkpoints whose mean is the model, by a `TrainingSection`."""
    if not training.keep_best:
        return folder.last_checkpoints(training.average_checkpoints)
    checkpoints = dict(list_checkpoints(folder.checkpoints))
    history = read_history(folder.history, max(checkpoints))
    return [checkpoints[best_update(history, training.monitor)]]


def write_average(run, output, last=None):
    """Writes the mean of a training's last checkpoints as a model folder.

    Args:
        run: Folder of a training, finished or not.
        output: Folder to make; it must not exist.
        last: Number of checkpoints; defaults to the recipe's `average_checkpoints`.

    Returns:
        List of the checkpoints' paths, oldest first.

    Raises:
        FileNotFoundError: If `run` is no training.
        FileExistsError: If `output` exists.
        ValueError: If there are fewer checkpoints.
    """
    folder, output = RunFolder(Path(run)), Path(output)
    if not (folder.recipe.is_file() and folder.tokenizer.is_file()):
        raise FileNotFoundError(f"{run} is no training: it has no recipe or no tokenizer.")
    check_is_new(output)
    recipe = load_recipe(folder.recipe)
    last = recipe.training.average_checkpoints if last is None else last
    paths = folder.last_checkpoints(last)
    if len(paths) < last:
        raise ValueError(f"{run} has {len(paths)} checkpoints, fewer than {last}.")
    tokenizer = TransformerTokenizer(proto=folder.tokenizer.read_bytes())
    model = recipe.build_model(tokenizer.vocabulary_size())
    average_checkpoints(model, paths)
    translator = TransformerSeq2SeqLM(model.backbone, text_preprocessor(tokenizer, model.backbone))
    with new_folder(output) as written:
        translator.save_to_preset(str(written))
        for file in (folder.recipe, folder.history):
            shutil.copy(file, written)
    return paths
