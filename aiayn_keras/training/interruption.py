"""Ctrl-C that ends a training even where its exception gets lost."""

import contextlib
import signal
import threading

import keras


class StopIfInterrupted(keras.callbacks.Callback):
    """Ends `fit` before the next batch by a `KeyboardInterrupt`, once `interrupted` is set."""

    def __init__(self):
        super().__init__()
        self.interrupted = False

    def on_train_batch_begin(self, batch, logs=None):
        self.check()

    def check(self):
        """Raises a `KeyboardInterrupt` if there was one."""
        if self.interrupted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def watch_interrupts():
    """Context manager that notes every SIGINT and raises a `KeyboardInterrupt`, as Python does.

    A callback, or a library that it calls, may swallow the exception; the note stays, and ends the
    block at the latest. Where SIGINT is handled otherwise (in another thread than the main one, by
    a handler of the caller's, or not at all), nothing is changed.

    Yields:
        A `StopIfInterrupted` for `fit`.
    """
    watch, usual = StopIfInterrupted(), signal.default_int_handler
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not usual:
        yield watch
        return

    def note(number, frame):
        watch.interrupted = True
        usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield watch
        watch.check()
    finally:
        signal.signal(signal.SIGINT, usual)
