"""`aiayn-keras score`."""

from pathlib import Path

import click

from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.search_arguments import BATCH_SIZE
from aiayn_keras.cli.standard_output import check_standard_output


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@click.option(
    "--source", type=click.Path(path_type=Path), required=True, help="File of texts, one a line."
)
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    required=True,
    help="File of their translations, line by line.",
)
@click.option(
    "--per-token",
    is_flag=True,
    help="Print the log-probability of every wordpiece, that of the end token last.",
)
@BATCH_SIZE
def score(model_folder, source, target, per_token, batch_size):
    """Print log-probabilities of given translations.

    They are those of the model in DIR, in nats, one a line.
    """
    from aiayn_keras.data import read_parallel
    from aiayn_keras.models import TextTooLongError

    check_standard_output()
    pairs = read_parallel(source, target)
    model = load_model(model_folder)
    try:
        scores = model.score(
            list(pairs.sources), list(pairs.targets), per_token=True, batch_size=batch_size
        )
    except TextTooLongError as error:
        name = source if error.argument == "sources" else target
        raise ValueError(f"{name}, line {error.index + 1}: {error.reason}") from error
    for log_probs in scores:
        numbers = log_probs if per_token else [log_probs.sum()]
        click.echo(" ".join(f"{number:.4f}" for number in numbers))
