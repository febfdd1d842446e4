"""`aiayn-keras export saved-model`."""

from pathlib import Path

import click

from aiayn_keras.cli.export.destination import NAME, OUTPUT, destination
from aiayn_keras.cli.export.weights_option import weights_option
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.license import license_or_warning
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.search_arguments import search_options
from aiayn_keras.decoding.search_options import MAX_TOKENS


@click.command("saved-model", cls=KerasCommand)
@MODEL_FOLDER
@OUTPUT
@NAME
@click.option(
    "--version",
    type=click.IntRange(min=1, max=2**62),
    help="Number of the version. Default: one more than the greatest in NAME.",
)
@click.option(
    "--n-best",
    type=click.IntRange(min=1, max=1000),
    help="Number of hypotheses of translate_nbest. Default: the number of beams.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16"]),
    help="Number format of weights and arithmetic. Default: the model's.",
)
@weights_option("float32")
@click.option(
    "--max-input-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Greatest number of wordpieces of a text. Default: the model's limit.",
)
@click.option(
    "--long-text",
    type=click.Choice(["truncate", "error"]),
    default="truncate",
    show_default=True,
    help="Cut longer text, or refuse the request.",
)
@click.option(
    "--documents",
    is_flag=True,
    help="Add the signature translate_document, for texts of any length.",
)
@click.option(
    "--warmup",
    type=click.Path(path_type=Path),
    help="File of texts, one a line, to warm the server up with.",
)
@click.option(
    "--limits",
    default="not stated",
    show_default=True,
    help="For the model card: limits of the model.",
)
@click.option(
    "--license",
    help="For the model card: license of the model. Default: that in DIR's README.",
)
@search_options("num_return_sequences")
def saved_model(model_folder, output, name, n_best, warmup, limits, license, **options):
    """Write a SavedModel for TensorFlow Serving.

    The SavedModel of the model in DIR takes text and returns text. It is NAME/VERSION; beside
    the versions are a model card and the configuration of the server.
    """
    from aiayn_keras.data import read_lines
    from aiayn_keras.export import export_saved_model

    folder = destination(model_folder, output, name)
    warmup_texts = [] if warmup is None else read_lines(warmup)
    card = {**_facts_of_training(model_folder), "limits": limits}
    names = license or license_or_warning(model_folder) or "not stated"
    card["license"] = names if isinstance(names, str) else ", ".join(names)
    path = export_saved_model(
        load_model(model_folder),
        folder,
        num_return_sequences=n_best,
        warmup_texts=warmup_texts,
        card=card,
        **options,
    )
    click.echo(path)


def _facts_of_training(model_folder):
    """Facts for the model card from the files that a training leaves, if it has left them."""
    from aiayn_keras.training import load_recipe, read_evaluation

    facts = {}
    recipe, evaluation = model_folder / "recipe.yaml", model_folder / "evaluation.json"
    if recipe.exists():
        corpus = load_recipe(recipe).corpus.model_dump(mode="json", exclude_none=True)
        facts["data"] = ", ".join(f"{key} {value}" for key, value in corpus.items())
    if evaluation.exists():
        facts["BLEU"] = str(read_evaluation(evaluation))
    return facts
