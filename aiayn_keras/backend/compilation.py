"""Compiled inference on each backend: functions, loops, and batches in parallel.

In a forked process, a backend would wait forever, so it is refused. A fork copies the memory of a
process but not its threads: locks that they held are never released, and work that is handed to
them is never done. Processes that are spawned, or forked by `multiprocessing`'s server, start their
own threads.
"""

import contextlib
import functools
import itertools
import os
import sys
import threading

import keras
from keras import ops, tree

from aiayn_keras.backend.devices import has_accelerator
from aiayn_keras.backend.kept_variables import check_variables, put_back_variables
from aiayn_keras.backend.model_changes import computation_of
from aiayn_keras_light.translating import map_in_threads
from aiayn_keras_light.usable_cores import usable_cores

_first_process = None
"""Id of the process whose backend started threads: this one, or one that it was forked from."""


def note_model():
    """Notes that a model is built: TensorFlow and JAX start threads for that, PyTorch does not."""
    global _first_process
    if _first_process is None and keras.config.backend() != "torch":
        _first_process = os.getpid()


def begin_computing(*models):
    """Notes that models are used.

    Args:
        *models: Those whose weights are read outside of a training step, see `put_back_variables`.

    Raises:
        RuntimeError: In a process that was forked from one that had used a model or, on TensorFlow
            and JAX, built one; and on JAX, while another thread trains.
    """
    global _first_process
    if _first_process is None:
        _first_process = os.getpid()
    if _first_process != os.getpid():
        raise RuntimeError(
            f"This process, {os.getpid()}, was forked after process {_first_process} had built or "
            f"used a model: the threads of {keras.config.backend()} were not copied, and it would "
            'wait for them forever. Start it with `multiprocessing.get_context("spawn")` or '
            '`"forkserver"` or as a command of its own, or fork before the first model is built.'
        )
    put_back_variables(models)


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
            key: Hashable identity of the function. That of the models is part of it, see
                `identity_of`.
            function: See `compile_inference`.
            *models: See `compile_inference`.

        Raises:
            RuntimeError: In a forked process that cannot compute, see `begin_computing`.
        """
        begin_computing()
        key = (key, *map(identity_of, models))
        functions = self._functions
        with self._lock:  # Batches are searched in threads.
            functions[key] = functions.pop(key, None) or compile_inference(function, *models)
            while len(functions) > self._capacity:  # The least recently used one is first.
                functions.pop(next(iter(functions)))
            return functions[key]


def identity_of(model):
    """A hashable value that differs once a function compiled for a model is out of date.

    `quantize` and `enable_lora` replace variables; for layers, see `computation_of`.
    """
    return *map(id, model.variables), *map(computation_of, model._flatten_layers())


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


_OLDEST_JAX = (0, 6, 1)
"""Older versions compile searches of groups of sentences wrongly, without an error."""


def _compile_jax(function, models):
    import jax

    if jax.__version_info__ < _OLDEST_JAX:
        raise RuntimeError(
            f"JAX {jax.__version__} compiles searches wrongly: some translations would be empty. "
            "Install a newer one: pip install 'jax>=0.6.2'."
        )

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
        check_variables(models)
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


def backend_name():
    """Name of Keras' backend, for a training's notes."""
    return keras.config.backend()


def compiles_by_default():
    """True if training steps are best compiled by XLA, which is on JAX only.

    On TensorFlow, XLA recompiles for every batch shape and is no faster on CPUs; PyTorch runs
    uncompiled.
    """
    return keras.config.backend() == "jax"


def as_written(function):
    """Returns a function that AutoGraph does not rewrite, on TensorFlow.

    Tracing a rewritten search takes four times as long.
    """
    if keras.config.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.autograph.experimental.do_not_convert(function)


def register_parameters(model):
    """Lists the variables of a model that has just been built among its PyTorch parameters.

    KerasHub hides what Keras sets from PyTorch while a model is built. Until `fit`, the model would
    have an empty `state_dict()`, and `zero_grad()` would let gradients add up. Other backends have
    no such list.

    Args:
        model: A `keras.Model` of KerasHub.
    """
    if keras.config.backend() == "torch":
        model._post_build()


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


def while_loop(cond, body, loop_vars, is_small=False):
    """`keras.ops.while_loop`; a TensorFlow graph can run every step as a call of one function.

    TensorFlow usually lowers loops and branches to switches and merges, and computes their bodies
    with oneDNN. That pays for large tensors; for small ones oneDNN costs 50 µs per operation on
    CPUs, ten times the plain kernel. Half precision has no fast plain kernels.

    Args:
        cond: Function of the loop variables that returns whether to continue.
        body: Function of the loop variables that returns the next ones.
        loop_vars: Tuple of nested tensors.
        is_small: Whether the tensors are small; if so, no step may change their shapes.
    """
    if keras.config.backend() == "torch":  # without conversions, so a counter stays one of Python
        while cond(*loop_vars):
            loop_vars = body(*loop_vars)
        return loop_vars
    if keras.config.backend() != "tensorflow" or not is_small:
        return ops.while_loop(cond, body, loop_vars)
    body = _keep_shapes(body)
    dtypes = {keras.backend.standardize_dtype(x.dtype) for x in tree.flatten(loop_vars)}
    with contextlib.nullcontext() if dtypes & {"bfloat16", "float16"} else _whole():
        return ops.while_loop(cond, body, loop_vars)


def loop_counter(start):
    """A counter for `while_loop`: an int32 scalar, or a Python integer where Python loops."""
    if keras.config.backend() == "torch":
        return start
    return ops.convert_to_tensor(start, dtype="int32")


def cond_without_lowering(pred, true_fn, false_fn):
    """`keras.ops.cond` for a branch that is rarely taken; a TensorFlow graph does not lower it."""
    with _whole():
        return ops.cond(pred, true_fn, false_fn)


def _keep_shapes(body):
    """The same step, with the shapes of the loop variables set on its results."""
    import tensorflow as tf

    def step(*loop_vars):
        results = body(*loop_vars)
        if not tf.executing_eagerly():
            for before, after in zip(*map(tree.flatten, (loop_vars, results)), strict=True):
                after.set_shape(before.shape)
        return results

    return step


def _whole():
    """Context manager in which TensorFlow does not lower loops and branches."""
    if keras.config.backend() != "tensorflow":
        return contextlib.nullcontext()
    import tensorflow as tf

    # Read where they are made; they run with the executor of the graph that they are in.
    return tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR")


class _FewerThreads:
    """Lets PyTorch use fewer threads per operation while calls that ask for it are running."""

    def __init__(self):
        self._lock, self._divisors, self._usual = threading.Lock(), [], None

    @contextlib.contextmanager
    def divided_by(self, divisor):
        """A context in which an operation has the usual number of threads divided by `divisor`.

        The largest divisor of the running calls counts; the last call to end resets the number.
        """
        import torch

        with self._lock:
            if not self._divisors:
                self._usual = torch.get_num_threads()
            self._divisors.append(divisor)
            self._divide()
        try:
            yield
        finally:
            with self._lock:
                self._divisors.remove(divisor)
                self._divide()

    def _divide(self):
        import torch

        torch.set_num_threads(max(1, self._usual // max(self._divisors, default=1)))


_fewer_threads = _FewerThreads()


def for_small_operations():
    """A context in which PyTorch computes each operation in one thread, for very short operations.

    Several threads would spin while they wait for each other. If another program needs a core, an
    operation of microseconds then takes milliseconds, and a sentence ten times as long.
    """
    if keras.config.backend() != "torch":
        return contextlib.nullcontext()
    return _fewer_threads.divided_by(sys.maxsize)


def use_one_core_per_batch():
    """Lets `in_parallel` give every core its own batch, the fastest way through many batches.

    This has no effect once TensorFlow has computed anything, nor on JAX and PyTorch.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        # TensorFlow's error says that it has begun to compute.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(1)


