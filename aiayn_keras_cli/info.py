"""`aiayn-keras info`: sizes of presets and model folders, and the state of trainings."""

import math
from pathlib import Path

import click

from aiayn_keras_cli.options import is_usable_unfinished, load_model, require_model_folder
from aiayn_keras_cli.running import KerasCommand
from aiayn_keras_cli.training_state import show_training


@click.command(cls=KerasCommand)
@click.argument("preset", required=False)
@click.option("--all", "list_all", is_flag=True, help="List all presets.")
@click.option(
    "--vocabulary-size",
    type=click.IntRange(min=5, max=1_000_000_000),
    default=37_000,
    show_default=True,
    help="Number of tokens in the vocabulary of a preset's model.",
)
def info(preset, list_all, vocabulary_size):
    """Describe a preset, a model folder or a training.

    PRESET is the name of a preset, such as transformer_base, or a model folder; for a fine-tuned
    model, the model it was fine-tuned from is named, too. For the folder of a training, finished or
    not: its progress, time left, figures, checkpoints, changes, and what it delivered.

    With --all, list the presets: every row of the paper's Table 3 in the paper's symbols, with its
    number of trainable parameters.
    """
    from aiayn_keras.models import TRANSFORMER_PRESETS

    if list_all:
        if preset is not None:
            raise click.UsageError("Give either a preset or --all.")
        _list_presets(vocabulary_size)
        return
    if preset is None:
        raise click.UsageError("Give a preset, a model folder, or --all.")
    if preset in TRANSFORMER_PRESETS:
        backbone = _without_weights(preset, vocabulary_size)
        click.echo(TRANSFORMER_PRESETS[preset]["description"])
    elif is_usable_unfinished(Path(preset)):
        show_training(Path(preset))
        return
    elif Path(preset).exists():
        require_model_folder(Path(preset))
        backbone = load_model(Path(preset)).backbone
    else:
        raise ValueError(
            f"{preset!r} is neither a preset nor a folder. "
            f"Presets are: {', '.join(TRANSFORMER_PRESETS)}."
        )
    hidden = "name", "trainable", "dtype"
    sizes = {name: value for name, value in backbone.get_config().items() if name not in hidden}
    lines = {name: value for name, value in sizes.items() if value is not None}
    lines["parameters"] = f"{_count_trainable(backbone):,}"
    if preset not in TRANSFORMER_PRESETS:
        lines |= _origin(Path(preset))
    for name, value in lines.items():
        click.echo(f"  {name:<22}{value}")
    if preset not in TRANSFORMER_PRESETS and (Path(preset) / "checkpoints").is_dir():
        show_training(Path(preset))


def _origin(folder):
    """Describes the model that a folder's model was fine-tuned from; empty if it was not."""
    from aiayn_keras.training import RunFolder, load_recipe
    from aiayn_keras.training.resume import read_inputs

    run = RunFolder(folder)
    section = load_recipe(run.recipe).model if run.recipe.exists() else None
    if section is None or section.initial is None:
        return {}
    lines, inputs = {"fine-tuned from": section.initial}, read_inputs(run)
    if inputs is not None:
        lines["sha256 of its weights"] = inputs.initial
    if section.lora_rank is not None:
        lines["lora_rank"] = f"{section.lora_rank}; the adapters are merged"
    return lines


def _list_presets(vocabulary_size):
    from aiayn_keras.models import TRANSFORMER_PRESETS
    from aiayn_keras.models.architecture import depths_of

    columns = "{:<30} {:>3} {:>5} {:>5} {:>3} {:>4} {:>4} {:>6} {:>5} {:>12}"
    header = columns.format(
        "preset", "N", "d", "d_ff", "h", "d_k", "d_v", "P_drop", "ε_ls", "parameters"
    )
    click.echo(header)
    click.echo("-" * len(header))
    for name, preset in TRANSFORMER_PRESETS.items():
        backbone = _without_weights(name, vocabulary_size)
        click.echo(
            columns.format(
                name,
                backbone.num_layers or "+".join(map(str, depths_of(backbone.get_config()))),
                backbone.hidden_dim,
                backbone.intermediate_dim,
                backbone.num_heads,
                backbone.key_dim,
                backbone.value_dim,
                backbone.dropout,
                preset["label_smoothing"],
                f"{_count_trainable(backbone):,}",
            )
        )
    click.echo(
        f"V = {vocabulary_size:,}; both embeddings and the output share one matrix, "
        "attention has no biases."
    )


def _without_weights(preset, vocabulary_size):
    """Makes a backbone whose variables have shapes but take no memory."""
    import keras

    from aiayn_keras.models import TransformerBackbone

    with keras.StatelessScope(initialize_variables=False):
        return TransformerBackbone.from_preset(
            preset, load_weights=False, vocabulary_size=vocabulary_size
        )


def _count_trainable(backbone):
    return sum(math.prod(variable.shape) for variable in backbone.trainable_variables)
