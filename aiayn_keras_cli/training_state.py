"""The state of a training as `aiayn-keras info` prints it: progress, figures, changes, result."""

import datetime

import click

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


def show_training(folder):
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
        click.echo(f"  {f'best by {training.monitor}':<22}update {state.best:,}")
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
