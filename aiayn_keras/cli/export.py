"""`aiayn-keras export`."""

import json
from pathlib import Path

import click
import yaml

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model

FORMAT_OF_OPTION = {
    "version": "saved_model",
    "num_beams": "saved_model",
    "length_penalty": "saved_model",
    "n_best": "saved_model",
    "max_length": "saved_model",
    "precision": "saved_model",
    "max_input_length": "saved_model",
    "long_text": "saved_model",
    "warmup": "saved_model",
    "limits": "saved_model",
    "license": "saved_model",
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
    "--n-best",
    type=click.IntRange(min=1),
    help="saved_model: hypotheses of translate_nbest; as many as beams if not given.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1),
    help="saved_model: most wordpieces of a translation; the source's plus 50 if not given.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16"]),
    help="saved_model: the model's if not given.",
)
@click.option(
    "--max-input-length",
    type=click.IntRange(min=1),
    help="saved_model: most wordpieces of a text; the model's limit if not given.",
)
@click.option(
    "--long-text",
    type=click.Choice(["truncate", "error"]),
    help="saved_model: what becomes of longer text; it is truncated if not given.",
)
@click.option(
    "--warmup",
    type=click.Path(path_type=Path),
    help="saved_model: file of lines to warm the server up with.",
)
@click.option("--limits", help="saved_model: what the model cannot do, for its card.")
@click.option("--license", help="saved_model: license of the model, for its card.")
@click.option(
    "--quantization",
    help="ctranslate2: how weights are stored, such as int8; float32 if not given.",
)
def export(model_folder, file_format, output, name, **format_options):
    """Write the model in DIR for TensorFlow Serving, text in, text out, or for CTranslate2."""
    options = {option: value for option, value in format_options.items() if value is not None}
    for option in options:
        if FORMAT_OF_OPTION[option] != file_format:
            raise click.UsageError(
                f"--{option.replace('_', '-')} is an option of --format "
                f"{FORMAT_OF_OPTION[option]}, not of {file_format}."
            )
    if file_format == "saved_model":
        options = _saved_model_options(model_folder, **options)
    model = load_model(model_folder)
    path = model.export(
        output / (name or model_folder.resolve().name), format=file_format, **options
    )
    click.echo(path)


def _saved_model_options(
    model_folder, n_best=None, warmup=None, limits="not stated", license="not stated", **options
):
    """Arguments of `export_saved_model`; the card says what the training left in the folder."""
    from aiayn_keras.data import read_lines

    card = {}
    recipe, evaluation = model_folder / "recipe.yaml", model_folder / "evaluation.json"
    if recipe.is_file():
        corpus = yaml.safe_load(recipe.read_text(encoding="utf-8"))["corpus"]
        card["data"] = ", ".join(f"{key} {value}" for key, value in corpus.items())
    if evaluation.is_file():
        result = json.loads(evaluation.read_text(encoding="utf-8"))
        card["BLEU"] = (
            f"{result['bleu']:.2f} on {result['sentences']} sentences of {result['test']} "
            f"(`{result['signature']}`)"
        )
    return {
        **options,
        "num_return_sequences": n_best,
        "warmup_texts": [] if warmup is None else read_lines(warmup),
        "card": {**card, "limits": limits, "license": license},
    }
