import contextlib

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import DecoderBlock, Dropout, EncoderBlock
from tests.helpers import B, D, H, K, T, assert_close
from tests.layers.helpers import gradient, normal, to_numpy

SHAPE = 16, 64, 128
RATE = 0.3


def kept(layer):
    """The units of a tensor of `SHAPE` that a layer keeps, as float64."""
    return (to_numpy(layer(ops.ones(SHAPE), training=True)) != 0).astype("float64")


def deviations(share, number):
    """By how many standard deviations the mean of so many draws is off."""
    return abs(share - (1 - RATE)) / np.sqrt(RATE * (1 - RATE) / number)


def correlation(x, y):
    """Pearson's correlation, in standard deviations of that of independent draws."""
    return abs(np.corrcoef(x.ravel(), y.ravel())[0, 1]) * np.sqrt(x.size)


def test_the_share_of_units_is_dropped_and_the_others_grow():
    x = to_numpy(Dropout(RATE)(ops.ones(SHAPE), training=True))
    assert deviations((x != 0).mean(), x.size) < 4
    np.testing.assert_allclose(np.unique(x), [0, 1 / (1 - RATE)], rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_neighbours_are_dropped_independently(axis, distance):
    mask = np.moveaxis(kept(Dropout(RATE, seed=1)), axis, 0)
    assert correlation(mask[:-distance], mask[distance:]) < 4


def test_every_place_of_a_row_and_every_row_loses_its_share():
    mask = kept(Dropout(RATE, seed=1))
    rows, places = mask.mean(axis=2), mask.mean(axis=(0, 1))
    assert deviations(rows, SHAPE[2]).max() < 5
    assert deviations(places, SHAPE[0] * SHAPE[1]).max() < 5


def test_every_call_and_every_seed_drops_others():
    one, other = Dropout(RATE, seed=1), Dropout(RATE, seed=2)
    first, second, third = kept(one), kept(one), kept(other)
    assert correlation(first, second) < 4
    assert correlation(first, third) < 4


@pytest.mark.skipif(keras.config.backend() == "torch", reason="draws from torch's own generator")
def test_a_seed_drops_the_same_again():
    np.testing.assert_array_equal(kept(Dropout(RATE, seed=1)), kept(Dropout(RATE, seed=1)))


def test_nothing_is_dropped_at_inference_or_at_rate_0():
    x = normal(2, 7, 12)
    for layer, training in ((Dropout(RATE), False), (Dropout(0.0), True)):
        np.testing.assert_array_equal(to_numpy(layer(x, training=training)), to_numpy(x))


@pytest.mark.parametrize(("rate", "width"), [(1e-7, 4), (1 - 1e-7, 4), (RATE, 5)])
def test_rates_and_widths_without_16_bits(rate, width):
    x = to_numpy(Dropout(rate, seed=1)(ops.ones((1000, width)), training=True))
    share = (x != 0).mean()
    assert abs(share - (1 - rate)) < 0.05
    assert_close(x[x != 0], np.full(int(share * x.size), 1 / (1 - rate), "float32"), rtol=1e-3)


def test_everything_is_dropped_at_rate_1():
    assert not kept(Dropout(1.0)).any()


def test_the_gradient_is_dropped_with_the_units():
    layer = Dropout(RATE, seed=1)
    layer.build((2, 7, 12))

    def total(x):
        with keras.StatelessScope():  # The seed moves on, inside of what JAX compiles.
            return ops.sum(layer(x, training=True))

    slopes = gradient(total)(normal(2, 7, 12))
    np.testing.assert_allclose(np.unique(slopes), [0, 1 / (1 - RATE)], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_stays(dtype):
    layer = Dropout(RATE, dtype=dtype)
    y = layer(ops.ones((2, 7, 12)), training=True)
    assert keras.backend.standardize_dtype(y.dtype) == dtype.removeprefix("mixed_")


@pytest.mark.skipif(
    keras.config.backend() != "torch", reason="Others do not run Keras' dropout in a RematScope."
)
@pytest.mark.parametrize("layers", ["all", ["block"], ["self_attention_add_norm", "feed_forward"]])
def test_what_is_computed_once_more_for_the_gradient_is_dropped_alike(layers):
    """In a `RematScope`, layers took the second run for one without training."""
    options = {"mode": "full"}
    if layers != "all":
        options = {"mode": "list_of_layers", "layer_names": layers}
    gradients = []
    for scope in (contextlib.nullcontext(), keras.RematScope(**options)):
        keras.utils.set_random_seed(1)
        with scope:
            encoder = EncoderBlock(H, K, 8, dropout=0.5, activation_dropout=0.5, name="block")
            decoder = DecoderBlock(H, K, 8, dropout=0.5, attention_dropout=0.5)
        x = keras.random.normal((B, T, D), seed=1)
        y = decoder(x, encoder(x, training=True), training=True)
        keras.ops.sum(y**3).backward()
        variables = encoder.trainable_variables + decoder.trainable_variables
        gradients.append([variable.value.grad for variable in variables])
    for actual, expected in zip(*gradients, strict=True):
        assert_close(actual, expected)
