"""The options of a search, as `translate` and `evaluate` take them."""

import click

_OPTIONS = (
    click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True),
    click.option(
        "--length-penalty",
        type=click.FloatRange(min=0),
        default=0.6,
        show_default=True,
        help="GNMT's α; 0 for none.",
    ),
    click.option(
        "--coverage-penalty",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="GNMT's β; 0 for none.",
    ),
    click.option(
        "--no-repeat-ngram-size",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Write no n-gram of so many wordpieces twice.",
    ),
    click.option("--min-length", type=click.IntRange(min=0), default=0, show_default=True),
    click.option(
        "--max-length", type=click.IntRange(min=0), help="Default: the source's length plus 50."
    ),
    click.option("--batch-size", type=click.IntRange(min=1), default=64, show_default=True),
)


def search_options(command):
    """Gives a command the arguments of `TransformerSeq2SeqLM.translate`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
