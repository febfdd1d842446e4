import keras
import numpy as np
import pytest

from aiayn_keras.layers import PositionwiseFeedForward
from tests.helpers import B, D, T, assert_close
from tests.layers.helpers import (
    clone,
    influence,
    normal,
    numpy_dense,
    numpy_feed_forward,
    randomize,
    to_numpy,
)

F = 11


def feed_forward(**options):
    layer = PositionwiseFeedForward(F, **options)
    layer.build((B, T, D))
    return randomize(layer)


def test_feed_forward_is_equation_2():
    layer, x = feed_forward(), normal(B, T, D)
    assert_close(layer(x), numpy_feed_forward(layer, x), 1e-4, 1e-5)


def test_the_non_linearity_can_be_another():
    layer, x = feed_forward(activation="swish"), normal(B, T, D)
    hidden = numpy_dense(layer.hidden_dense, x)
    expected = numpy_dense(layer.output_dense, hidden / (1 + np.exp(-hidden)))
    assert_close(layer(x), expected, 1e-4, 1e-5)


def test_weights_are_two_matrices_with_biases():
    assert [tuple(w.shape) for w in feed_forward().weights] == [(D, F), (F,), (F, D), (D,)]


def test_every_position_is_treated_alone():
    seen = influence(feed_forward(), normal(B, T, D))
    np.testing.assert_array_equal(seen, [np.eye(T, dtype=bool)] * B)


def test_dropout_drops_hidden_units_in_training_only():
    layer, x = feed_forward(dropout=0.5), normal(B, T, D)
    assert_close(layer(x), numpy_feed_forward(layer, x), 1e-4, 1e-5)
    # With a second matrix of ones the output counts hidden units, each 0 or doubled.
    layer.set_weights([np.zeros((D, F)), np.ones(F), np.ones((F, D)), np.zeros(D)])
    counts = to_numpy(layer(x, training=True)) / 2
    assert_close(counts, counts.round())
    assert 0 < counts.mean() < F
    assert len(np.unique(counts[..., 0])) > 1
    assert_close(counts, np.repeat(counts[..., :1], D, axis=-1))


def test_a_width_that_makes_no_layer_is_refused_by_name():
    with pytest.raises(ValueError, match="`intermediate_dim` must be at least 1"):
        PositionwiseFeedForward(0)
    with pytest.raises(TypeError, match="`intermediate_dim` must be an integer"):
        PositionwiseFeedForward(8.0)


@pytest.mark.parametrize("activation", ["relu", "gelu", keras.activations.silu])
def test_config_round_trip(activation):
    layer = feed_forward(activation=activation, dropout=0.25)
    other = clone(layer)
    assert other.get_config() == layer.get_config()
    assert (other.intermediate_dim, other.dropout) == (F, 0.25)
    other.set_weights(layer.get_weights())
    x = normal(B, T, D)
    assert_close(other(x), layer(x))
