"""`aiayn-keras info`: sizes of models and the state of trainings; `plot`: trainings compared."""

import datetime
import math
from pathlib import Path

import click

from aiayn_keras_cli.options import (
    LocalPath,
    is_usable_unfinished,
    load_model,
    require_model_folder,
)
from aiayn_keras_cli.running import KerasCommand

_ROWS = 10
"""Number of the last checkpoints whose figures are printed."""
_FIGURES = {
    "loss": "loss",
    "val_loss": "val_loss",
    "val_perplexity": "perplexity",
    "val_bleu": "BLEU",
    "val_chrf": "chrF2",
    "val_figure": "monitor",
}


def _show_training(folder):
    """Prints the state of the training in a folder.

    Args:
        folder: Path of a training, finished or not.
    """
    from aiayn_keras.training import read_state
    from aiayn_keras.training.run_folder import format_domains

    state = read_state(folder)
    training = state.recipe.training
    click.echo(f"  {'training':<22}{_progress(state)}")
    if state.seconds_left is not None and not state.is_finished:
        left = datetime.timedelta(seconds=round(state.seconds_left))
        click.echo(f"  {'time left':<22}about {left} of training, at its last pace")
    if state.checkpoints:
        listed = ", ".join(f"{update:,}" for update in state.checkpoints)
        click.echo(f"  {'checkpoints':<22}{listed}")
    if state.best is not None:
        click.echo(f"  {f'best by {training.monitor} ':<22}update {state.best:,}")
    if state.history:
        click.echo(_table(state.history[-_ROWS:], state.best))
    if state.changes:
        click.echo("  changes")
        for change in state.changes:
            click.echo(f"    {change}")
    if state.delivery is not None:
        click.echo(str(state.delivery))
    if state.evaluation is not None and state.evaluation.domains:
        click.echo(format_domains(state.evaluation.domains))


def _progress(state):
    total = state.recipe.training.updates
    if state.is_finished:
        ended = "" if state.updates == total else f" of {total:,}, when patience ended"
        return f"finished after {state.updates:,} updates{ended}"
    share = state.updates / total
    return f"not finished: {state.updates:,} of {total:,} updates ({share:.0%}) are saved"


def _table(rows, best):
    """Lays out the figures of checkpoints; the best one has a star."""
    columns = [name for name in _FIGURES if any(name in row for row in rows)]
    lines = ["    updates" + "".join(f"{_FIGURES[name]:>12}" for name in columns)]
    for row in rows:
        figures = "".join(f"{row[name]:>12.4g}" if name in row else " " * 12 for name in columns)
        mark = "*" if row["updates"] == best else " "
        lines.append(f"{mark}{row['updates']:>10,}{figures}")
    return "\n".join(lines)


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
    model, the model it was fine-tuned from is named, too. The folder of a training, finished or
    not, shows its progress, time left, figures, checkpoints, changes, and what it delivered.

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
        _show_training(Path(preset))
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
        _show_training(Path(preset))


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


@click.command(cls=KerasCommand)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=LocalPath())
@click.option(
    "--output",
    type=LocalPath(dir_okay=False),
    default="trainings.png",
    show_default=True,
    help="PNG file to write.",
)
def plot(runs, output):
    """Compare trainings in one figure.

    Each RUN is the folder of a training, finished or not. The figure shows the loss, BLEU, chrF2,
    learning rate, gradient norm and tokens per second of its history over the updates.
    """
    from aiayn_keras.plotting import plot_trainings
    from aiayn_keras.training.run_folder import RunFolder, as_columns, read_history

    if output.suffix != ".png":
        raise click.UsageError(f"--output must end in .png. Received: {output}.")
    histories = {}
    for run in runs:
        folder = RunFolder(run)
        if not folder.history.is_file():
            raise FileNotFoundError(
                f"{run} has no {folder.history.name}: give the folder of a training that has "
                "reached its first checkpoint."
            )
        rows = read_history(folder.history, math.inf)
        if not rows:
            raise ValueError(f"{folder.history} is empty: the training has no checkpoint yet.")
        histories[str(run)] = as_columns(rows)
    plot_trainings(histories, output)
    click.echo(f"{output} shows {', '.join(histories)}.")
