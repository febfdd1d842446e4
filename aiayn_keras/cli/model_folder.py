"""The model folder that most commands are given."""

from pathlib import Path

import click


def check_model_folder(folder):
    """Raises a `FileNotFoundError` with the reason if a `pathlib.Path` is no model folder."""
    if not folder.exists():
        reason = "it does not exist"
    elif (folder / "checkpoints").is_dir() and not (folder / "evaluation.json").is_file():
        reason = "its training is not finished: go on with `aiayn-keras train`"
    elif not (folder / "task.json").is_file():
        reason = "it has no task.json; `aiayn-keras train` and `convert` make model folders"
    else:
        return
    raise FileNotFoundError(f"{folder} is no model folder: {reason}.")


class _ModelFolderType(click.Path):
    """A path that must be a model folder."""

    def convert(self, value, param, ctx):
        folder = super().convert(value, param, ctx)
        check_model_folder(folder)
        return folder


MODEL_FOLDER_TYPE = _ModelFolderType(path_type=Path)
MODEL_FOLDER = click.argument("model_folder", metavar="DIR", type=MODEL_FOLDER_TYPE)


def load_model(folder, many_batches=False):
    """Loads the model of a folder.

    Args:
        folder: Path of a model folder.
        many_batches: Whether it is going to translate more than one batch; each then gets a core.

    Returns:
        A `TransformerSeq2SeqLM`.
    """
    from aiayn_keras.backend import use_one_core_per_batch
    from aiayn_keras.models import TransformerSeq2SeqLM

    if many_batches:
        use_one_core_per_batch()
    return TransformerSeq2SeqLM.from_preset(str(folder))
