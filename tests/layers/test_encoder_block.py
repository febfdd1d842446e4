import keras
import numpy as np
import pytest

from aiayn_keras.layers import EncoderBlock, make_attention_mask
from tests.helpers import B, D, H, K, S, assert_close
from tests.layers.helpers import (
    clone,
    influence,
    normal,
    numpy_attention,
    numpy_feed_forward,
    numpy_residual,
    randomize,
    to_numpy,
)

F = 11
PADDING_MASK = np.array([[1, 1, 1, 2, 2], [1, 1, 1, 0, 0]])
"""Two packed sentences in the first row, padding in the second."""
MASK = np.equal(PADDING_MASK[:, :, None], PADDING_MASK[:, None]) & (PADDING_MASK != 0)[:, None]
OPTIONS = {
    "value_dim": 6,
    "activation": "gelu",
    "dropout": 0.5,
    "attention_dropout": 0.25,
    "activation_dropout": 0.125,
    "attention_bias": True,
    "normalize_first": True,
    "layer_norm_epsilon": 1e-3,
}


def encoder_block(**options):
    block = EncoderBlock(H, K, F, **options)
    block.build((B, S, D))
    return randomize(block)


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("value_dim", [None, 6])
def test_encoder_block_is_figure_1_s_left_half(normalize_first, value_dim):
    block = encoder_block(normalize_first=normalize_first, value_dim=value_dim)
    x, mask = normal(B, S, D), np.tri(S, dtype=bool)[None].repeat(B, axis=0)
    expected = numpy_residual(
        block.self_attention_add_norm,
        x,
        lambda y: numpy_attention(block.self_attention, y, y, mask),
    )
    expected = numpy_residual(
        block.feed_forward_add_norm, expected, lambda y: numpy_feed_forward(block.feed_forward, y)
    )
    assert_close(block(x, mask), expected, 1e-4, 1e-4)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_a_position_sees_its_own_sentence_and_no_padding(normalize_first):
    block = encoder_block(normalize_first=normalize_first)
    mask = make_attention_mask(PADDING_MASK, PADDING_MASK)
    seen = influence(lambda x: block(x, mask), normal(B, S, D))
    real = PADDING_MASK != 0
    np.testing.assert_array_equal(seen[real], MASK[real])


def test_a_mask_of_keras_for_keys_alone_is_one_for_all_queries():
    ids = np.array([[4, 5, 6, 0, 0], [7, 8, 9, 2, 0], [1, 0, 0, 0, 0]])
    embedded = keras.layers.Embedding(10, D, mask_zero=True)(ids)
    block = encoder_block()
    expected = block(to_numpy(embedded), np.repeat((ids != 0)[:, None], S, axis=1))
    assert_close(block(embedded), expected, 1e-5, 1e-5)
    assert_close(block(to_numpy(embedded), mask=ids != 0), expected, 1e-5, 1e-5)


def test_dropout_is_off_at_inference():
    block, plain = (
        encoder_block(**OPTIONS),
        encoder_block(
            **{**OPTIONS, "dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
        ),
    )
    plain.set_weights(block.get_weights())
    x = normal(B, S, D)
    assert_close(block(x, MASK), plain(x, MASK, training=True))


@pytest.mark.parametrize("place", ["dropout", "attention_dropout", "activation_dropout"])
def test_every_dropout_reaches_the_output_in_training(place):
    block = encoder_block(**{"dropout": 0.0, place: 0.5})
    x = normal(B, S, D)
    difference = to_numpy(block(x, MASK, training=True) - block(x, MASK, training=False))
    assert np.abs(difference).max() > 0.1


def test_options_reach_the_sublayers():
    block = encoder_block(**OPTIONS)
    attention, feed_forward = block.self_attention, block.feed_forward
    assert (attention.value_dim, attention.dropout, attention.use_bias) == (6, 0.25, True)
    assert (feed_forward.activation, feed_forward.dropout) == (keras.activations.gelu, 0.125)
    for add_norm in (block.self_attention_add_norm, block.feed_forward_add_norm):
        assert (add_norm.dropout, add_norm.normalize_first, add_norm.epsilon) == (0.5, True, 1e-3)


def test_dtype_reaches_the_sublayers():
    block = encoder_block(dtype="mixed_bfloat16")
    y = block(normal(B, S, D), MASK)
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"
    dtypes = {layer.compute_dtype for layer in block._flatten_layers()}
    assert dtypes == {"bfloat16", "float32"}  # The dropout of attention weights is float32.
    assert {weight.dtype for weight in block.weights} == {"float32"}


def test_sizes_may_be_numpy_s_integers():
    block = EncoderBlock(np.int64(H), np.int32(K), np.int16(7), value_dim=np.uint8(5))
    for each in (block, clone(block)):
        assert each(normal(B, S, D)).shape == (B, S, D)


def test_config_round_trip():
    block = encoder_block(**OPTIONS)
    config = clone(block).get_config()
    assert config == block.get_config()
    assert OPTIONS.items() <= config.items()
    assert (config["num_heads"], config["key_dim"], config["intermediate_dim"]) == (H, K, F)


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("", "dropout", 0.3),
        ("", "activation", keras.activations.gelu),
        ("", "normalize_first", True),
        ("self_attention", "dropout", 0.3),
        ("feed_forward", "dropout", 0.3),
        ("feed_forward_add_norm", "dropout", 0.3),
        ("feed_forward_add_norm", "epsilon", 1e-3),
    ],
)
def test_a_setting_that_the_layers_inside_would_not_follow_cannot_be_changed(path, name, value):
    block = EncoderBlock(num_heads=2, key_dim=4, intermediate_dim=12)
    block.build((None, None, 8))
    layer = getattr(block, path) if path else block
    old = getattr(layer, name)
    with pytest.raises(AttributeError, match=f"`{name}` cannot be changed: the layers inside"):
        setattr(layer, name, value)
    assert getattr(layer, name) == old
    setattr(layer, name, old)  # setting the same value is allowed


def test_settings_that_a_layer_follows_can_be_changed():
    block = EncoderBlock(num_heads=2, key_dim=4, intermediate_dim=12)
    x = keras.random.normal((2, 3, 8), seed=1)
    before = block(x)
    block.feed_forward.activation = keras.activations.gelu
    assert abs(keras.ops.convert_to_numpy(block(x) - before)).max() > 1e-3
