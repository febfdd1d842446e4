import keras
import numpy as np
import pytest

from aiayn_keras.layers import (
    DecoderBlock,
    combine_masks,
    make_attention_mask,
    make_causal_mask,
)
from tests.helpers import B, D, H, K, S, T, assert_close
from tests.layers.helpers import (
    clone,
    influence,
    normal,
    numpy_attention,
    numpy_feed_forward,
    numpy_residual,
    randomize,
)

F, VALUE_DIM, W = 11, 6, 4
SOURCE_MASK = np.array([[1, 1, 1, 2, 2], [1, 1, 1, 0, 0]])
TARGET_MASK = np.array([[1, 1, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 0, 0]])
"""Two packed sentences in the first row, padding in the second."""


def decoder_block(**options):
    block = DecoderBlock(H, K, F, **options)
    block.build((B, T, D), (B, S, D))
    return randomize(block)


def masks():
    causal = make_causal_mask(TARGET_MASK)
    return (
        combine_masks(make_attention_mask(TARGET_MASK, TARGET_MASK), causal),
        make_attention_mask(TARGET_MASK, SOURCE_MASK),
    )


@pytest.mark.parametrize("normalize_first", [False, True])
@pytest.mark.parametrize("value_dim", [None, VALUE_DIM])
def test_decoder_block_is_figure_1_s_right_half(normalize_first, value_dim):
    block = decoder_block(normalize_first=normalize_first, value_dim=value_dim)
    x, memory = normal(B, T, D), normal(B, S, D)
    self_mask = np.tri(T, dtype=bool)[None].repeat(B, axis=0)
    memory_mask = np.tri(T, S, dtype=bool)[None].repeat(B, axis=0)
    expected = numpy_residual(
        block.self_attention_add_norm,
        x,
        lambda y: numpy_attention(block.self_attention, y, y, self_mask),
    )
    expected = numpy_residual(
        block.cross_attention_add_norm,
        expected,
        lambda y: numpy_attention(block.cross_attention, y, memory, memory_mask),
    )
    expected = numpy_residual(
        block.feed_forward_add_norm, expected, lambda y: numpy_feed_forward(block.feed_forward, y)
    )
    assert_close(block(x, memory, self_mask, memory_mask), expected, 1e-4, 1e-4)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_a_position_sees_the_past_of_its_own_sentence(normalize_first):
    block, memory = decoder_block(normalize_first=normalize_first), normal(B, S, D)
    seen = influence(lambda x: block(x, memory, *masks()), normal(B, T, D))
    expected = np.zeros((B, T, T), dtype=bool)
    for b, t, s in np.ndindex(B, T, T):
        expected[b, t, s] = s <= t and TARGET_MASK[b, t] == TARGET_MASK[b, s] != 0
    real = TARGET_MASK != 0
    np.testing.assert_array_equal(seen[real], expected[real])


def test_a_position_sees_the_source_of_its_own_sentence():
    block, x = decoder_block(), normal(B, T, D)
    seen = influence(lambda memory: block(x, memory, *masks()), normal(B, S, D))
    expected = np.zeros((B, T, S), dtype=bool)
    for b, t, s in np.ndindex(B, T, S):
        expected[b, t, s] = TARGET_MASK[b, t] == SOURCE_MASK[b, s] != 0
    real = TARGET_MASK != 0
    np.testing.assert_array_equal(seen[real], expected[real])


def test_options_reach_the_attention_to_the_memory():
    block = decoder_block(
        value_dim=VALUE_DIM, attention_dropout=0.25, attention_bias=True, dropout=0.5
    )
    attention = block.cross_attention
    assert (attention.value_dim, attention.dropout) == (VALUE_DIM, 0.25)
    assert attention.use_bias
    assert block.cross_attention_add_norm.dropout == 0.5


def test_dropout_is_off_at_inference():
    block = decoder_block(dropout=0.5, attention_dropout=0.5, activation_dropout=0.5)
    plain = decoder_block(dropout=0.0)
    plain.set_weights(block.get_weights())
    x, memory = normal(B, T, D), normal(B, S, D)
    assert_close(block(x, memory, *masks()), plain(x, memory, *masks(), training=True))


def test_config_round_trip():
    block = decoder_block(value_dim=VALUE_DIM, attention_bias=True, normalize_first=True)
    other = clone(block)
    assert isinstance(other, DecoderBlock)
    assert other.get_config() == block.get_config()
    assert keras.saving.get_registered_name(DecoderBlock) == "aiayn_keras>DecoderBlock"
