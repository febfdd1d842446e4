"""The options of a search as options of a command, made from `SearchOptions`."""

import dataclasses

import click

from aiayn_keras.decoding.search_options import SearchOptions

BATCH_SIZE = click.option("--batch-size", type=click.IntRange(min=1), default=64, show_default=True)
FLAGS = {"num_return_sequences": "--n-best"}


def search_options(*left_out, options=SearchOptions):
    """Gives a command the fields of `SearchOptions` as its options.

    Args:
        *left_out: Names of fields that are not offered.
        options: `SearchOptions` or a subclass.
    """

    def decorate(command):
        for field in reversed(dataclasses.fields(options)):
            if "minimum" in field.metadata and field.name not in left_out:
                command = _as_option(field)(command)
        return command

    return decorate


def _as_option(field):
    flag = FLAGS.get(field.name, "--" + field.name.replace("_", "-"))
    number = click.FloatRange if field.type is float else click.IntRange
    return click.option(
        flag,
        field.name,
        type=number(min=field.metadata["minimum"]),
        default=field.default,
        show_default=field.default is not None,
        help=field.metadata["help"],
    )
