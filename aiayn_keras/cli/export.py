"""`aiayn-keras export`."""

from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model

FORMAT_OF_OPTION = {
    "version": "saved_model",
    "num_beams": "saved_model",
    "length_penalty": "saved_model",
    "quantization": "ctranslate2",
}


@click.command()
@MODEL_FOLDER
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["saved_model", "ctranslate2"]),
    default="saved_model",
    show_default=True,
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for NAME/VERSION (saved_model) or NAME (ctranslate2).",
)
@click.option("--name", help="Name to serve the model by. Default: the name of DIR.")
@click.option(
    "--version",
    type=click.IntRange(min=1),
    help="saved_model: one more than the greatest there is if not given.",
)
@click.option("--num-beams", type=click.IntRange(min=1), help="saved_model: 4 if not given.")
@click.option(
    "--length-penalty", type=click.FloatRange(min=0), help="saved_model: 0.6 if not given."
)
@click.option(
    "--quantization",
    help="ctranslate2: how weights are stored, such as int8; float32 if not given.",
)
def export(model_folder, file_format, output, name, **format_options):
    """Write the model in DIR for serving: a SavedModel, text in, text out, or for CTranslate2."""
    options = {option: value for option, value in format_options.items() if value is not None}
    for option in options:
        if FORMAT_OF_OPTION[option] != file_format:
            raise click.UsageError(
                f"--{option.replace('_', '-')} is an option of --format "
                f"{FORMAT_OF_OPTION[option]}, not of {file_format}."
            )
    model = load_model(model_folder)
    path = model.export(
        output / (name or model_folder.resolve().name), format=file_format, **options
    )
    click.echo(path)
