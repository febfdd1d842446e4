"""The defaults of `TransformerBackbone`, for those who fill in what is not given."""

import inspect

from aiayn_keras.models.transformer_backbone import TransformerBackbone

BACKBONE_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(TransformerBackbone.__init__).parameters.items()
    if parameter.default is not parameter.empty and name != "dtype"
}
"""The options of a `TransformerBackbone` and their defaults."""
