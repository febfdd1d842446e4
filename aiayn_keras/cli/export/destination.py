"""The folder that an export writes to, as every format takes it."""

from pathlib import Path

import click

OUTPUT = click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder in which the folder NAME is made.",
)
NAME = click.option("--name", help="Name of the exported model. Default: the name of DIR.")


def destination(model_folder, output, name):
    """The path `output/name`, by default with the name of the model folder.

    Raises:
        ValueError: For a name that is more than a name.
    """
    from aiayn_keras.export.serving_kit import check_name

    name = model_folder.resolve().name if name is None else name
    check_name(name)
    return output / name
