"""`aiayn-keras export`: one subcommand for each format."""

import shlex

import click

from aiayn_keras_cli.convert import license_or_warning
from aiayn_keras_cli.options import (
    MAX_TOKENS,
    MODEL_FOLDER,
    LocalPath,
    check_n_best,
    chosen_checkpoint,
    load_model,
    search_options,
)
from aiayn_keras_cli.running import KerasCommand

_NOTES = ("README.md", "recipe.yaml", "inputs.json", "evaluation.json", "history.json")
"""Files that a model is passed on with."""
_MAX_NOTE_BYTES = 1 << 26

_OUTPUT = click.option(
    "--output",
    type=LocalPath(file_okay=False),
    required=True,
    help="Folder in which to create the folder NAME.",
)
_NAME = click.option("--name", help="Name of the exported model. Default: the name of DIR.")


def _weights_option(default):
    """Makes the option `--weights` of a format that stores a float32 model's matrices."""
    return click.option(
        "--weights",
        type=click.Choice(["float32", "float16"]),
        default=default,
        show_default=True,
        help="Number format in which a float32 model's matrices are stored; float16 halves their "
        "size.",
    )


def _destination(model_folder, output, name):
    """Gives the path `output/name`; the default name is the model folder's.

    Raises:
        ValueError: For a name with other characters than a name has.
    """
    from aiayn_keras.export.server_files import check_name

    if name is not None:
        check_name(name)
        return output / name
    name = model_folder.resolve().name
    try:
        check_name(name)
    except ValueError as error:
        raise ValueError(f"{error} That is the name of the model's folder: give --name.") from None
    return output / name


def _new_destination(model_folder, output, name):
    """Gives the path `output/name` as `_destination`, unless something is there.

    Raises:
        FileExistsError: If something exists.
    """
    from aiayn_keras_light.files import check_is_new

    folder = _destination(model_folder, output, name)
    check_is_new(folder)
    return folder


