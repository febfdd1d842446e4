"""What is compiled, on whatever backend runs."""

import contextlib
import functools
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import keras
from keras import ops, tree


def compile_inference(function, *models):
    """Compiles `function`, which reads the variables of `models` and changes nothing.

    TensorFlow traces it once for all shapes (without XLA, which would compile for every shape),
    JAX compiles it for every shape, PyTorch runs it without gradients.

    Args:
        function: Takes tensors and returns nested tensors.
        *models: The `keras.Model`s whose variables it reads.

    Returns:
        A function with `function`'s arguments, which may be NumPy arrays.
    """
    return {
        "tensorflow": _compile_tensorflow,
        "jax": _compile_jax,
        "torch": _compile_torch,
    }[keras.config.backend()](function, models)


def _compile_tensorflow(function, models):
    import tensorflow as tf

    def relaxed(array):
        tensor = tf.convert_to_tensor(array)
        return tf.TensorSpec([None] * tensor.shape.rank, tensor.dtype)

    compiled = {}
    # TensorFlow warns of functions that are traced often, and goes by their code: two searches with
    # other options are one to it. A partial function has no code.
    one_of_many = functools.partial(function)

    @functools.wraps(function)
    def call(*args):
        specs = tuple(relaxed(arg) for arg in args)
        if specs not in compiled:
            compiled[specs] = tf.function(one_of_many, input_signature=specs, autograph=False)
        return compiled[specs](*args)

    return call


def _compile_jax(function, models):
    import jax

    @jax.jit
    def stateless(values, args):
        mapping = itertools.chain.from_iterable(
            zip(variables, group, strict=True)
            for variables, group in zip(_variables(models), values, strict=True)
        )
        with keras.StatelessScope(state_mapping=mapping):
            return function(*args)

    @functools.wraps(function)
    def call(*args):
        values = tree.map_structure(lambda variable: variable.value, _variables(models))
        return stateless(values, tree.map_structure(ops.convert_to_tensor, args))

    return call


def _variables(models):
    return [list(model.variables) for model in models]


def _compile_torch(function, models):
    import torch

    @functools.wraps(function)
    def call(*args):
        with torch.no_grad():
            return function(*tree.map_structure(ops.convert_to_tensor, args))

    return call


def compiles_by_default():
    """Whether a training step is best compiled by XLA: on JAX only.

    On TensorFlow XLA compiles anew for every batch shape and is no faster on CPUs; PyTorch runs as
    it is.
    """
    return keras.config.backend() == "jax"


def bfloat16_products():
    """A context: what TensorFlow compiles in it multiplies matrices in bfloat16, no more.

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


def use_one_core_per_batch():
    """Lets `in_parallel` give every core a batch of its own, the fastest way through many batches.

    TensorFlow must not have computed anything yet, else nothing changes; nor does anything on JAX
    and PyTorch.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        # TensorFlow's error says that it has begun to compute.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(1)


def run_one_operation_at_a_time():
    """Lets every operation have all cores, the fastest way through large batches of a small model.

    On a CPU TensorFlow also runs operations side by side, and small ones then wait for each
    other's threads: a model of width 128 trains about a tenth faster so on two cores, one of width
    256 or 512 not at all, or slower. As above, TensorFlow must not have computed anything yet.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_inter_op_parallelism_threads(1)


def _num_parallel_batches():
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.threading.get_intra_op_parallelism_threads() == 1:
            return os.cpu_count()
    return 2


def in_parallel(function, items):
    """Calls a compiled function with one item after another, and gives the results in order.

    One batch of a small model does not keep two cores busy, so on TensorFlow and JAX two batches
    are under way at once, or see `use_one_core_per_batch`. PyTorch runs from Python, one thread at
    a time.

    Args:
        function: Takes an item.
        items: List of items.

    Yields:
        `function(item)` for every item.
    """
    if keras.config.backend() == "torch" or len(items) < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(_num_parallel_batches()) as executor:
        try:
            yield from executor.map(function, items)
        except BaseException:
            executor.shutdown(cancel_futures=True)
            raise
