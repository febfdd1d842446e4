"""The command `aiayn-keras`.

Its modules import nothing of `aiayn_keras`, nor any other heavy package: functions do, when they
run. So `--help` and wrong arguments are answered at once.
"""

import logging
import sys

import click

from aiayn_keras_cli.check import check
from aiayn_keras_cli.convert import convert
from aiayn_keras_cli.evaluate import compare, evaluate, score
from aiayn_keras_cli.export import export
from aiayn_keras_cli.info import info, plot
from aiayn_keras_cli.release import release
from aiayn_keras_cli.request import request
from aiayn_keras_cli.running import CommandGroup
from aiayn_keras_cli.serve import serve
from aiayn_keras_cli.train import average, prepare, recipe, train
from aiayn_keras_cli.translate import translate

__all__ = ["main"]

_COMMANDS = (
    check,
    recipe,
    prepare,
    train,
    convert,
    translate,
    score,
    evaluate,
    compare,
    average,
    export,
    serve,
    request,
    release,
    info,
    plot,
)


@click.group(cls=CommandGroup, commands=_COMMANDS)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="aiayn-keras")
def main(debug):
    """Train, evaluate, use and export Transformers for translation."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("aiayn_keras").setLevel(logging.INFO)
