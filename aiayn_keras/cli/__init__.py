"""The command `aiayn-keras`. Its modules import nothing heavy: functions do, when they run."""

import logging
import sys

import click

from aiayn_keras.cli.average import average
from aiayn_keras.cli.evaluate import evaluate
from aiayn_keras.cli.export import export
from aiayn_keras.cli.info import info
from aiayn_keras.cli.prepare import prepare
from aiayn_keras.cli.request import request
from aiayn_keras.cli.score import score
from aiayn_keras.cli.train import train
from aiayn_keras.cli.translate import translate

COMMANDS = (prepare, train, translate, score, evaluate, average, export, request, info)


class _Commands(click.Group):
    """A group whose commands report a wrong input in one line and exit with 1."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `| head` has enough; click ends quietly.
            raise
        except (ValueError, OSError, ImportError, RuntimeError) as error:
            if isinstance(error, click.exceptions.Exit | click.exceptions.Abort):
                raise
            raise click.ClickException(" ".join(str(error).split())) from error


@click.group(cls=_Commands, commands=COMMANDS)
@click.version_option(package_name="aiayn-keras")
def main():
    """Train, evaluate, use and export Transformers for translation."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("aiayn_keras").setLevel(logging.INFO)
