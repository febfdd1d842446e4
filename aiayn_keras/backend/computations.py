"""The computations of layers besides their weights: their classes, their `call` and settings.

Keras lets all three be changed once a layer is built (`feed_forward.activation = gelu`,
`block.call = mine`), and the layer follows. Code that repeats its computation does not: a compiled
function, the decoder of a search, another program's format, a config. All of them use this file to
notice the change, so it stands apart from each of them.
"""

import functools

_PACKAGES = ("aiayn_keras", "keras", "keras_hub")
"""Packages whose layers are known."""

_SETTINGS = (
    *("activation", "epsilon", "normalize_first", "center", "scale", "use_bias"),
    *("num_heads", "key_dim", "value_dim", "causal", "table", "logit_soft_cap"),
    *("join", "_attend"),
)
"""Attributes, methods among them, that change what a layer computes, if it has them."""
_AS_BUILT = "_settings_as_built"


def note_settings(layers):
    """Notes the settings that layers are built with, for `changes_of`."""
    for layer in layers:
        settings = vars(layer)
        names = (name for name in _SETTINGS if name in settings or hasattr(type(layer), name))
        settings[_AS_BUILT] = [(name, settings.get(name)) for name in names]


def computation_of(layer):
    """A hashable value that changes if a layer computes something else from the same weights."""
    settings = vars(layer)
    # Not a setting, as others do know adapters: they merge their weights, multiplied by this.
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
    for name, old in settings.get(_AS_BUILT, ()):
        new = settings.get(name)
        # Usually it is the same object, which is quick: an engine asks for every sentence.
        if new is not old and _hashable(new) != _hashable(old):
            changes.append(name)
    return changes


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
