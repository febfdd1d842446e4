"""`aiayn-keras export preset`."""

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.export.weights_option import weights_option
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model

NOTES = ("README.md", "recipe.yaml", "inputs.json", "evaluation.json", "history.json")
"""Files that go with a model."""
MAX_NOTE_BYTES = 1 << 26


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@weights_option("float16")
def preset(model_folder, output, name, weights):
    """Write a model folder to pass on.

    It holds the model in DIR without checkpoints and logs: a KerasHub preset, as Keras reads it.
    """
    from aiayn_keras.common.files import check_is_new, new_folder, read_bytes

    folder = destination(model_folder, output, name)
    check_is_new(folder)
    notes = [note for note in NOTES if (model_folder / note).exists()]
    contents = [read_bytes(model_folder / note, MAX_NOTE_BYTES) for note in notes]
    model = load_model(model_folder)
    with new_folder(folder) as written:
        model.save_to_preset(str(written), weights=weights)
        for note, content in zip(notes, contents, strict=True):
            (written / note).write_bytes(content)
    click.echo(folder)
