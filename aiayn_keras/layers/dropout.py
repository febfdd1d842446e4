"""Dropout (paper 5.4)."""

import keras

from aiayn_keras.backend import drop


@keras.saving.register_keras_serializable(package="aiayn_keras")
class Dropout(keras.layers.Dropout):
    """Keras' dropout, with random numbers that are cheap on every backend.

    Takes `keras.layers.Dropout`'s arguments.

    Call arguments:
        inputs: Float tensor.
        training: Whether to drop; without, the inputs are returned as they are.

    Returns:
        Float tensor of the inputs' shape.
    """

    def call(self, inputs, training=False):
        if training and self.rate > 0 and self.noise_shape is None:
            return drop(inputs, self.rate, self.seed_generator)
        return super().call(inputs, training=training)
