import math

import keras
import numpy as np
import pytest

from aiayn_keras.layers import PositionalEmbedding, sinusoidal_encoding
from tests.helpers import B, D, T, assert_close
from tests.layers.helpers import clone, normal, to_numpy

ONES = np.ones((B, T), "int32")


def test_sines_and_cosines_alternate():
    # d = 4: wavelengths 2π and 200π.
    assert_close(
        sinusoidal_encoding(3, 4),
        [
            [0.0, 1.0, 0.0, 1.0],
            [0.84147098, 0.54030231, 0.00999983, 0.99995000],
            [0.90929743, -0.41614684, 0.01999867, 0.99980001],
        ],
    )


def test_every_number_is_the_paper_s():
    encoding = sinusoidal_encoding(100, D)
    assert encoding.dtype == np.float32
    for position in (0, 1, 50, 99):
        for i in range(D // 2):
            angle = position / 10000 ** (2 * i / D)
            assert_close(encoding[position, 2 * i], math.sin(angle))
            assert_close(encoding[position, 2 * i + 1], math.cos(angle))


def test_embeddings_are_multiplied_by_the_root_of_the_width_before_positions_are_added():
    x = normal(B, T, D)
    expected = math.sqrt(D) * x + sinusoidal_encoding(T, D)
    assert_close(PositionalEmbedding()(x, ONES), expected, 1e-5, 1e-5)


def test_positions_restart_in_packed_rows():
    padding_mask = np.array([[1, 1, 1, 2, 2, 3, 0], [1, 2, 2, 2, 2, 2, 2]])
    y = to_numpy(PositionalEmbedding()(np.zeros((B, T, D), "float32"), padding_mask))
    encoding = sinusoidal_encoding(T, D)
    assert_close(y[0, :6], encoding[[0, 1, 2, 0, 1, 0]])
    assert_close(y[1], encoding[[0, 0, 1, 2, 3, 4, 5]])


def test_half_precision_rounds_the_encoding_once():
    length = 1001  # bfloat16 has 8 bits: it cannot tell position 1001 from 1000.
    layer = PositionalEmbedding(dtype="mixed_bfloat16")
    y = layer(np.zeros((1, length, D), "float32"), np.ones((1, length), "int32"))
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"
    rounded = keras.ops.cast(sinusoidal_encoding(length, D)[None], "bfloat16")
    assert_close(y, rounded, rtol=0, atol=0)
    assert_close(y, sinusoidal_encoding(length, D)[None], rtol=0, atol=2**-8)


def test_sinusoids_are_no_weights():
    layer = PositionalEmbedding()
    layer(normal(B, T, D), ONES)
    assert not layer.weights


def test_learned_positions_are_a_trained_table():
    layer = PositionalEmbedding(max_sequence_length=9, kind="learned", dropout=0.0)
    x = normal(B, T, D)
    layer(x, ONES)
    (table,) = layer.trainable_weights
    assert tuple(table.shape) == (9, D)
    assert 0.5 < np.std(to_numpy(table)) * math.sqrt(D) < 2.0
    values = normal(9, D)
    table.assign(values)
    assert_close(layer(x, ONES), math.sqrt(D) * x + values[:T], 1e-5, 1e-5)


def test_given_positions_are_a_table_that_is_not_trained():
    layer = PositionalEmbedding(max_sequence_length=9, kind="given", dropout=0.0)
    x, values = normal(B, T, D), normal(9, D)
    layer(x, ONES)
    assert not layer.trainable_weights
    (table,) = layer.weights
    table.assign(values)
    assert_close(layer(x, ONES), math.sqrt(D) * x + values[:T], 1e-5, 1e-5)


def test_dropout_drops_the_sum_in_training_only():
    layer = PositionalEmbedding(dropout=0.5)
    x = normal(B, T, D)
    kept = to_numpy(layer(x, ONES))
    assert_close(kept, math.sqrt(D) * x + sinusoidal_encoding(T, D), 1e-5, 1e-5)
    y = to_numpy(layer(x, ONES, training=True))
    dropped = y == 0.0
    assert 0.2 < dropped.mean() < 0.8
    assert_close(y[~dropped], 2 * kept[~dropped], 1e-4, 1e-5)


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"must be even.*hidden_dim=5"):
        PositionalEmbedding().build((B, T, 5), (B, T))
    with pytest.raises(ValueError, match=r"must be even.*hidden_dim=5"):
        sinusoidal_encoding(T, 5)


def test_learned_positions_have_any_width():
    assert tuple(PositionalEmbedding(kind="learned")(normal(B, T, 5)).shape) == (B, T, 5)


def test_a_number_of_positions_that_makes_no_layer_is_refused_by_name():
    with pytest.raises(ValueError, match="`max_sequence_length` must be at least 1"):
        PositionalEmbedding(0)
    with pytest.raises(TypeError, match="`max_sequence_length` must be an integer"):
        PositionalEmbedding(8.0)


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match=r"`kind` must be .*kind='rotary'"):
        PositionalEmbedding(kind="rotary")


def test_config_round_trip():
    layer = PositionalEmbedding(max_sequence_length=9, kind="learned", dropout=0.25)
    config = clone(layer).get_config()
    assert config == layer.get_config()
    assert (config["max_sequence_length"], config["kind"]) == (9, "learned")
    assert config["dropout"] == 0.25
