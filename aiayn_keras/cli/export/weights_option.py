"""The option `--weights`, as every format takes it that keeps a float32 model's matrices."""

import click

from aiayn_keras.weight_files import NUMBER_FORMATS


def weights_option(default):
    """Makes the option with a default, a key of `NUMBER_FORMATS`."""
    return click.option(
        "--weights",
        type=click.Choice(NUMBER_FORMATS),
        default=default,
        show_default=True,
        help="Number format of a float32 model's matrices in the files; float16 halves them.",
    )
