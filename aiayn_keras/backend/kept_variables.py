"""The variables of a model while Keras trains, evaluates or predicts with it.

On JAX, Keras then takes their values out of them, and gives the memory away. It puts the values
back at the end of an epoch, and when a callback reads `self.model`.
"""

import contextlib
import threading

import keras
from keras import ops

TRAINABLE_HAVE_CHANGED = (
    "The trainable variables have changed, for example by `enable_lora` or "
    "`layer.trainable = False`, but the step or the optimizer is made for the old ones: call "
    "`model.compile(...)` first, with a new optimizer."
)

_running = []
"""Stack of the models that Keras is computing with, each in a pair with the thread that does so."""


def build_optimizer(model):
    """Creates the variables of a compiled model's optimizer on the model's devices.

    A TensorFlow training step that has to create them itself is traced twice.

    Raises:
        RuntimeError: On JAX, if it has been built for other variables, as that of a `.keras` file
            whose layers have then been frozen.
    """
    if model.optimizer.built:
        if keras.config.backend() == "jax" and not _is_built_for(model):
            raise RuntimeError(TRAINABLE_HAVE_CHANGED)
        return
    on_devices = contextlib.nullcontext()
    if keras.config.backend() == "tensorflow":
        on_devices = model.distribute_strategy.scope()
    with on_devices:
        model.optimizer.build(model.trainable_variables)


def _is_built_for(model):
    # A dictionary of Keras' own, since `MultiOptimizer` has no list.
    optimizer = model.optimizer
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a `LossScaleOptimizer`
    built_for = getattr(optimizer, "_trainable_variables", None)
    return built_for is None or list(map(id, built_for)) == list(map(id, model.trainable_variables))


@contextlib.contextmanager
def keeps_variables(model, is_training=False):
    """A context in which a model keeps its weights if an error, or Ctrl-C, ends it.

    On JAX, Keras puts them back only at the end, or after the first step of a training. It also
    gives their memory away, so no two may share it, as weights and their moving averages
    (`use_ema`) do when a training has ended.

    Args:
        model: A `keras.Model`.
        is_training: True if the variables of its optimizer are used, too.

    Raises:
        RuntimeError: As `put_back_variables`.
    """
    if keras.config.backend() != "jax":
        yield
        return
    put_back_variables([model])
    variables = model.variables
    if is_training and model.optimizer is not None:
        build_optimizer(model)
        variables += model.optimizer.variables
    values = [(variable, variable._value) for variable in variables]
    running = model, threading.get_ident()
    _running.append(running)
    try:
        yield
    except BaseException:
        model.jax_state_sync()  # the values after the last step, which has deleted those before
        for variable, value in values:
            if variable._value is None:
                variable._value = value
        model.reset_metrics()
        raise
    finally:
        _running.remove(running)
        _unshare(variables)


def put_back_variables(models):
    """Puts back the values of variables that Keras has taken out of them, on JAX.

    A callback may use the trained model, and others that share its layers.

    Args:
        models: `keras.Model`s whose variables are to be read.

    Raises:
        RuntimeError: If a variable is in use by another thread, or by a model of another package.
    """
    if keras.config.backend() != "jax" or not models:
        return
    for running, thread in _running:
        if thread == threading.get_ident():
            running.jax_state_sync()
        elif _share_variables(running, models):
            raise _in_use(running)
    check_variables(models)


def _share_variables(running, models):
    used = set(map(id, running.variables))
    return any(id(variable) in used for model in models for variable in model.variables)


def check_variables(models):
    """Raises a RuntimeError if variables of models have no value, on JAX."""
    if any(variable._value is None for model in models for variable in model.variables):
        raise _in_use(models[0])


def _in_use(model):
    return RuntimeError(
        f"On JAX, the weights of `{model.name}` cannot be read while a `fit`, `evaluate` or "
        "`predict` uses them, since Keras takes them out of the model. Wait for its end, or use a "
        "`copy.deepcopy` of the model made before; in a callback of a plain `keras.Model` with the "
        "same layers, read `self.model` first, which puts them back."
    )


def _unshare(variables):
    """Gives each variable of JAX a value of its own."""
    given = set()
    for variable in variables:
        if id(variable._value) in given:
            variable._value = ops.copy(variable._value)
        given.add(id(variable._value))
