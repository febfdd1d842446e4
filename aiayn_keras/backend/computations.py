"""The computations of layers besides their weights: their classes, their `call` and settings.

Keras lets all three be changed once a layer is built (`feed_forward.activation = gelu`,
`block.call = mine`), and the layer follows. Whatever repeats its computation does not: a compiled
function, the decoder of a search, another program's format, a config. Here they learn of it.
"""

PACKAGES = ("aiayn_keras", "keras", "keras_hub")
"""Those whose layers are known to this package."""

_SETTINGS = (
    *("activation", "epsilon", "normalize_first", "center", "scale", "use_bias"),
    *("num_heads", "key_dim", "value_dim"),
)
"""Attributes of layers that change what they compute, where a layer has them."""
_AS_BUILT = "_settings_as_built"


def note_settings(layers):
    """Notes the settings that layers are built with, for `changes_of`."""
    for layer in layers:
        vars(layer)[_AS_BUILT] = _settings_of(layer)


def computation_of(layer):
    """A hashable value that differs once a layer computes something else with the same weights."""
    return type(layer), _call_of(layer), *map(_hashable, _settings_of(layer))


def changes_of(layer):
    """Names what has been changed of a layer since `note_settings`: `call`, or settings."""
    changes = [] if is_known(_call_of(layer)) else ["call"]
    as_built = vars(layer).get(_AS_BUILT)
    if as_built is not None:
        pairs = zip(_SETTINGS, as_built, _settings_of(layer), strict=True)
        changes += [name for name, old, new in pairs if _hashable(old) != _hashable(new)]
    return changes


def is_known(thing):
    """Whether a class or a function is from this package or Keras."""
    return (getattr(thing, "__module__", None) or "").split(".")[0] in PACKAGES


def _call_of(layer):
    return getattr(layer.call, "__func__", layer.call)


def _settings_of(layer):
    return tuple(map(vars(layer).get, _SETTINGS))


def _hashable(value):
    is_plain = value is None or isinstance(value, (bool, int, float, str)) or callable(value)
    return value if is_plain else id(value)
