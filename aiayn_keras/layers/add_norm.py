"""The residual connection and layer normalization around every sublayer (paper 3.1, 5.4)."""

import keras


@keras.saving.register_keras_serializable(package="aiayn_keras")
class AddNorm(keras.layers.Layer):
    """`LayerNorm(x + Dropout(Sublayer(x)))` (paper 3.1 and 5.4).

    The sublayer runs between the two methods of this layer, so that it may take what it needs:

    ```python
    y = sublayer(add_norm.sublayer_input(x))
    x = add_norm(x, y)
    ```

    Args:
        dropout: Share of the sublayer's output dropped in training (P_drop), in [0, 1).
        epsilon: Added to the variance. The paper names none; this is tensor2tensor's.
        normalize_first: Normalize the sublayer's input and not the sum (pre-norm). The paper
            normalizes the sum.

    Call arguments:
        x: Float tensor `(B, T, D)`, the sublayer's input before normalization.
        sublayer_output: Float tensor `(B, T, D)`.

    Returns:
        Float tensor `(B, T, D)`.
    """

    def __init__(self, dropout=0.1, epsilon=1e-6, normalize_first=False, **kwargs):
        super().__init__(**kwargs)
        self.dropout = dropout
        self.epsilon = epsilon
        self.normalize_first = normalize_first

        # === Layers ===
        self.layer_norm = keras.layers.LayerNormalization(
            epsilon=epsilon, dtype=self.dtype_policy, name="layer_norm"
        )
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, x_shape, sublayer_output_shape):
        self.layer_norm.build(x_shape)
        self.dropout_layer.build(sublayer_output_shape)

    def sublayer_input(self, x):
        """What the sublayer is given: `x`, or its normalization if `normalize_first`."""
        return self.layer_norm(x) if self.normalize_first else x

    def call(self, x, sublayer_output, training=None):
        x = x + self.dropout_layer(sublayer_output, training=training)
        return x if self.normalize_first else self.layer_norm(x)

    def compute_output_shape(self, x_shape, sublayer_output_shape):
        return x_shape

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
