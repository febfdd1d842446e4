import contextlib
import os
import signal
import threading

import keras
import numpy as np
import pytest

from aiayn_keras.training.fit_callbacks import watch_signals
from aiayn_keras.training.fitting import Position

EXCEPTIONS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit}


class Send(keras.callbacks.Callback):
    """Test double of a person who presses Ctrl-C, or of a machine that wants a process to end."""

    def __init__(self, number, moment, count=1, swallows=False):
        super().__init__()
        self.number, self.count, self.batches = number, count, 0
        self.swallowed = tuple(EXCEPTIONS.values()) if swallows else ()
        setattr(self, moment, self.send)

    def send(self, *_, logs=None):
        with contextlib.suppress(*self.swallowed):
            for _ in range(self.count):
                os.kill(os.getpid(), self.number)
            self.count = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.batches += 1


class Saved:
    """Test double of writing a checkpoint."""

    def __init__(self):
        self.updates, self.counts = [], []

    def __call__(self, updates, sums):
        self.updates.append(updates)
        self.counts.append(sums["count"])


def fit(*callbacks, batches=4, epochs=1, validation=False):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse", jit_compile=False)
    ones = np.ones((batches, 1))
    data = (ones, ones) if validation else None
    options = {"batch_size": 1, "verbose": 0, "epochs": epochs, "validation_batch_size": 1}
    model.fit(ones, ones, validation_data=data, callbacks=list(callbacks), **options)


@pytest.mark.parametrize("number", EXCEPTIONS)
def test_a_signal_ends_the_training_after_the_update_with_a_checkpoint(number):
    position, saved = Position(0, batches_per_update=3), Saved()
    double = Send(number, "on_train_batch_end")
    with pytest.raises(EXCEPTIONS[number]) as error, watch_signals(position, saved) as stop:
        fit(double, position, stop, batches=9)
    assert (saved.updates, double.batches) == ([1], 3)
    if number == signal.SIGTERM:
        assert error.value.code == 143
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_signal_ends_it_at_once():
    position, saved = Position(0, batches_per_update=3), Saved()
    double = Send(signal.SIGINT, "on_train_batch_end", count=2)
    with pytest.raises(KeyboardInterrupt), watch_signals(position, saved) as stop:
        fit(double, position, stop, batches=9)
    assert (saved.updates, double.batches) == ([], 1)


def test_a_signal_in_validation_ends_that_and_saves_the_update_before_it():
    position, saved = Position(10, batches_per_update=1), Saved()
    tested = []
    count = keras.callbacks.LambdaCallback(
        on_test_batch_end=lambda batch, logs=None: tested.append(batch)
    )
    double = Send(signal.SIGTERM, "on_test_batch_begin")
    with pytest.raises(SystemExit), watch_signals(position, saved) as stop:
        fit(double, position, stop, count, epochs=2, validation=True)
    assert (saved.updates, tested) == ([14], [0])
    assert saved.counts == [4]  # the batches of the training, not those of the validation


def test_nothing_is_saved_twice_and_nothing_before_the_first_update():
    position, saved = Position(10, batches_per_update=1), Saved()
    double = Send(signal.SIGINT, "on_epoch_begin")
    with pytest.raises(KeyboardInterrupt), watch_signals(position, saved) as stop:
        fit(position, stop, double)
    assert saved.updates == []

    def note_checkpoint(epoch, logs=None):
        stop.saved()
        with stop.at_once():  # like the translations after a checkpoint
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), watch_signals(position, saved) as stop:
        fit(position, stop, keras.callbacks.LambdaCallback(on_epoch_end=note_checkpoint))
    assert saved.updates == []


@pytest.mark.parametrize(
    ("moment", "batches"), [("on_train_batch_end", 1), ("on_epoch_end", 4), ("on_train_end", 4)]
)
def test_without_a_checkpoint_a_signal_that_a_callback_swallows_ends_the_training(moment, batches):
    double = Send(signal.SIGINT, moment, swallows=True)
    with pytest.raises(KeyboardInterrupt), watch_signals() as stop:
        fit(stop, double)
    assert double.batches == batches
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_outside_of_fit_a_signal_is_answered_at_once():
    with pytest.raises(KeyboardInterrupt), watch_signals(Position(0, 1), print):
        os.kill(os.getpid(), signal.SIGINT)


def test_other_handlers_and_threads_are_left_alone():
    def handler(number, frame):
        pass

    usual = {number: signal.signal(number, handler) for number in EXCEPTIONS}
    try:
        with watch_signals():
            assert all(signal.getsignal(number) is handler for number in EXCEPTIONS)
    finally:
        for number, each in usual.items():
            signal.signal(number, each)
    handlers = []

    def in_a_thread():
        with watch_signals():
            handlers.extend(map(signal.getsignal, EXCEPTIONS))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler, signal.SIG_DFL]
