import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import (
    MultiHeadAttention,
    attention_weights,
    scaled_dot_product_attention,
)
from tests.helpers import B, D, H, K, S, T, assert_close
from tests.layers.helpers import (
    clone,
    gradient,
    influence,
    normal,
    numpy_attention,
    randomize,
    to_numpy,
)

VALUE_DIM = 6
MASK = np.array([np.tri(T, S, dtype=bool), np.arange(T * S).reshape(T, S) % 3 > 0])
"""The two sentences see different things, every query something."""


def attention_layer(memory_dim=D, **options):
    layer = MultiHeadAttention(H, K, **options)
    layer.build((B, T, D), (B, S, memory_dim))
    return randomize(layer)


def test_equation_1_by_hand():
    # One query, two keys: scores 3/√4 and 1/√4, so weights e^1.5 and e^0.5 over their sum.
    query, key = [[[[1.0, 2.0, 0.0, 0.0]]]], [[[[1.0, 1.0, 9.0, 9.0], [1.0, 0.0, 9.0, 9.0]]]]
    query, key = ops.convert_to_tensor(query), ops.convert_to_tensor(key)
    assert_close(attention_weights(query, key), [[[[0.7310586, 0.2689414]]]])
    value = ops.convert_to_tensor([[[[10.0], [20.0]]]])
    assert_close(scaled_dot_product_attention(query, key, value), [[[[12.689414]]]])


@pytest.mark.parametrize("mask", [None, MASK], ids=["unmasked", "masked"])
@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("value_dim", [None, VALUE_DIM])
def test_attention_is_the_paper_s_formula(mask, use_bias, value_dim):
    layer = attention_layer(memory_dim=10, use_bias=use_bias, value_dim=value_dim)
    query, memory = normal(B, T, D), normal(B, S, 10)
    assert_close(
        layer(query, memory, mask), numpy_attention(layer, query, memory, mask), 1e-4, 1e-5
    )


@pytest.mark.parametrize("mask", [None, MASK], ids=["unmasked", "masked"])
def test_attention_equals_that_of_keras(mask):
    layer = attention_layer(use_bias=True)
    theirs = keras.layers.MultiHeadAttention(H, K)
    theirs.build((B, T, D), (B, S, D))
    for variable, value in zip(theirs.weights, layer.weights, strict=True):
        variable.assign(ops.reshape(value, variable.shape))
    query, memory = normal(B, T, D), normal(B, S, D)
    expected = theirs(query, memory, attention_mask=mask)
    assert_close(layer(query, memory, mask), expected, 1e-4, 1e-5)


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize("value_dim", [None, VALUE_DIM])
def test_attention_of_a_tensor_to_itself_is_that_to_an_equal_one(use_bias, value_dim):
    layer, x = attention_layer(use_bias=use_bias, value_dim=value_dim), normal(B, T, D)
    assert_close(layer(x, x), layer(x, x + 0.0), 1e-5, 1e-6)


def test_the_four_projections_have_no_bias_by_default():
    shapes = [tuple(weight.shape) for weight in attention_layer(value_dim=VALUE_DIM).weights]
    assert shapes == [(D, H * K), (D, H * K), (D, H * VALUE_DIM), (H * VALUE_DIM, D)]


def test_queries_keys_and_values_start_with_half_of_glorot_s_variance():
    layer = MultiHeadAttention(H, 30)
    layer.build((B, T, 90), (B, S, 90))
    variances = [np.var(weight) * 90 for weight in layer.get_weights()]
    assert_close(variances, [0.5, 0.5, 0.5, 1.0], rtol=0.1)


def test_a_query_that_may_see_nothing_gets_the_mean_of_all_values():
    layer = attention_layer()
    query, memory, mask = normal(B, T, D), normal(B, S, D), MASK.copy()
    mask[1, 4] = False
    mean = np.repeat(memory.mean(axis=1, keepdims=True), S, axis=1)
    output = layer(query, memory, mask)
    assert_close(output[1, 4], layer(query, mean)[1, 4], 1e-4, 1e-5)
    assert_close(output[1, 3], layer(query, memory, MASK)[1, 3])


def test_a_query_that_may_see_nothing_has_finite_gradients():
    layer = attention_layer()
    memory, mask = normal(B, S, D), np.zeros((B, T, S), dtype=bool)
    query = normal(B, T, D)
    to_query = gradient(lambda x: ops.sum(layer(x, memory, mask)))(query)
    to_memory = gradient(lambda x: ops.sum(layer(query, x, mask)))(memory)
    assert_close(to_query, np.zeros_like(query))
    assert np.isfinite(to_memory).all()
    assert np.abs(to_memory).max() > 0


@pytest.mark.parametrize("size", [1e2, 1e3])
def test_large_scores_stay_finite_and_masked(size):
    weights = to_numpy(
        attention_weights(
            size * ops.ones((B, H, T, K)), size * ops.ones((B, H, S, K)), MASK[:, None]
        )
    )
    expected = np.where(MASK, 1.0, 0.0) / MASK.sum(axis=-1, keepdims=True)
    assert_close(weights, np.repeat(expected[:, None], H, axis=1))


