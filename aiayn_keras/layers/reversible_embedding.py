"""The embedding matrix, shared with the output projection (paper 3.4)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="aiayn_keras")
class ReversibleEmbedding(keras.layers.ReversibleEmbedding):
    """Looks tokens up; in reverse, projects hidden states to logits by the same matrix.

    Beside Keras' layer it has a gradient where the matrix is quantized. Keras rounds the hidden
    states to integers there, whose gradient is 0 but for the scale they are divided by, so that
    adapters below would be trained in a wrong direction. Here the gradient is that of the product
    with the dequantized matrix, as in Keras' quantized `Dense`.

    Takes `keras.layers.ReversibleEmbedding`'s arguments, and has its name, by which Keras finds the
    weights in a file.

    Call arguments:
        inputs: Integer tensor `(B, T)`, or with `reverse` a float tensor `(B, T, D)`.
        reverse: Whether to project.

    Returns:
        Float tensor `(B, T, D)`, or with `reverse` logits `(B, T, V)`.
    """

    def quantized_call(self, inputs, reverse=False):
        if not reverse:
            return super().quantized_call(inputs)
        layer = super()

        @ops.custom_gradient
        def logits_with_gradient(hidden_states):
            def gradient(*args, upstream=None):
                upstream = args[0] if upstream is None else upstream  # backends differ in the call
                matrix = layer.quantized_call(ops.arange(self.input_dim))  # (V, D), dequantized
                return ops.matmul(upstream, ops.cast(matrix, upstream.dtype))

            return layer.quantized_call(hidden_states, reverse=True), gradient

        return logits_with_gradient(inputs)

    def quantize(self, mode=None, type_check=True, config=None):
        # Keras' layer refuses subclasses, which might not be quantized right, unless told so.
        return super().quantize(mode, type_check=False, config=config)
