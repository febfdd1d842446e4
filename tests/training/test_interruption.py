import contextlib
import os
import signal
import threading

import keras
import numpy as np
import pytest

from aiayn_keras.training.fitting import watch_interrupts


class SwallowInterrupt(keras.callbacks.Callback):
    """Test double of a library that loses the exception of Ctrl-C."""

    def __init__(self, moment):
        super().__init__()
        self.updates = 0
        setattr(self, moment, self.press)

    def press(self, *_, logs=None):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    def on_train_batch_begin(self, batch, logs=None):
        self.updates += 1


def fit(*callbacks):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    ones = np.ones((4, 1))
    model.fit(ones, ones, batch_size=1, verbose=0, callbacks=list(callbacks))


@pytest.mark.parametrize(
    ("moment", "updates"), [("on_train_batch_end", 1), ("on_epoch_end", 4), ("on_train_end", 4)]
)
def test_an_interrupt_that_a_callback_swallows_ends_the_training(moment, updates):
    double = SwallowInterrupt(moment)
    with pytest.raises(KeyboardInterrupt), watch_interrupts() as watch:
        fit(watch, double)
    assert double.updates == updates
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_raised():
    with pytest.raises(KeyboardInterrupt), watch_interrupts():
        os.kill(os.getpid(), signal.SIGINT)


def test_other_handlers_and_threads_are_left_alone():
    def handler(number, frame):
        pass

    usual = signal.signal(signal.SIGINT, handler)
    try:
        with watch_interrupts():
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)
    watches = []

    def in_a_thread():
        with watch_interrupts() as watch:
            watches.append((watch, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert watches[0][1] is usual
