"""Plain NumPy versions of the layers, gradients on any backend, and random numbers."""

import keras
import numpy as np


def normal(*shape):
    return np.random.normal(size=shape).astype("float32")


def randomize(layer):
    """Gives every weight, biases and scales included, a value that matters; returns the layer."""
    for variable in layer.weights:
        variable.assign(np.random.normal(size=variable.shape) * 0.5)
    return layer


def to_numpy(x):
    return np.asarray(keras.ops.convert_to_numpy(x)).astype("float64")


def clone(thing):
    """Writes a layer, loss, … as JSON and reads it back."""
    return keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(thing))


# === The paper's formulas, float64 ===


def numpy_dense(dense, x):
    y = x @ to_numpy(dense.kernel)
    return y + to_numpy(dense.bias) if dense.use_bias else y


def numpy_softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def numpy_attention(layer, query, memory, mask=None):
    """Multi-head attention, one sentence, one head and one query at a time."""
    q, k, v = (
        numpy_dense(layer.query_dense, query),
        numpy_dense(layer.key_dense, memory),
        numpy_dense(layer.value_dense, memory),
    )
    heads = []
    for h in range(layer.num_heads):
        keys = slice(h * layer.key_dim, (h + 1) * layer.key_dim)
        values = slice(h * layer.value_dim, (h + 1) * layer.value_dim)
        head = np.zeros((*q.shape[:2], layer.value_dim))
        for b, t in np.ndindex(*q.shape[:2]):
            seen = np.ones(k.shape[1], bool) if mask is None else mask[b, t]
            scores = k[b, seen, keys] @ q[b, t, keys] / np.sqrt(layer.key_dim)
            head[b, t] = numpy_softmax(scores) @ v[b, seen, values]
        heads.append(head)
    return numpy_dense(layer.output_dense, np.concatenate(heads, axis=-1))


def numpy_layer_norm(layer, x):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    x = (x - mean) / np.sqrt(variance + layer.epsilon)
    return x * to_numpy(layer.gamma) + to_numpy(layer.beta)


def numpy_feed_forward(layer, x):
    hidden = np.maximum(0.0, numpy_dense(layer.hidden_dense, x))
    return numpy_dense(layer.output_dense, hidden)


def numpy_residual(add_norm, x, sublayer):
    """A sublayer with its residual connection and normalization, pre-norm or post-norm."""
    if add_norm.normalize_first:
        return x + sublayer(numpy_layer_norm(add_norm.layer_norm, x))
    return numpy_layer_norm(add_norm.layer_norm, x + sublayer(x))


# === Gradients ===


def gradient(function):
    """Gradient, on any backend, of a function with a scalar value to its first argument."""
    match keras.config.backend():
        case "tensorflow":
            import tensorflow as tf

            def gradient(x, *args):
                x = tf.convert_to_tensor(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = function(x, *args)
                return tape.gradient(y, x).numpy()

            return gradient
        case "jax":
            import jax

            return jax.jit(jax.grad(function))
        case "torch":
            import torch

            def gradient(x, *args):
                x = keras.ops.convert_to_tensor(x).requires_grad_()
                return torch.autograd.grad(function(x, *args), x)[0].cpu().numpy()

            return gradient


def influence(function, x):
    """Finds the positions of the output that each position of the input changes.

    Args:
        function: Takes a tensor `(B, S, D)`, returns a tensor `(B, T, D)`.
        x: Float array `(B, S, D)`.

    Returns:
        Boolean array `(B, T, S)`, True where the gradient of output t to input s is not exactly 0.
    """

    def weighted_sum(x, weights):
        return keras.ops.sum(function(x) * weights)

    one_position = gradient(weighted_sum)
    y_shape = keras.ops.shape(function(keras.ops.convert_to_tensor(x)))
    weights = normal(*y_shape)
    gradients = []
    for t in range(y_shape[1]):
        is_t = (np.arange(y_shape[1]) == t).astype("float32")[:, np.newaxis]
        gradients.append(one_position(x, keras.ops.convert_to_tensor(weights * is_t)))
    gradients = np.stack(gradients, axis=1)  # (B, T, S, D)
    assert np.isfinite(gradients).all()
    return np.any(gradients != 0.0, axis=-1)
