"""The command `aiayn-keras`."""

import logging
import os
import sys

import click

from aiayn_keras.cli.export import export
from aiayn_keras.cli.info import info
from aiayn_keras.cli.prepare import prepare
from aiayn_keras.cli.request import request
from aiayn_keras.cli.train import average, train
from aiayn_keras.cli.translate import evaluate, score, translate

# TensorFlow's notes on its own start would stand between the lines of the answer.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


class _Commands(click.Group):
    """Says what is wrong with the input in one line, and exits with 1."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `| head` has enough; click knows what to do.
            raise
        except (ValueError, OSError, ImportError, RuntimeError) as error:
            if isinstance(error, click.exceptions.Exit | click.exceptions.Abort):
                raise
            raise click.ClickException(" ".join(str(error).split())) from error


@click.group(cls=_Commands)
@click.version_option(package_name="aiayn-keras")
def main():
    """Train, evaluate, use and export Transformers for translation."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("aiayn_keras").setLevel(logging.INFO)


for command in (
    prepare,
    train,
    translate,
    score,
    evaluate,
    average,
    export,
    request,
    info,
):
    main.add_command(command)
