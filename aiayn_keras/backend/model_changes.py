"""Signs that a model has changed since its weights or computations were copied.

Keras lets the class, `call` and settings of a layer be changed once it is built
(`feed_forward.activation = gelu`, `block.call = mine`), and the layer follows. Code that repeats
its computation does not: a compiled function, the decoder of a search, another program's format, a
config. This module lets all of them notice the change.

Weights change, too. Comparing all their values would take half as long as translating a sentence.
Each backend has a cheaper sign: JAX's arrays never change, TensorFlow writes to a new buffer where
somebody else holds the old one, and PyTorch counts changes, though not those by way of `.data`, so
some values of every row and column are compared there.
"""

import functools
import math
from types import SimpleNamespace

import keras
import numpy as np

_PACKAGES = ("aiayn_keras", "keras", "keras_hub")
"""Packages whose layers are known."""

_SETTINGS = (
    *("activation", "epsilon", "normalize_first", "center", "scale", "use_bias"),
    *("num_heads", "key_dim", "value_dim", "causal", "table", "logit_soft_cap"),
    *("join", "_attend"),
)
"""Attributes and methods that, if a layer has them, determine what it computes."""
_AS_BUILT, _NOTHING = "_settings_as_built", SimpleNamespace()


def note_settings(layers):
    """Notes the settings that layers are built with, for `changes_of`."""
    for layer in layers:
        settings = vars(layer)
        names = (name for name in _SETTINGS if name in settings or hasattr(type(layer), name))
        # In a list, Keras would look for weights whenever it saves or loads the layer.
        settings[_AS_BUILT] = SimpleNamespace(**{name: settings.get(name) for name in names})


def computation_of(layer):
    """A hashable value that changes if a layer computes something else from the same weights."""
    settings = vars(layer)
    # Not among the settings, since exports can handle adapters: they merge the weights times this.
    lora_alpha = settings.get("lora_alpha")
    return type(layer), _call_of(layer), lora_alpha, *map(_hashable, map(settings.get, _SETTINGS))


def changes_of(layer):
    """Names the changes to a layer since `note_settings`: `call`, or settings.

    A `call` defined by a class from outside this package and Keras is not a change, since loading
    the model requires that class anyway.
    """
    settings = vars(layer)
    is_own_class = not is_known(type(layer)) and "call" not in settings
    changes = [] if is_own_class or is_known(_call_of(layer)) else ["call"]
    for name, old in vars(settings.get(_AS_BUILT, _NOTHING)).items():
        new = settings.get(name)
        # Usually it is the same object, which is quick: an engine asks for every sentence.
        if new is not old and _hashable(new) != _hashable(old):
            changes.append(name)
    return changes


def own_classes(layers):
    """Names classes of layers from outside this package and Keras, and changes of other layers.

    Returns:
        Sorted list of names such as `"MyBlock"`, and `"DecoderBlock.call"` for a layer whose `call`
        was replaced.
    """
    names = set()
    for layer in layers:
        cls = type(layer)
        if is_known(cls):
            names.update(f"{cls.__name__}.{change}" for change in changes_of(layer))
        else:
            names.add(cls.__name__)
    return sorted(names)


def is_known(thing):
    """True if a class or a function is from this package or Keras."""
    return _is_known_module(getattr(thing, "__module__", None) or "")


@functools.cache
def _is_known_module(name):
    return name.split(".")[0] in _PACKAGES


def _call_of(layer):
    return getattr(layer.call, "__func__", layer.call)


def _hashable(value):
    is_plain = value is None or isinstance(value, (bool, int, float, str)) or callable(value)
    return value if is_plain else _Same(value)


class _Same:
    """A value that equals only itself. It is kept alive, so that no other can get its id."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _Same) and self._value is other._value

    def __hash__(self):
        return id(self._value)


class WeightsSnapshot:
    """The state of variables at the time when this is made.

    On TensorFlow it keeps the values of that time in memory once the variables have changed. A
    variable whose address cannot be told, such as one on a GPU, counts as changed.

    Args:
        variables: List of `keras.Variable`.
    """

    def __init__(self, variables):
        self._variables = list(variables)
        of_backend = {"tensorflow": _of_tensorflow, "jax": _of_jax, "torch": _of_torch}
        self._signs_of = of_backend[keras.config.backend()](self._variables)
        self._signs, self._kept = self._signs_of()

    def is_current(self, variables):
        """True if these are the same variables, and none has been written to since."""
        if list(map(id, variables)) != list(map(id, self._variables)):
            return False
        signs, _ = self._signs_of()
        return self._signs == signs


# For each backend, a function that makes a function without arguments. This returns a list of signs
# that change when the variables do, and the objects that must be kept for the signs to stay valid.


def _of_tensorflow(variables):
    import tensorflow as tf

    def of_one_device(variable):
        value = variable.value
        return value.values[0] if isinstance(value, tf.distribute.DistributedValues) else value

    resources = [of_one_device(variable) for variable in variables]

    # Compiled, they are read in a sixth of the time.
    @functools.partial(tf.function, autograph=False)
    def read():
        return [
            tf.raw_ops.ReadVariableOp(resource=resource.handle, dtype=resource.dtype)
            for resource in resources
        ]

    read = read.get_concrete_function()

    def signs():
        values = read()
        arrays = [np.asarray(value) for value in values]  # no copies: views of the buffers
        return [array.__array_interface__["data"][0] for array in arrays], values

    return signs


def _of_jax(variables):
    def signs():
        values = [variable.value for variable in variables]
        return list(map(id, values)), values

    return signs


def _of_torch(variables):
    import torch

    def signs():
        values = [variable.value.detach() for variable in variables]
        samples = torch.cat([_sample(value).view(torch.uint8) for value in values])
        counts = [(value.data_ptr(), _count_of_changes(value)) for value in values]
        return (counts, samples.cpu().numpy().tobytes()), values

    return signs


_MAX_COMPARED = 4096
"""Number of values up to which those of a variable of PyTorch are all compared."""


def _sample(value):
    """The values of a PyTorch tensor to compare: of a large one, some of each row and column."""
    step = 1
    if value.numel() > _MAX_COMPARED and _count_of_changes(value) is not None:
        step = max(1, min(value.shape) - 1)
        while math.gcd(step, value.shape[-1]) > 1:  # it would leave columns out
            step -= 1
    return value.reshape(-1)[::step].contiguous()


def _count_of_changes(value):
    return None if value.is_inference() else value._version
