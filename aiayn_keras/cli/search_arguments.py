"""The options of a search as options of a command, made from `SearchOptions`."""

import dataclasses
import json

import click
from click.core import ParameterSource

from aiayn_keras.common.files import read_bytes
from aiayn_keras.decoding.constraints import as_constraint
from aiayn_keras.decoding.search_options import SearchOptions

BATCH_SIZE = click.option(
    "--batch-size",
    type=click.IntRange(min=1, max=1 << 20),
    default=64,
    show_default=True,
    help="Number of lines computed together.",
)
FLAGS = {"num_return_sequences": "--n-best"}
MAX_BYTES = 1 << 26
"""Greatest size of the file of a constraint."""


def search_options(*left_out):
    """Gives a command the fields of `SearchOptions` as its options, but for those named."""

    def decorate(command):
        for field in reversed(dataclasses.fields(SearchOptions)):
            if field.name not in left_out:
                command = _as_option(field)(command)
        return command

    return decorate


def is_given(name):
    """Whether the user gave an option of the command that runs, by its name as an argument."""
    source = click.get_current_context().get_parameter_source(name)
    return source != ParameterSource.DEFAULT


class _ConstraintType(click.ParamType):
    """A constraint: its name, or a JSON file of its `kind` and fields."""

    name = "NAME|FILE"

    def convert(self, value, param, ctx):
        try:
            if value.endswith(".json"):
                return as_constraint(json.loads(read_bytes(value, MAX_BYTES)))
            return as_constraint(value)
        except (OSError, ValueError, RecursionError) as error:
            self.fail(str(error), param, ctx)


def _as_option(field):
    flag = FLAGS.get(field.name, "--" + field.name.replace("_", "-"))
    if field.name == "constraint":
        text = "Rule that every translation keeps: brackets (trees), or a file NAME.json."
        return click.option(flag, field.name, type=_ConstraintType(), help=text)
    number = click.FloatRange if field.type is float else click.IntRange
    return click.option(
        flag,
        field.name,
        type=number(min=field.metadata["minimum"], max=field.metadata["maximum"]),
        default=field.default,
        show_default=field.default is not None,
        help=field.metadata["help"],
    )
