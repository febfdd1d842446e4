"""Matrix products, gathers, cache updates and dropout, in each backend's fastest form."""

import contextlib

import keras
import numpy as np
from keras import ops

if keras.config.backend() == "torch":
    from aiayn_keras.backend import torch_ops

    lean_ops = torch_ops.lean_ops
else:  # A compiled step costs what its operations cost.
    lean_ops = ops

_BFLOAT16_PRODUCTS = "auto_mixed_precision_onednn_bfloat16"
"""Name of TensorFlow's option."""
# Multipliers and shifts of a mixing function (https://github.com/skeeto/hash-prospector): each bit
# of its result depends on every bit of its input.
_GOLDEN_RATIO, _FIRST, _SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B


def bfloat16_products():
    """A context in which TensorFlow compiles matrix products, and nothing else, in bfloat16.

    On CPUs with fast bfloat16 products this is the best precision: sums, normalization and softmax
    gain nothing from bfloat16. Weights and results stay float32. XLA ignores it, and so does
    TensorFlow on processors without AVX-512.

    Raises:
        ValueError: On backends other than TensorFlow, whose compilers have no such option.
    """
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            "Products in bfloat16 alone need the TensorFlow backend. Received: "
            f'{keras.config.backend()}, where the precision "mixed_bfloat16" comes closest to it.'
        )
    return _set_tensorflow_option(_BFLOAT16_PRODUCTS)


def rounds_products():
    """True within `bfloat16_products`."""
    if keras.config.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return tf.config.optimizer.get_experimental_options().get(_BFLOAT16_PRODUCTS, False)


