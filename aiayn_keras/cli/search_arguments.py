"""The options of a search as options of a command, made from `SearchOptions`."""

import dataclasses

import click

from aiayn_keras.decoding.search_options import SearchOptions

BATCH_SIZE = click.option(
    "--batch-size",
    type=click.IntRange(min=1, max=1 << 20),
    default=64,
    show_default=True,
    help="Number of lines computed together.",
)
FLAGS = {"num_return_sequences": "--n-best"}


def search_options(*left_out):
    """Gives a command the fields of `SearchOptions` as its options, but for those named."""

    def decorate(command):
        for field in reversed(dataclasses.fields(SearchOptions)):
            if field.name not in left_out:
                command = _as_option(field)(command)
        return command

    return decorate


def _as_option(field):
    flag = FLAGS.get(field.name, "--" + field.name.replace("_", "-"))
    number = click.FloatRange if field.type is float else click.IntRange
    return click.option(
        flag,
        field.name,
        type=number(min=field.metadata["minimum"], max=field.metadata["maximum"]),
        default=field.default,
        show_default=field.default is not None,
        help=field.metadata["help"],
    )