def run_one_operation_at_a_time():
    """Gives every operation all cores, the fastest way through large batches of a small model.

    On a CPU TensorFlow also runs operations side by side, and small ones then wait for each
    other's threads: a model of width 128 trains about a tenth faster this way on two cores, a
    model of width 256 or 512 no faster, or slower. TensorFlow must not have computed anything yet.
    """
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_inter_op_parallelism_threads(1)


def _num_parallel_batches():
    if keras.config.backend() == "torch" and has_accelerator():
        return 1
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.threading.get_intra_op_parallelism_threads() == 1:
            return usable_cores()
    return 2


def in_parallel(function, items):
    """Calls a compiled function with each item, and yields the results in order.

    One batch of a small model does not keep two cores busy, so two run at once (or one per core,
    see `use_one_core_per_batch`). On PyTorch the two divide the threads between them; a GPU, which
    computes one operation after another, has one batch at a time.

    Args:
        function: Takes an item.
        items: List of items.

    Yields:
        `function(item)` for every item.
    """
    num_threads = max(1, min(len(items), _num_parallel_batches()))
    is_torch = keras.config.backend() == "torch"
    with _fewer_threads.divided_by(num_threads) if is_torch else contextlib.nullcontext():
        yield from map_in_threads(function, items, num_threads)