@contextlib.contextmanager
def _set_tensorflow_option(option):
    import tensorflow as tf

    before = tf.config.optimizer.get_experimental_options().get(option, False)
    tf.config.optimizer.set_experimental_options({option: True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({option: before})


def project_together(x, layers):
    """Outputs of several `keras.layers.Dense` for one input.

    Where devices share a model, XLA gets one product for layers of equal width, so that it sums
    their gradients of `x` over the devices once instead of once per layer. Elsewhere the copies
    that this takes cost more than a single product saves.

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
    """Float tensor `(D_in, D_out)` in the memory order that `float32_matmul` reads fastest."""
    if keras.config.backend() == "torch":
        return torch_ops.pack_kernel(kernel)
    return ops.transpose(kernel) if _reads_transposed(kernel) else kernel


def _reads_transposed(kernel):
    """True if oneDNN multiplies faster by the transposed kernel, as in half precision."""
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
    x = lean_ops.cast(x, kernel.dtype)
    if keras.config.backend() == "torch":
        return lean_ops.cast(torch_ops.multiply_packed(x, kernel), "float32")
    if _reads_transposed(kernel):
        kernel = ops.transpose(kernel)  # TensorFlow fuses both into one product
    if keras.config.backend() == "jax":
        import jax.numpy as jnp

        # On CPUs XLA has no fast product that rounds to half precision.
        return jnp.matmul(x, kernel, preferred_element_type="float32")
    return lean_ops.cast(lean_ops.matmul(x, kernel), "float32")


def _matmul_transposed(x, y):
    """`x · yᵀ` of the last two axes: `(..., N, K)` and `(..., M, K)` give `(..., N, M)`.

    TensorFlow fuses product and transposition by itself, but not inside a loop.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.matmul(x, y, transpose_b=True)
    return lean_ops.matmul(x, lean_ops.swapaxes(y, -1, -2))


def float32_matmul_transposed(x, y):
    """`_matmul_transposed` with a float32 result.

    XLA computes it, and its gradient, without rounding to half precision first, for which a TPU
    would need another pass over the result.
    """
    if keras.config.backend() == "jax":
        import jax.numpy as jnp

        return jnp.matmul(x, jnp.swapaxes(y, -1, -2), preferred_element_type="float32")
    return ops.cast(_matmul_transposed(x, y), "float32")


def layer_norm(x, gamma, beta, epsilon):
    """Layer normalization of the last axis in float32, with operations that compilers fuse.

    Args:
        x: Float32 tensor `(N, D)`.
        gamma: Float32 tensor `(D,)`.
        beta: Float32 tensor `(D,)`.
        epsilon: Float, added to the variance.
    """
    if keras.config.backend() == "torch":
        return torch_ops.layer_norm(x, gamma, beta, epsilon)
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
    return centered * (ops.rsqrt(variance + epsilon) * gamma) + beta


def swap_heads(x):
    """Swaps the axes of hypotheses and heads: float tensor `(B, M, N, K)` to `(B, N, M, K)`."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        # oneDNN costs 50 µs per float transpose; integers bypass it.
        integer = {2: tf.int16, 4: tf.int32, 8: tf.int64}[x.dtype.size]
        return tf.bitcast(tf.transpose(tf.bitcast(x, integer), (0, 2, 1, 3)), x.dtype)
    return lean_ops.transpose(x, (0, 2, 1, 3))


def attends_by_rows(num_sentences):
    """True if hypotheses should attend one by one, as a batch of single rows with the same keys.

    TensorFlow divides a product of one head among threads if it has more than 16,384 terms, as with
    4 hypotheses of 17 positions and a width of 64. Waking the threads takes 20 to 60 µs, but the
    product itself only 2 µs. Products of a single row are never divided.

    Args:
        num_sentences: Number of sentences, None if it is not known.
    """
    return keras.config.backend() == "tensorflow" and num_sentences == 1


def take(x, indices, axis=0):
    """`keras.ops.take` with indices from 0.

    Args:
        x: Tensor.
        indices: Integer tensor of any shape.
        axis: Axis of `x` that is replaced by `indices`' axes.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, indices, axis=axis)
    return lean_ops.take(x, indices, axis=axis)


def take_in_rows(x, indices):
    """Picks in every row: `x (N, M, ...)` and integer indices `(N, P)` give `(N, P, ...)`."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        return tf.gather(x, indices, batch_dims=1)
    if keras.config.backend() == "torch":
        return torch_ops.take_in_rows(x, indices)
    if x.ndim == 2:
        return ops.take_along_axis(x, indices, axis=1)
    flat = ops.reshape(x, (-1, *x.shape[2:]))  # --> (N·M, ...)
    first_rows = ops.arange(x.shape[0], dtype=indices.dtype) * x.shape[1]
    picked = ops.take(flat, ops.reshape(first_rows[:, None] + indices, (-1,)), axis=0)
    return ops.reshape(picked, (*indices.shape, *x.shape[2:]))


def top_k(x, k):
    """The k largest values of the last axis, best first, and their int32 positions.

    Args:
        x: Tensor `(..., M)`.
        k: Integer, at most M.
    """
    values, positions = lean_ops.top_k(x, k)
    if keras.config.backend() == "jax":
        import jax

        # If only some of the k values were used, XLA would sort all of `x` for them. A single
        # barrier for both makes the compiler crash if several devices share the batch.
        values, positions = map(jax.lax.optimization_barrier, (values, positions))
    return values, lean_ops.cast(positions, "int32")


def initial_length(length, token_ids):
    """The length of an empty cache: 0 if the cache grows with each step, otherwise `length`.

    Args:
        length: Number of positions that the cache must hold in the end.
        token_ids: Any integer tensor of the computation.
    """
    if keras.config.backend() == "tensorflow":
        # Known only when the graph runs, so that shapes may change.
        return ops.min(token_ids) * 0
    return 0 if keras.config.backend() == "torch" else length


def append_position(cached, new, index):
    """Appends the slots of position `index` to axis 2, in the backend's fastest way.

    TensorFlow grows the cache, JAX updates one of fixed size, PyTorch writes in place, reads the
    part written so far, and makes room for more as it is needed.

    Returns:
        Two tensors: the cache to keep, and the part to attend to.
    """
    if keras.config.backend() == "torch":
        return torch_ops.append_in_place(cached, new, index)
    if keras.config.backend() == "jax":
        return _append_by_update(cached, new, index)
    return _append_by_growing(cached, new)


def _append_by_growing(cached, new):
    cached = ops.concatenate([cached, new], axis=2)
    return cached, cached


def _append_by_update(cached, new, index):
    start = [0] * cached.ndim
    start[2] = index * new.shape[2]
    cached = ops.slice_update(cached, start, new)
    return cached, cached


def lay_out_keys(cached):
    """A cache of keys `(B, H, M, K)` in the order in which products with queries read it fastest.

    On JAX it is `(B, H, K, M)`, which XLA multiplies up to four times as fast on CPUs.
    """
    return ops.swapaxes(cached, 2, 3) if keras.config.backend() == "jax" else cached


def append_keys(cached, new, index):
    """`append_position` of keys `(B, H, W, K)` to a cache from `lay_out_keys`.

    Returns:
        Two tensors: the cache to keep, laid out, and the keys `(B, H, M, K)` to attend to.
    """
    if keras.config.backend() != "jax":
        return append_position(cached, new, index)
    start = [0, 0, 0, index * new.shape[2]]
    cached = ops.slice_update(cached, start, ops.swapaxes(new, 2, 3))
    return cached, ops.swapaxes(cached, 2, 3)


def cast_preprocessed(x, dtype):
    """Casts what a preprocessor makes, which may belong to another library than the backend.

    Args:
        x: A tensor of the backend, an array of NumPy (in a pipeline of Grain) or a tensor of
            TensorFlow (in one of `tf.data`).
        dtype: Name of a dtype.

    Returns:
        `x` in that dtype, in the same library.
    """
    if isinstance(x, np.ndarray):
        return x.astype(dtype)
    if ops.is_tensor(x):
        return ops.cast(x, dtype)
    import tensorflow as tf

    return tf.cast(x, dtype)


def drop(x, rate, seed_generator):
    """Sets units to 0 with probability `rate`, and divides the others by `1 - rate`.

    JAX's own generator costs a hundred integer operations per unit, on TPUs more time than the
    matrix product before it. Here it draws one number per row of units, which is mixed with each
    unit's place in the row. As with JAX's own, the units dropped do not depend on how `x` is
    divided among devices. TensorFlow draws 16 bits per unit, in half the time of 32, so the
    probability is `rate` to within 0.00001.

    Args:
        x: Float tensor `(..., D)`.
        rate: Share of the units, in [0, 1).
        seed_generator: A `keras.random.SeedGenerator`.

    Returns:
        Float tensor of `x`'s shape and dtype.
    """
    num_dropped = round(rate * 2**16)  # how many of all 16-bit numbers drop a unit
    has_pairs = x.shape[-1] is not None and x.shape[-1] % 2 == 0
    if keras.config.backend() == "tensorflow" and has_pairs and 0 < num_dropped < 2**16:
        return x * (_mask_of_16_bits(x, num_dropped, seed_generator) * (1 / (1 - rate)))
    if keras.config.backend() != "jax":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import jax.numpy as jnp

    is_kept = _random_numbers(seed_generator.next(), x.shape) >= jnp.uint32(int(rate * 2**32))
    return jnp.where(is_kept, x * jnp.asarray(1 / (1 - rate), x.dtype), jnp.zeros_like(x))


def _mask_of_16_bits(x, num_dropped, seed_generator):
    """A mask of `x`, 0 for `num_dropped` of 2^16 random numbers, else 1, on TensorFlow."""
    import tensorflow as tf

    seed, shape = tf.cast(seed_generator.next(), "int32"), tf.shape(x)
    pairs = tf.concat([shape[:-1], [x.shape[-1] // 2]], axis=0)
    bits = tf.random.stateless_uniform(pairs, seed, minval=None, maxval=None, dtype="uint32")
    is_kept = tf.reshape(tf.bitcast(bits, "uint16"), shape) >= tf.constant(num_dropped, "uint16")
    return tf.cast(is_kept, x.dtype)


def _random_numbers(seed, shape):
    """Random `uint32` of a shape `(..., D)` from a `uint32` seed `(2,)`, on JAX."""
    import jax
    import jax.numpy as jnp

    key = jax.random.wrap_key_data(seed, impl="threefry2x32")
    rows = jax.random.bits(key, (*shape[:-1], 1), "uint32")
    places = jnp.arange(shape[-1], dtype="uint32") * jnp.uint32(_GOLDEN_RATIO)
    x = rows ^ places
    x = (x ^ (x >> 16)) * jnp.uint32(_FIRST)
    x = (x ^ (x >> 15)) * jnp.uint32(_SECOND)
    return x ^ (x >> 16)


def seed_torch_dropout(*numbers):
    """Seeds torch's own generator, from which Keras draws dropout, if PyTorch is the backend."""
    if keras.config.backend() == "torch":
        import torch

        (seed,) = np.random.SeedSequence(numbers).generate_state(1)
        torch.manual_seed(int(seed))
