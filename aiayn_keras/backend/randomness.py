"""Random dropout, as cheap as each backend can have it, and its seeds."""

import keras
import numpy as np

# Multipliers and shifts of a mixing function (https://github.com/skeeto/hash-prospector): each bit
# of its result depends on every bit of its input.
_GOLDEN_RATIO, _FIRST, _SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B


def drop(x, rate, seed_generator):
    """Sets units to 0 with probability `rate`, and divides the others by `1 - rate`.

    JAX's own generator costs a hundred integer operations per unit, on TPUs more time than the
    matrix product before it. Here it draws one number per row of units, which is mixed with each
    unit's place in the row. As with JAX's own, the units dropped do not depend on how `x` is
    divided among devices.

    Args:
        x: Float tensor `(..., D)`.
        rate: Share of the units, in [0, 1).
        seed_generator: A `keras.random.SeedGenerator`.

    Returns:
        Float tensor of `x`'s shape and dtype.
    """
    if keras.config.backend() != "jax":
        return keras.random.dropout(x, rate, seed=seed_generator)
    import jax.numpy as jnp

    is_kept = _random_numbers(seed_generator.next(), x.shape) >= jnp.uint32(int(rate * 2**32))
    return jnp.where(is_kept, x * jnp.asarray(1 / (1 - rate), x.dtype), jnp.zeros_like(x))


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
    """Seeds torch's own generator, Keras' source of dropout on PyTorch; else does nothing."""
    if keras.config.backend() == "torch":
        import torch

        (seed,) = np.random.SeedSequence(numbers).generate_state(1)
        torch.manual_seed(int(seed))
