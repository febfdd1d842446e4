"""Our layers beside the paper's formulas in NumPy, differentiated by taking small steps."""

import keras
import numpy as np

from aiayn_keras.layers import DecoderBlock, EncoderBlock, MultiHeadAttention
from tests.fidelity.cases import MASK, F, normal
from tests.fidelity.differences import SEED, Comparison, Run, differences
from tests.fidelity.gradients import run_keras, weighted_sum
from tests.helpers import B, D, H, K, S, T
from tests.layers.helpers import numpy_attention, numpy_feed_forward, numpy_residual

VALUE_DIM = 6

# One sentence: every number of every weight is moved twice, and the formulas are slow.
SOURCE_MASK, TARGET_MASK = (np.tri(length, dtype=bool)[np.newaxis] for length in (S, T))
MEMORY_MASK = MASK[1:]


class Float64View:
    """A layer seen with other weights: float64 arrays, by the variables' paths."""

    def __init__(self, layer, arrays):
        self._layer, self._arrays = layer, arrays

    def __getattr__(self, name):
        value = getattr(self._layer, name)
        if isinstance(value, keras.Variable):
            return self._arrays[value.path]
        return Float64View(value, self._arrays) if isinstance(value, keras.Layer) else value


def central_differences(function, array, step=1e-6):
    """Gradient of a function of nothing to an array that it reads, one number at a time."""
    gradient = np.empty_like(array)
    for index in np.ndindex(array.shape):
        middle = array[index]
        array[index] = middle + step
        above = function()
        array[index] = middle - step
        below = function()
        array[index] = middle
        gradient[index] = (above - below) / (2 * step)
    return gradient


def compare(layer, call, formula, random, **inputs):
    """Compares a layer with a formula.

    Args:
        layer: A layer that is built.
        call: Function `(**tensors) -> output` that calls the layer.
        formula: Function `(layer, **arrays) -> output` in float64, of a layer that has `layer`'s
            sublayers and other weights.
        random: A NumPy generator.
        **inputs: Float32 arrays.
    """
    for variable in layer.weights:
        variable.assign(normal(random, *variable.shape) * 0.5)
    arrays = {
        variable.path: keras.ops.convert_to_numpy(variable).astype("float64")
        for variable in layer.weights
    }
    float64_inputs = {name: x.astype("float64") for name, x in inputs.items()}
    view = Float64View(layer, arrays)
    output = formula(view, **float64_inputs)
    weights = normal(random, *output.shape)

    def loss():
        return np.sum(formula(view, **float64_inputs) * weights)

    gradients = {
        name: central_differences(loss, array) for name, array in (arrays | float64_inputs).items()
    }
    ours = run_keras(
        lambda **tensors: weighted_sum(call(**tensors), weights),
        layer.trainable_variables,
        **inputs,
    )
    return differences(ours, Run(loss(), output, gradients))


def compare_attention():
    random = np.random.default_rng(SEED)
    layer = MultiHeadAttention(H, K, value_dim=VALUE_DIM)
    layer.build((B, T, D), (B, S, D))
    return compare(
        layer,
        lambda query, memory: layer(query, memory, MASK),
        lambda layer, query, memory: numpy_attention(layer, query, memory, MASK),
        random,
        query=normal(random, B, T, D),
        memory=normal(random, B, S, D),
    )


def encoder_formula(block, x):
    x = numpy_residual(
        block.self_attention_add_norm,
        x,
        lambda y: numpy_attention(block.self_attention, y, y, SOURCE_MASK),
    )
    return numpy_residual(
        block.feed_forward_add_norm, x, lambda y: numpy_feed_forward(block.feed_forward, y)
    )


def decoder_formula(block, x, memory):
    x = numpy_residual(
        block.self_attention_add_norm,
        x,
        lambda y: numpy_attention(block.self_attention, y, y, TARGET_MASK),
    )
    x = numpy_residual(
        block.cross_attention_add_norm,
        x,
        lambda y: numpy_attention(block.cross_attention, y, memory, MEMORY_MASK),
    )
    return numpy_residual(
        block.feed_forward_add_norm, x, lambda y: numpy_feed_forward(block.feed_forward, y)
    )


def compare_encoder_block(**options):
    random = np.random.default_rng(SEED)
    block = EncoderBlock(H, K, F, dropout=0.0, **options)
    block.build((1, S, D))
    return compare(
        block,
        lambda x: block(x, SOURCE_MASK),
        encoder_formula,
        random,
        x=normal(random, 1, S, D),
    )


def compare_decoder_block(**options):
    random = np.random.default_rng(SEED)
    block = DecoderBlock(H, K, F, dropout=0.0, **options)
    block.build((1, T, D), (1, S, D))
    return compare(
        block,
        lambda x, memory: block(x, memory, TARGET_MASK, MEMORY_MASK),
        decoder_formula,
        random,
        x=normal(random, 1, T, D),
        memory=normal(random, 1, S, D),
    )


def comparisons():
    compared = {
        "attention": compare_attention,
        "encoder block": compare_encoder_block,
        "decoder block": compare_decoder_block,
    }
    return [Comparison(f"NumPy, {name}", 1e-5, run) for name, run in compared.items()]
