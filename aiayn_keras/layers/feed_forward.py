"""The position-wise feed-forward network (paper 3.3)."""

import keras

from aiayn_keras.layers.add_norm import Dropout, FixedSettings
from aiayn_keras_light.checks import MAX_SIZE, check_integer


@keras.saving.register_keras_serializable(package="aiayn_keras")
class PositionwiseFeedForward(FixedSettings, keras.layers.Layer):
    """`max(0, x W₁ + b₁) W₂ + b₂` on every position alone (paper 3.3, equation 2).

    Args:
        intermediate_dim: Width of the hidden layer (the paper's d_ff).
        activation: The non-linearity. The paper's is ReLU.
        dropout: Share of hidden units dropped in training, in [0, 1). The paper drops none.

    Call arguments:
        x: Float tensor `(B, T, D)`.

    Returns:
        Float tensor `(B, T, D)`.

    Raises:
        TypeError: For an `intermediate_dim` that is not an integer.
        ValueError: For an `intermediate_dim` that is not positive.

    Example:
        >>> tuple(PositionwiseFeedForward(intermediate_dim=48)(keras.ops.ones((2, 7, 12))).shape)
        (2, 7, 12)
    """

    fixed_settings = frozenset({"intermediate_dim", "dropout"})

    def __init__(self, intermediate_dim, activation="relu", dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.intermediate_dim = check_integer("intermediate_dim", intermediate_dim, 1, MAX_SIZE)
        self.activation = keras.activations.get(activation)
        self.dropout = dropout

        # === Layers ===
        self.hidden_dense = keras.layers.Dense(
            self.intermediate_dim, dtype=self.dtype_policy, name="hidden"
        )
        self.dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, x_shape):
        hidden_shape = (*x_shape[:-1], self.intermediate_dim)
        self.hidden_dense.build(x_shape)
        self.dropout_layer.build(hidden_shape)
        self.output_dense = keras.layers.Dense(x_shape[-1], dtype=self.dtype_policy, name="output")
        self.output_dense.build(hidden_shape)

    def call(self, x, training=None):
        x = self.activation(self.hidden_dense(x))
        x = self.dropout_layer(x, training=training)
        return self.output_dense(x)

    def compute_output_shape(self, x_shape):
        return x_shape

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "intermediate_dim": self.intermediate_dim,
                "activation": keras.activations.serialize(self.activation),
                "dropout": self.dropout,
            }
        )
        return config
