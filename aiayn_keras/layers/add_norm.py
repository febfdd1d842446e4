"""Dropout, residual connection and layer normalization around each sublayer (paper 3.1, 5.4)."""

import functools
from typing import ClassVar

import keras

from aiayn_keras.backend import drop


@keras.saving.register_keras_serializable(package="aiayn_keras")
class Dropout(keras.layers.Dropout):
    """Keras' dropout, with random numbers that are cheap on every backend.

    Takes `keras.layers.Dropout`'s arguments.

    Call arguments:
        inputs: Float tensor.
        training: Whether to drop; otherwise the inputs are returned as they are.

    Returns:
        Float tensor of the inputs' shape.
    """

    def call(self, inputs, training=False):
        if training and 0 < self.rate < 1 and self.noise_shape is None:
            return drop(inputs, self.rate, self.seed_generator)
        return super().call(inputs, training=training)


def add_and_norm(x, sublayer, layer_norm, normalize_first=False, dropout=None):
    """`LayerNorm(x + Dropout(Sublayer(x)))`, or `x + Dropout(Sublayer(LayerNorm(x)))`.

    Args:
        x: Float tensor.
        sublayer: Function of a tensor like `x` that returns one.
        layer_norm: Function that normalizes over the last axis.
        normalize_first: Whether to normalize the sublayer's input instead of the sum.
        dropout: Function applied to the sublayer's output, if any.

    Returns:
        Float tensor of `x`'s shape.
    """
    y = sublayer(layer_norm(x) if normalize_first else x)
    x = x + (y if dropout is None else dropout(y))
    return x if normalize_first else layer_norm(x)


def with_training(layer, training):
    """A layer that is told whether it is being trained.

    Keras passes this on by itself, but not on PyTorch where a `keras.RematScope` runs a layer once
    more for the gradients.

    Args:
        layer: A layer, or another function, which is returned as it is.
        training: True, False or None, if it is not known.

    Returns:
        A function with the layer's arguments.
    """
    if training is None or not isinstance(layer, keras.layers.Layer):
        return layer
    return functools.partial(layer, training=training)


class FixedSettings:
    """Refuses new values for settings that only the layers inside a built layer follow.

    Attributes:
        fixed_settings: Names of the arguments that the layers inside were made with.
    """

    fixed_settings: ClassVar[frozenset] = frozenset()

    def __setattr__(self, name, value):
        """Sets an attribute.

        Raises:
            AttributeError: If it is one of `fixed_settings`, the layer is built, and the value is
                a different one.
        """
        if name in self.fixed_settings and getattr(self, "built", False):
            old = getattr(self, name, value)
            if value is not old and value != old:
                raise AttributeError(
                    f"`{name}` cannot be changed: the layers inside this {type(self).__name__} "
                    f"were made with {old!r}, and would not follow. Build or load it with a "
                    "different value, or change the layers inside it, such as the `rate` of a "
                    f"`dropout_layer`. Received: {name}={value!r}."
                )
        super().__setattr__(name, value)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class AddNorm(FixedSettings, keras.layers.Layer):
    """`LayerNorm(x + Dropout(Sublayer(x)))` (paper 3.1 and 5.4).

    Args:
        dropout: Share of the sublayer's output dropped in training (P_drop), in [0, 1).
        epsilon: Added to the variance. The paper names none; this is tensor2tensor's.
        normalize_first: Normalize the sublayer's input instead of the sum (pre-norm). The
            paper normalizes the sum.

    Call arguments:
        x: Float tensor `(B, T, D)`.
        sublayer: Function or layer that maps a tensor `(B, T, D)` to a tensor of the same
            shape. Its weights belong to the layer or model that holds it, not to this one.

    Returns:
        Float tensor `(B, T, D)`.

    Raises:
        ValueError: In a functional model, which would neither train nor save the sublayer's
            weights: call `add_and_norm` there.

    Example:
        >>> add_norm = AddNorm()
        >>> tuple(add_norm(keras.ops.ones((2, 7, 12)), sublayer=keras.ops.tanh).shape)
        (2, 7, 12)
    """

    fixed_settings = frozenset({"dropout", "epsilon"})
    # A class attribute, so that decoding follows a subclass that replaces it.
    join = staticmethod(add_and_norm)

    def __init__(self, dropout=0.1, epsilon=1e-6, normalize_first=False, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.dropout = dropout
        self.epsilon = epsilon
        self.normalize_first = normalize_first

        # === Layers ===
        self.layer_norm = keras.layers.LayerNormalization(
            epsilon=epsilon, dtype=self.dtype_policy, name="layer_norm"
        )
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, x_shape):
        self.layer_norm.build(x_shape)
        self.dropout_layer.build(x_shape)

    def call(self, x, sublayer, training=None):
        dropout = with_training(self.dropout_layer, training)
        return self.join(x, sublayer, self.layer_norm, self.normalize_first, dropout)

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, x, sublayer, training=None):
        raise ValueError(
            "`AddNorm` cannot be a layer of a functional model, which would not see `sublayer` and "
            "neither train nor save its weights. Call `add_and_norm(x, sublayer, layer_norm, "
            "dropout=...)` of `aiayn_keras.layers` with layers of your own, or use `AddNorm` in "
            f"the `call` of a layer. Received: x of shape {tuple(x.shape)} without values."
        )

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "dropout": self.dropout,
                "epsilon": self.epsilon,
                "normalize_first": self.normalize_first,
            }
        )
        return config
