"""Matrix products in half precision whose sums are float32."""

import keras
from keras import ops


def float32_matmul(x, kernel):
    """`x · kernel` with factors in the kernel's dtype and a float32 result.

    Args:
        x: Float tensor `(N, D_in)`, cast to the kernel's dtype.
        kernel: Float tensor `(D_in, D_out)`.

    Returns:
        Float32 tensor `(N, D_out)`.
    """
    x = ops.cast(x, kernel.dtype)
    if keras.config.backend() == "jax":
        import jax.numpy as jnp

        # XLA has no fast product on CPUs that is rounded to half precision.
        return jnp.matmul(x, kernel, preferred_element_type="float32")
    return ops.cast(ops.matmul(x, kernel), "float32")
