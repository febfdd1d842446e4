"""`aiayn-keras export`."""

from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model


@click.command()
@MODEL_FOLDER
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["saved_model"]),
    default="saved_model",
    show_default=True,
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for NAME/VERSION.",
)
@click.option("--name", help="Name to serve the model by. Default: the name of DIR.")
@click.option(
    "--version", type=click.IntRange(min=1), help="Default: one more than the greatest there is."
)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
def export(model_folder, file_format, output, name, version, num_beams, length_penalty):
    """Write the model in DIR for serving: text in, text out."""
    model = load_model(model_folder)
    path = model.export(
        output / (name or model_folder.resolve().name),
        format=file_format,
        version=version,
        num_beams=num_beams,
        length_penalty=length_penalty,
    )
    click.echo(path)
