"""The option `--weights`, as every format takes it that keeps a float32 model's matrices."""

import click


def weights_option(default):
    """Makes the option with a default, one of `weight_files.NUMBER_FORMATS`."""
    return click.option(
        "--weights",
        type=click.Choice(["float32", "float16"]),
        default=default,
        show_default=True,
        help="Number format of a float32 model's matrices in the files; float16 halves them.",
    )
