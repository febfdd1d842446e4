"""Weights of a model as float32 arrays, for the formats of other engines."""

import numpy as np
from keras import ops


def float32_array(tensor):
    """A float32 copy of a variable or tensor, which the caller may change in place."""
    return np.array(ops.convert_to_numpy(tensor), dtype="float32")


def float32_kernel(layer):
    """The matrix of a Dense layer; a quantized one is recovered by applying it to the identity."""
    if layer.quantization_mode is None:
        return float32_array(layer.kernel)
    kernel = float32_array(layer(ops.eye(layer.input_spec.axes[-1])))
    return kernel - float32_array(layer.bias) if layer.use_bias else kernel
