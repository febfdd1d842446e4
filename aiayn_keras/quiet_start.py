"""The silence in which libraries are loaded."""

import contextlib
import os
import tempfile

STDERR = 2
SWITCH = "TF_CPP_MIN_LOG_LEVEL"
NO_MESSAGES = "3"


@contextlib.contextmanager
def quiet_start():
    """Keeps what libraries write to stderr in the block from view; if it fails, shows it.

    TensorFlow's first messages come from C++ before it reads any switch, so the file descriptor is
    redirected to a file. Its later messages are switched off, unless the environment sets
    `TF_CPP_MIN_LOG_LEVEL`; errors still come as Python's exceptions.
    """
    os.environ.setdefault(SWITCH, NO_MESSAGES)
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


def start_as_told():
    """`quiet_start` in a process whose environment switches TensorFlow's messages off.

    The environment is inherited, so the workers of a command that started quietly start so too.
    """
    return quiet_start() if os.environ.get(SWITCH) == NO_MESSAGES else contextlib.nullcontext()
