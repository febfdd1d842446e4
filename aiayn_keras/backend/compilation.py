"""Compiled inference on each backend."""

import contextlib
import functools
import itertools
import threading

import keras
from keras import ops, tree


def compile_inference(function, *models):
    """Compiles `function`, which reads the variables of `models` and changes nothing.

    TensorFlow traces it once for all shapes (without XLA, which would compile once per shape), JAX
    compiles it once per shape, and PyTorch runs it without gradients.

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


class CompiledFunctions:
    """A cache of the most recently used compiled functions.

    Args:
        capacity: Number of functions to keep; each may hold megabytes.
    """

    def __init__(self, capacity=16):
        self._capacity, self._functions = capacity, {}
        self._lock = threading.Lock()

    def __len__(self):
        return len(self._functions)

    def get(self, key, function, *models):
        """Returns a function compiled by `compile_inference`, compiling it if it is not cached.

        Args:
            key: Hashable identity of the function. The models' variables are part of the key,
                since `quantize` and `enable_lora` replace them.
            function: See `compile_inference`.
            *models: See `compile_inference`.
        """
        key = (key, *map(variable_ids, models))
        functions = self._functions
        with self._lock:  # Batches are searched in threads.
            functions[key] = functions.pop(key, None) or compile_inference(function, *models)
            while len(functions) > self._capacity:  # The least recently used one is first.
                functions.pop(next(iter(functions)))
            return functions[key]


def variable_ids(model):
    """Identities of a model's variables; `quantize` and `enable_lora` replace variables."""
    return tuple(map(id, model.variables))


def _compile_tensorflow(function, models):
    import tensorflow as tf

    compiled, lock = {}, threading.Lock()  # Batches are searched in threads.
    # TensorFlow warns about functions that are traced often and identifies them by their code, so
    # searches with different options look the same to it. A partial function has no code.
    one_of_many = functools.partial(function)

    @functools.wraps(function)
    def call(*args):
        tensors = [tf.convert_to_tensor(arg) for arg in args]
        kinds = tuple((tensor.dtype, tensor.shape.rank) for tensor in tensors)
        with lock:
            if kinds not in compiled:
                specs = [tf.TensorSpec([None] * rank, dtype) for dtype, rank in kinds]
                traced = tf.function(one_of_many, input_signature=specs, autograph=False)
                compiled[kinds] = traced.get_concrete_function()  # quicker to call than `traced`
        return compiled[kinds](*tensors)

    return call


def _compile_jax(function, models):
    import jax

    @jax.jit
    def stateless(values, args):
        mapping = itertools.chain.from_iterable(
            zip(variables, group, strict=True)
            for variables, group in zip(_variables(models), values, strict=True)
        )
        with keras.StatelessScope(state_mapping=mapping, initialize_variables=False):
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
    """True if training steps are best compiled by XLA, which is on JAX only.

    On TensorFlow, XLA recompiles for every batch shape and is no faster on CPUs; PyTorch runs
    uncompiled.
    """
    return keras.config.backend() == "jax"


def build_optimizer(model):
    """Creates the variables of a compiled model's optimizer on the model's devices.

    A TensorFlow training step that has to create them itself is traced twice.
    """
    if model.optimizer.built:
        return
    on_devices = contextlib.nullcontext()
    if keras.config.backend() == "tensorflow":
        on_devices = model.distribute_strategy.scope()
    with on_devices:
        model.optimizer.build(model.trainable_variables)


def shapes_may_change():
    """True if a tensor may change its shape from step to step: not where XLA compiles."""
    return keras.config.backend() != "jax"


def with_free_shapes(dataset):
    """A data set whose batches may have any shape.

    Given a Grain data set, Keras' TensorFlow trainer assumes that dimensions on which the first
    two batches agree are fixed, and refuses a later batch of a different size.

    Args:
        dataset: A `grain.IterDataset` of nested tuples and dictionaries of arrays.

    Returns:
        On TensorFlow a `tf.data.Dataset` of the same batches, elsewhere `dataset`.
    """
    if keras.config.backend() != "tensorflow":
        return dataset
    import tensorflow as tf

    signature = tree.map_structure(
        lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), next(iter(dataset))
    )
    return tf.data.Dataset.from_generator(lambda: iter(dataset), output_signature=signature)
