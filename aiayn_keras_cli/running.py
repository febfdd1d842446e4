"""The way commands run: Keras loads quietly, and an error becomes one line."""

import contextlib
import errno
import os
import tempfile
import warnings

import click

IS_VERBOSE = "aiayn_keras_cli.is_verbose"
"""Key of a running command's `click.Context.meta`: whether it has the option `--verbose`."""
_IS_STARTED = "aiayn_keras_cli.is_started"
"""Key of the same: whether `start_keras` has been called."""

_FORESEEN = (ValueError, OSError, ImportError, RuntimeError)
_UNFORESEEN = (RecursionError, NotImplementedError)
"""Kinds of RuntimeError for which this package has no message of its own."""
_MAX_CHARACTERS = 1_000
_STDERR = 2


@contextlib.contextmanager
def quiet_start():
    """Hides what libraries write to stderr in the block; if the block fails, shows it.

    TensorFlow's first messages come from C++ before it reads any setting, so the file descriptor is
    redirected to a file. Later messages are switched off, unless the environment already sets
    `TF_CPP_MIN_LOG_LEVEL`; errors still come as Python exceptions.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        stderr = os.dup(_STDERR)
    except OSError:  # The process was started without stderr.
        yield
        return
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), _STDERR)
        try:
            yield
        except Exception:
            messages.seek(0)
            os.write(stderr, messages.read())
            raise
        finally:
            os.dup2(stderr, _STDERR)
            os.close(stderr)


class CommandGroup(click.Group):
    """A group whose commands report any exception in one line and exit with 1."""

    def make_context(self, *args, **kwargs):
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            raise
        except OSError as error:  # Help is written while arguments are parsed.
            raise click.ClickException(error_line(error)) from error

    def invoke(self, ctx):
        try:
            with contextlib.nullcontext() if ctx.params["debug"] else _warnings_in_one_line():
                return super().invoke(ctx)
        except click.ClickException as error:
            error.message = one_line(error.message)
            raise
        except (click.exceptions.Exit, click.exceptions.Abort):
            raise
        except BrokenPipeError:  # `| head` has read enough; click ends quietly.
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise click.ClickException(error_line(error)) from error


@contextlib.contextmanager
def _warnings_in_one_line():
    """Shows each warning in the block as one line, without the place in the code it comes from."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"Warning: {one_line(str(message))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


class KerasCommand(click.Command):
    """A command that loads Keras, quietly, once its arguments have been checked.

    Its option `--verbose` shows the messages of TensorFlow and other libraries, and `--import`
    imports modules of the user's own.

    Args:
        *args: As in click.
        may_need_no_keras: Whether the command itself calls `start_keras`, unless one of these two
            options is given.
        **kwargs: As in click.
    """

    def __init__(self, *args, may_need_no_keras=False, **kwargs):
        super().__init__(*args, **kwargs)
        self._may_need_no_keras = may_need_no_keras
        verbose = click.Option(
            ["--verbose"], is_flag=True, help="Show messages of TensorFlow and other libraries."
        )
        own_modules = click.Option(
            ["--import", "own_modules"],
            metavar="MODULE",
            multiple=True,
            help="Import a Python module first, such as one that registers a class of your own.",
        )
        self.params += [own_modules, verbose]

    def invoke(self, ctx):
        is_verbose = ctx.meta[IS_VERBOSE] = ctx.params.pop("verbose")
        own_modules = ctx.params.pop("own_modules")
        if is_verbose or own_modules or not self._may_need_no_keras:
            start_keras(own_modules)
        return super().invoke(ctx)


def start_keras(own_modules=()):
    """Loads Keras for the running `KerasCommand`, and modules of the user's own.

    Args:
        own_modules: Their names.
    """
    meta = click.get_current_context().meta
    with contextlib.nullcontext() if meta[IS_VERBOSE] else quiet_start():
        from aiayn_keras.common.own_modules import import_own_module

        for name in own_modules:
            import_own_module(name)
    meta[_IS_STARTED] = True


def has_started_keras():
    """Tells whether `start_keras` was called for the running command."""
    return click.get_current_context().meta.get(_IS_STARTED, False)


def error_line(error):
    """Describes an exception in one printable line.

    The message of an unforeseen kind of exception rarely says enough, so the line begins with its
    type and ends with a hint at `--debug`.

    Args:
        error: An `Exception`.
    """
    text = one_line(str(error))
    if text == f"[Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}":  # it names no file
        return f"standard output, or a temporary file, cannot be written: {error.strerror}."
    if isinstance(error, _FORESEEN) and not isinstance(error, _UNFORESEEN) and text:
        return text
    kind = type(error).__name__
    reason = f"{kind}: {text.rstrip('.')}" if text else kind
    return (
        f"unexpected {reason}. To see where it was raised, run with --debug, as in "
        "`aiayn-keras --debug info`."
    )


def one_line(message):
    """Puts a message on one line of limited length.

    Control characters, such as those that colour a terminal, are escaped.
    """
    line = " ".join(message[: 2 * _MAX_CHARACTERS].split())
    printable = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in line
    )
    is_short = len(message) <= 2 * _MAX_CHARACTERS and len(printable) <= _MAX_CHARACTERS
    return printable if is_short else f"{printable[:_MAX_CHARACTERS]} …"