def test_a_position_sees_what_the_mask_allows_and_nothing_else():
    layer = attention_layer()
    query = normal(B, T, D)
    seen = influence(lambda memory: layer(query, memory, MASK), normal(B, S, D))
    np.testing.assert_array_equal(seen, MASK)


@pytest.mark.parametrize(
    "mask", [MASK[:1], MASK[:, 2:3], MASK[:1, :1]], ids=["sentence", "query", "both"]
)
def test_masks_broadcast(mask):
    layer = attention_layer()
    query, memory = normal(B, T, D), normal(B, S, D)
    assert_close(layer(query, memory, mask), layer(query, memory, np.broadcast_to(mask, (B, T, S))))


def test_weights_sum_to_one_and_are_0_where_nothing_may_be_seen():
    layer = attention_layer()
    query, memory = normal(B, T, D), normal(B, S, D)
    weights = to_numpy(layer.weights_of(query, memory, MASK))
    assert weights.shape == (B, H, T, S)
    assert_close(weights.sum(axis=-1), np.ones((B, H, T)))
    np.testing.assert_array_equal(weights > 0, np.repeat(MASK[:, None], H, axis=1))


def test_weights_times_values_is_the_output():
    layer = attention_layer(value_dim=VALUE_DIM)
    query, memory = normal(B, T, D), normal(B, S, D)
    _, value = layer.project_memory(memory)
    heads = to_numpy(layer.weights_of(query, memory, MASK)) @ to_numpy(value)  # (B, H, T, K_v)
    joined = np.concatenate([heads[:, h] for h in range(H)], axis=-1)
    assert_close(joined @ to_numpy(layer.output_dense.kernel), layer(query, memory, MASK), 1e-4)


def test_a_memory_of_one_position_gets_all_the_weight():
    layer = attention_layer()
    query, memory = normal(B, T, D), normal(B, 1, D)
    assert_close(layer.weights_of(query, memory), np.ones((B, H, T, 1)))


def test_dropout_drops_weights_in_training_only():
    dropout = keras.layers.Dropout(0.5)
    weights = attention_weights(ops.zeros((B, H, T, K)), ops.zeros((B, H, S, K)))
    dropped = to_numpy(
        scaled_dot_product_attention(
            ops.zeros((B, H, T, K)),
            ops.zeros((B, H, S, K)),
            ops.tile(ops.eye(S), (B, H, 1, 1)),
            dropout=lambda x: dropout(x, training=True),
        )
    )
    assert_close(weights, np.full((B, H, T, S), 1 / S))
    assert set(np.unique(dropped.round(5))) == {0.0, 2 / S}

    layer, plain = attention_layer(dropout=0.5), attention_layer()
    plain.set_weights(layer.get_weights())
    query, memory = normal(B, T, D), normal(B, S, D)
    expected = plain(query, memory)
    assert_close(layer(query, memory), expected)
    assert_close(layer(query, memory, training=False), expected)
    assert np.abs(to_numpy(layer(query, memory, training=True) - expected)).max() > 0.1


def test_half_precision_keeps_float32_weights():
    layer = attention_layer(dtype="mixed_bfloat16")
    query, memory = normal(B, T, D), normal(B, S, D)
    weights = layer.weights_of(query, memory, MASK)
    assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    assert_close(ops.sum(weights, axis=-1), np.ones((B, H, T)))
    y = layer(query, memory, MASK)
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"
    assert_close(y, numpy_attention(layer, query, memory, MASK), rtol=0.05, atol=0.1)


def test_lengths_may_be_unknown():
    query, memory = keras.Input((None, D)), keras.Input((None, D))
    layer = attention_layer()
    model = keras.Model([query, memory], layer(query, memory))
    assert model.output_shape == (None, None, D)
    x, y = normal(B, T, D), normal(B, S, D)
    assert_close(model([x, y]), layer(x, y))


@pytest.mark.parametrize(("T", "S"), [(0, S), (T, 0), (0, 0)])
def test_there_may_be_no_positions(T, S):
    layer = attention_layer()
    assert layer(normal(B, T, D), normal(B, S, D)).shape == (B, T, D)


def test_config_round_trip():
    layer = attention_layer(value_dim=VALUE_DIM, use_bias=True, dropout=0.25)
    config = clone(layer).get_config()
    assert config == layer.get_config()
    given = {
        "num_heads": H,
        "key_dim": K,
        "value_dim": VALUE_DIM,
        "use_bias": True,
        "dropout": 0.25,
    }
    assert given.items() <= config.items()
    assert MultiHeadAttention(H, K).get_config()["value_dim"] == K


@pytest.mark.parametrize("name", ["num_heads", "key_dim", "value_dim"])
def test_sizes_that_make_no_layer_are_refused_by_name(name):
    sizes = {"num_heads": 2, "key_dim": 3, "value_dim": 4}
    with pytest.raises(ValueError, match=f"`{name}` must be at least 1"):
        MultiHeadAttention(**{**sizes, name: 0})
    with pytest.raises(TypeError, match=f"`{name}` must be an integer"):
        MultiHeadAttention(**{**sizes, name: 2.0})
