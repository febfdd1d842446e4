import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import AddNorm, PositionwiseFeedForward, add_and_norm
from tests.helpers import B, D, T, assert_close
from tests.layers.helpers import clone, normal, numpy_layer_norm, randomize, to_numpy

SHAPE = (B, T, D)


def add_norm(**options):
    layer = AddNorm(**options)
    layer.build(SHAPE)
    return randomize(layer)


def test_post_norm_normalizes_the_sum():
    layer, x = add_norm(), normal(*SHAPE)
    expected = numpy_layer_norm(layer.layer_norm, x + np.tanh(x))
    assert_close(layer(x, sublayer=ops.tanh), expected, 1e-4, 1e-5)


def test_pre_norm_normalizes_the_sublayer_s_input():
    layer, x = add_norm(normalize_first=True), normal(*SHAPE)
    expected = x + np.tanh(numpy_layer_norm(layer.layer_norm, x))
    assert_close(layer(x, sublayer=ops.tanh), expected, 1e-4, 1e-5)


def test_epsilon_is_added_to_the_variance():
    layer = AddNorm(epsilon=3.0)
    x = np.array([[[1.0, -1.0]]], dtype="float32")  # variance 1
    assert_close(layer(x, sublayer=ops.zeros_like), [[[0.5, -0.5]]])


@pytest.mark.parametrize("normalize_first", [False, True])
def test_dropout_drops_the_sublayer_s_output_in_training_only(normalize_first):
    layer = add_norm(dropout=0.5, normalize_first=normalize_first)
    zeros, ones = np.zeros(SHAPE, "float32"), np.ones(SHAPE, "float32")
    if not normalize_first:  # Look at the sum before it is normalized.
        layer.layer_norm.call = lambda x: x
    assert_close(layer(zeros, sublayer=ops.ones_like), ones)
    in_training = layer(zeros, sublayer=ops.ones_like, training=True)
    assert set(np.unique(to_numpy(in_training))) == {0.0, 2.0}
    assert_close(layer(ones, sublayer=ops.zeros_like, training=True), ones)


def test_a_functional_model_does_not_lose_the_sublayer():
    x, sublayer = keras.Input((T, D)), PositionwiseFeedForward(5)
    with pytest.raises(ValueError, match=r"neither train nor save its weights. Call `add_and_norm"):
        AddNorm()(x, sublayer=sublayer)
    with pytest.raises(ValueError, match="without values"):
        AddNorm()(x, sublayer=lambda y: sublayer(y))
    model = keras.Model(x, add_and_norm(x, sublayer, keras.layers.LayerNormalization()))
    assert len(model.trainable_variables) == len(sublayer.trainable_variables) + 2


def test_config_round_trip():
    layer = AddNorm(dropout=0.25, epsilon=0.5, normalize_first=True)
    config = clone(layer).get_config()
    assert config == layer.get_config()
    assert (config["dropout"], config["epsilon"], config["normalize_first"]) == (0.25, 0.5, True)


def test_defaults_are_the_paper_s():
    config = AddNorm().get_config()
    assert (config["dropout"], config["normalize_first"]) == (0.1, False)
