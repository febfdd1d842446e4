"""Operations of a decoding step that are faster than those Keras picks."""

import keras
from keras import ops


def project_together(x, layers):
    """Outputs of several `keras.layers.Dense` for one input.

    Where devices share a model, XLA gets one product for layers of one width: it then sums their
    gradients of `x` over the devices once, and not once for each layer. Elsewhere the copies that
    this takes cost more than one product saves.

    Args:
        x: Float tensor `(B, T, D)`.
        layers: Tuple of layers without activation.

    Returns:
        List of float tensors `(B, T, units)`.
    """
    shares_model = isinstance(keras.distribution.distribution(), keras.distribution.ModelParallel)
    one_width = len({layer.units for layer in layers}) == 1
    is_float = all(layer.quantization_mode is None for layer in layers)
    if not (shares_model and one_width and is_float):
        return [layer(x) for layer in layers]
    import jax.numpy as jnp

    dtype = layers[0].compute_dtype
    kernels = jnp.stack([ops.cast(layer.kernel, dtype) for layer in layers])
    outputs = jnp.einsum("btd,sdu->sbtu", ops.cast(x, dtype), kernels)
    return [
        output if layer.bias is None else output + ops.cast(layer.bias, dtype)
        for output, layer in zip(outputs, layers, strict=True)
    ]


def pack_kernel(kernel):
    """Float tensor `(D_in, D_out)` in the order in which `float32_matmul` reads it fastest."""
    return ops.transpose(kernel) if _reads_transposed(kernel) else kernel


def _reads_transposed(kernel):
    """Whether oneDNN multiplies by the transposed kernel faster, as in half precision."""
    half = keras.backend.standardize_dtype(kernel.dtype) in ("bfloat16", "float16")
    return half and keras.config.backend() == "tensorflow"


def float32_matmul(x, kernel):
    """`x · kernel` with factors in the kernel's dtype and a float32 result.

    Args:
        x: Float tensor `(N, D_in)`, cast to the kernel's dtype.
        kernel: Float tensor `(D_in, D_out)` from `pack_kernel`.

    Returns:
        Float32 tensor `(N, D_out)`.
    """
    x = ops.cast(x, kernel.dtype)
    if _reads_transposed(kernel):
        kernel = ops.transpose(kernel)  # TensorFlow makes one product of both
    if keras.config.backend() == "jax":
        import jax.numpy as jnp

        # XLA has no fast product on CPUs that is rounded to half precision.
        return jnp.matmul(x, kernel, preferred_element_type="float32")
    return ops.cast(ops.matmul(x, kernel), "float32")


def matmul_transposed(x, y):
    """`x · yᵀ` of the last two axes: `(..., N, K)` and `(..., M, K)` give `(..., N, M)`.

    TensorFlow makes one operation of product and transposition by itself, but not in a loop.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.matmul(x, y, transpose_b=True)
    return ops.matmul(x, ops.swapaxes(y, -1, -2))


def float32_matmul_transposed(x, y):
    """`matmul_transposed` with a float32 result.

    XLA gives it without rounding it to half precision first, nor its gradient, for which a TPU
    would pass over all of it once more.
    """
    if keras.config.backend() == "jax":
        import jax.numpy as jnp

        return jnp.matmul(x, jnp.swapaxes(y, -1, -2), preferred_element_type="float32")
    return ops.cast(matmul_transposed(x, y), "float32")


def swap_heads(x):
    """Exchanges the axes of hypotheses and heads: float tensor `(B, M, N, K)` to `(B, N, M, K)`."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        # oneDNN costs 50 µs per float transpose; integers bypass it.
        integer = {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]
        return tf.bitcast(tf.transpose(tf.bitcast(x, integer), (0, 2, 1, 3)), x.dtype)
    return ops.transpose(x, (0, 2, 1, 3))
