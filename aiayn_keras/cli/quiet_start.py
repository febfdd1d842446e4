"""Commands that need Keras, and the silence in which it is loaded."""

import contextlib
import os
import tempfile

import click

STDERR = 2


@contextlib.contextmanager
def quiet_start():
    """Keeps what libraries write to stderr in the block from view; if it fails, shows it.

    TensorFlow's first messages come from C++ before it reads any switch, so the file descriptor is
    redirected to a file. Its later messages are switched off, unless the environment sets
    `TF_CPP_MIN_LOG_LEVEL`; errors still come as Python's exceptions.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        stderr = os.dup(STDERR)
    except OSError:  # The process was started without a stderr.
        yield
        return
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), STDERR)
        try:
            yield
        except Exception:
            messages.seek(0)
            os.write(stderr, messages.read())
            raise
        finally:
            os.dup2(stderr, STDERR)
            os.close(stderr)


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
