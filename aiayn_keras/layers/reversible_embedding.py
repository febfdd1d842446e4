"""The embedding matrix, shared with the output projection (paper 3.4)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="aiayn_keras")
class ReversibleEmbedding(keras.layers.ReversibleEmbedding):
    """Looks tokens up; in reverse, projects hidden states to logits with the same matrix.

    Logits carry on the mask that Keras has attached to the hidden states, as far as the loss.

    Unlike Keras' layer, it has a correct gradient when the matrix is quantized. Keras rounds the
    hidden states to integers there; the gradient of rounding is 0 except for the scale they are
    divided by, so adapters below would be trained in the wrong direction. Here the gradient is
    that of the product with the dequantized matrix, as in Keras' quantized `Dense`.

    Takes `keras.layers.ReversibleEmbedding`'s arguments, and has its name, since Keras finds the
    weights in a file by that name.

    Args:
        input_dim: Number of tokens V.
        output_dim: Width D.
        logits_bias: Whether logits have a bias `(V,)`. The attribute of this name holds it, or
            `None`.
        **kwargs: As in `keras.layers.ReversibleEmbedding`.

    Call arguments:
        inputs: Integer tensor `(B, T)`, or with `reverse` a float tensor `(B, T, D)`.
        reverse: Whether to project.

    Returns:
        Float tensor `(B, T, D)`, or with `reverse` logits `(B, T, V)`.
    """

    def __init__(self, input_dim, output_dim, logits_bias=False, **kwargs):
        super().__init__(input_dim, output_dim, **kwargs)
        self.supports_masking = True
        self.has_logits_bias = logits_bias
        self.logits_bias = None

    def build(self, input_shape=None):
        super().build(input_shape)
        if self.has_logits_bias:
            self.logits_bias = self.add_weight(
                name="logits_bias", shape=(self.input_dim,), initializer="zeros"
            )

    def call(self, inputs, reverse=False):
        outputs = super().call(inputs, reverse=reverse)
        return self._add_bias(outputs) if reverse else outputs

    def compute_mask(self, inputs, mask=None):
        return mask  # that of hidden states; `call` attaches that of tokens

    def quantized_call(self, inputs, reverse=False):
        if not reverse:
            return super().quantized_call(inputs)
        layer = super()

        @ops.custom_gradient
        def logits_with_gradient(hidden_states):
            def gradient(*args, upstream=None):
                upstream = args[0] if upstream is None else upstream  # backends call it differently
                matrix = ops.transpose(self.output_kernel())  # (V, D), dequantized
                return ops.matmul(upstream, ops.cast(matrix, upstream.dtype))

            return layer.quantized_call(hidden_states, reverse=True), gradient

        return self._add_bias(logits_with_gradient(inputs))

    def matrix(self):
        """The matrix `(V, D)` in which tokens are looked up, dequantized if it is quantized."""
        if self.quantization_mode is None:
            return ops.convert_to_tensor(self.embeddings)
        return super().quantized_call(ops.arange(self.input_dim))

    def output_kernel(self):
        """The matrix `(D, V)` that hidden states are multiplied by, dequantized if quantized."""
        if self.tie_weights:
            return ops.transpose(self.matrix())
        if self.quantization_mode is None:
            return ops.convert_to_tensor(self.reverse_embeddings)
        return super().quantized_call(ops.eye(self.output_dim), reverse=True)

    def quantized_build(self, embeddings_shape, mode, config=None):
        super().quantized_build(embeddings_shape, mode, config)
        if mode == "int4" and config is None:
            # As with `quantize`. Keras would round the hidden states of a loaded layer only.
            self.inputs_quantizer = None

    def quantize(self, mode=None, type_check=True, config=None):
        # Keras' layer refuses subclasses unless `type_check` is off.
        return super().quantize(mode, type_check=False, config=config)

    @property
    def variable_serialization_spec(self):
        spec = super().variable_serialization_spec
        if self.has_logits_bias:
            for names in spec.values():
                names.append("logits_bias")
        return spec

    def get_config(self):
        config = super().get_config()
        config.update({"logits_bias": self.has_logits_bias})
        return config

    def _add_bias(self, logits):
        if self.logits_bias is None:
            return logits
        return ops.add(logits, ops.cast(self.logits_bias, logits.dtype))
