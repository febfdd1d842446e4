"""Callbacks that a recipe names to stop a training."""

import os
import signal

import keras

STOPPED_AT = 7
"""Update during which the second process gets its signal."""


class StopSecondProcess(keras.callbacks.Callback):
    """Test double of a machine that wants the second process, and no other, to end."""

    def __init__(self):
        super().__init__()
        self.batches = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.batches += 1
        is_second = os.environ["KERAS_DISTRIBUTION_PROCESS_ID"] == "1"
        if is_second and self.batches == 2 * STOPPED_AT:  # of two batches each
            os.kill(os.getpid(), signal.SIGTERM)


class StopAtFirstCheckpoint(keras.callbacks.Callback):
    """Ends a training as `keras.callbacks.EarlyStopping` does."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = True
