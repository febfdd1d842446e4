"""The model folder that most commands are given."""

from pathlib import Path

import click

MODEL_FOLDER = click.argument("model_folder", metavar="DIR", type=click.Path(path_type=Path))


def load_model(folder, num_batches=1):
    """The model in a folder, to translate so many batches; or an error if there is none."""
    from aiayn_keras.backend import use_one_core_per_batch
    from aiayn_keras.models import TransformerSeq2SeqLM

    if not (folder / "task.json").is_file():
        if not folder.exists():
            reason = "it does not exist"
        elif (folder / "checkpoints").is_dir():
            reason = "its training is not finished: go on with `aiayn-keras train`"
        else:
            reason = "it has no task.json; `aiayn-keras train` makes model folders"
        raise FileNotFoundError(f"{folder} is no model folder: {reason}.")
    if num_batches > 1:
        use_one_core_per_batch()
    return TransformerSeq2SeqLM.from_preset(str(folder))
