"""Hides the messages that libraries write while they start.

Stands alone because it imports the standard library only: it must run before TensorFlow does.
"""

import contextlib
import os
import tempfile

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
