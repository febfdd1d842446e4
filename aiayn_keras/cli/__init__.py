"""The command `aiayn-keras`. Its modules import nothing heavy: functions do, when they run."""

import logging
import sys

import click

from aiayn_keras.cli.average import average
from aiayn_keras.cli.convert import convert
from aiayn_keras.cli.error_line import error_line, one_line
from aiayn_keras.cli.evaluate import evaluate
from aiayn_keras.cli.export import export
from aiayn_keras.cli.info import info
from aiayn_keras.cli.prepare import prepare
from aiayn_keras.cli.request import request
from aiayn_keras.cli.score import score
from aiayn_keras.cli.serve import serve
from aiayn_keras.cli.train import train
from aiayn_keras.cli.translate import translate

COMMANDS = (
    prepare,
    train,
    convert,
    translate,
    score,
    evaluate,
    average,
    export,
    serve,
    request,
    info,
)


class _Commands(click.Group):
    """A group whose commands report any exception in one line and exit with 1."""

    def make_context(self, *args, **kwargs):
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            raise
        except OSError as error:  # The help is written while arguments are read.
            raise click.ClickException(error_line(error)) from error

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = one_line(error.message)
            raise
        except (click.exceptions.Exit, click.exceptions.Abort):
            raise
        except BrokenPipeError:  # `| head` has enough; click ends quietly.
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise click.ClickException(error_line(error)) from error


@click.group(cls=_Commands, commands=COMMANDS)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="aiayn-keras")
def main(debug):
    """Train, evaluate, use and export Transformers for translation."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("aiayn_keras").setLevel(logging.INFO)