@click.command("saved-model", cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@click.option(
    "--version",
    type=click.IntRange(min=1, max=2**62),
    help="Number of the version. Default: one more than the highest in NAME.",
)
@click.option(
    "--n-best",
    type=click.IntRange(min=1, max=1000),
    help="Number of hypotheses that translate_nbest returns. Default: the number of beams.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16"]),
    help="Number format of weights and arithmetic. Default: the model's.",
)
@_weights_option("float32")
@click.option(
    "--max-input-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Maximum number of wordpieces in a text. Default: the model's limit.",
)
@click.option(
    "--long-text",
    type=click.Choice(["truncate", "error"]),
    default="truncate",
    show_default=True,
    help="Truncate longer texts, or refuse the request.",
)
@click.option(
    "--documents",
    is_flag=True,
    help="Add the signature translate_document, for texts of any length.",
)
@click.option(
    "--warmup",
    type=LocalPath(),
    help="File of texts, one per line, with which the server warms up.",
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
    from aiayn_keras.export.serving_kit import read_labels

    if n_best is not None:
        check_n_best(n_best, options["num_beams"])
    folder = _destination(model_folder, output, name)
    warmup_texts = [] if warmup is None else read_lines(warmup)
    card = {**_facts_of_training(model_folder), "limits": limits}
    names = license or license_or_warning(model_folder) or "not stated"
    card["license"] = names if isinstance(names, str) else ", ".join(names)
    path = export_saved_model(
        load_model(model_folder),
        folder,
        num_return_sequences=n_best,
        warmup_texts=warmup_texts,
        measure_load=True,
        card=card,
        **options,
    )
    click.echo(path)
    if read_labels(path.parent)["canary"] != int(path.name):
        click.echo(
            "A server that runs the kit loads this version within a minute, and labels stay where "
            f"they are. Next: aiayn-keras release {shlex.quote(str(path.parent))} canary "
            f"{path.name} --url URL",
            err=True,
        )


def _facts_of_training(model_folder):
    """Reads facts for the model card from the files of a training, as far as there are any."""
    from aiayn_keras.training import load_recipe, read_evaluation

    facts = {}
    recipe, evaluation = model_folder / "recipe.yaml", model_folder / "evaluation.json"
    if recipe.exists():
        corpus = load_recipe(recipe).corpus.model_dump(mode="json", exclude_none=True)
        facts["data"] = _listed(corpus)
    if evaluation.exists() and chosen_checkpoint(model_folder) is None:
        facts["BLEU"] = str(read_evaluation(evaluation))
    return facts


def _listed(fields):
    listed = (
        f"{key} ({_listed(value)})" if isinstance(value, dict) else f"{key} {value}"
        for key, value in fields.items()
    )
    return ", ".join(listed)


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@_weights_option("float16")
def preset(model_folder, output, name, weights):
    """Write a model folder to pass on.

    It holds the model in DIR without checkpoints and logs: a KerasHub preset, which Keras reads.
    """
    from aiayn_keras_light.files import new_folder, read_bytes

    folder = _new_destination(model_folder, output, name)
    notes = [note for note in _NOTES if (model_folder / note).exists()]
    if "evaluation.json" in notes and chosen_checkpoint(model_folder) is not None:
        notes.remove("evaluation.json")  # of other weights
    contents = [read_bytes(model_folder / note, _MAX_NOTE_BYTES) for note in notes]
    model = load_model(model_folder)
    with new_folder(folder) as written:
        model.save_to_preset(str(written), weights=weights)
        for note, content in zip(notes, contents, strict=True):
            (written / note).write_bytes(content)
    click.echo(folder)


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@click.option(
    "--quantization",
    help="Number format in which weights are stored, such as int8 or float16. Default: float32.",
)
def ctranslate2(model_folder, output, name, quantization):
    """Write a folder for CTranslate2.

    The engine CTranslate2 can then run the model in DIR, on wordpieces.
    """
    from aiayn_keras.export import export_ctranslate2

    path = _new_destination(model_folder, output, name)
    click.echo(export_ctranslate2(load_model(model_folder), path, quantization))


@click.command("hf-marian", cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@click.option(
    "--license", help="License for the README, such as apache-2.0. Default: that in DIR's README."
)
def hf_marian(model_folder, output, name, license):
    """Write a folder for Hugging Face's transformers.

    MarianMTModel and MarianTokenizer can then load the model from that folder.
    """
    from aiayn_keras.export import export_hf_marian

    path = _new_destination(model_folder, output, name)
    card = license_or_warning(model_folder) if license is None else license
    click.echo(export_hf_marian(load_model(model_folder), path, card))


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@click.option(
    "--weights",
    type=click.Choice(["float32", "int8", "int8-weights"]),
    default="float32",
    show_default=True,
    help="Number format of matrices. int8 makes them a quarter as large and computes in integers; "
    "int8-weights makes only the files smaller, with translations closer to those of float32.",
)
@click.option(
    "--attention",
    is_flag=True,
    help="The graphs also return the attention weights of every layer and head.",
)
def onnx(model_folder, output, name, weights, attention):
    """Write a folder for ONNX Runtime and transformers.js.

    Encoder and decoder of the model in DIR become ONNX graphs, which run in Python and in
    browsers; the program that runs them does the search.
    """
    from aiayn_keras.export import export_onnx

    path = _new_destination(model_folder, output, name)
    click.echo(export_onnx(load_model(model_folder), path, weights, attention))


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@_weights_option("float32")
def openvino(model_folder, output, name, weights):
    """Write a folder for OpenVINO.

    Encoder and decoder of the model in DIR become OpenVINO graphs; the program that runs them
    does the search.
    """
    from aiayn_keras.export import export_openvino

    path = _new_destination(model_folder, output, name)
    click.echo(export_openvino(load_model(model_folder), path, weights))


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_OUTPUT
@_NAME
@click.option(
    "--max-input-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Maximum number of wordpieces in a text. Default: 64, or the model's limit.",
)
@click.option(
    "--max-length",
    type=click.IntRange(min=1, max=MAX_TOKENS),
    help="Maximum number of wordpieces in a translation. Default: 50 more than --max-input-length.",
)
@click.option(
    "--weights",
    type=click.Choice(["float32", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="Number format of matrices in the file; with int8 the engine computes in integers.",
)
def litert(model_folder, output, name, **options):
    """Write a folder for LiteRT.

    LiteRT (formerly TensorFlow Lite) can then run the model in DIR on phones and small computers,
    one text at a time. The folder's README shows how.
    """
    from aiayn_keras.export import export_litert

    path = _new_destination(model_folder, output, name)
    click.echo(export_litert(load_model(model_folder), path, **options))


@click.group(commands=(saved_model, preset, ctranslate2, hf_marian, onnx, openvino, litert))
def export():
    """Write a model for use without this package."""
