"""Precision of matrix products alone, where a backend can choose it."""

import contextlib

import keras


def bfloat16_products():
    """A context in which TensorFlow compiles matrix products in bfloat16, and nothing else.

    On CPUs with fast bfloat16 products this is the best precision: sums, normalization and softmax
    are no faster in bfloat16 there. Weights and results stay float32. XLA ignores it.

    Raises:
        ValueError: On another backend, whose compiler has no such option.
    """
    if keras.config.backend() != "tensorflow":
        raise ValueError(
            "Products in bfloat16 alone need the TensorFlow backend. Received: "
            f'{keras.config.backend()}, where the precision "mixed_bfloat16" comes next to it.'
        )
    return _set_tensorflow_option("auto_mixed_precision_onednn_bfloat16")


@contextlib.contextmanager
def _set_tensorflow_option(option):
    import tensorflow as tf

    before = tf.config.optimizer.get_experimental_options().get(option, False)
    tf.config.optimizer.set_experimental_options({option: True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({option: before})
