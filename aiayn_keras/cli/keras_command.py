"""Commands that need Keras."""

import contextlib

import click

from aiayn_keras.quiet_start import quiet_start


class KerasCommand(click.Command):
    """A command that loads Keras, quietly, after its arguments have been checked.

    Its option `--verbose` shows the messages of TensorFlow and other libraries.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        verbose = click.Option(
            ["--verbose"], is_flag=True, help="Show the messages of TensorFlow and other libraries."
        )
        self.params.append(verbose)

    def invoke(self, ctx):
        with contextlib.nullcontext() if ctx.params.pop("verbose") else quiet_start():
            import aiayn_keras.models  # noqa: F401
        return super().invoke(ctx)
