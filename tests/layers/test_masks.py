import itertools

import keras
import numpy as np
import pytest

from aiayn_keras.layers import (
    AttentionMask,
    combine_masks,
    make_attention_mask,
    make_causal_mask,
    sentence_positions,
)
from tests.helpers import B, S, T, assert_close

o, x = False, True


def same(mask, expected):
    assert keras.backend.standardize_dtype(mask.dtype) == "bool"
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(mask), np.array(expected))


def test_attention_mask_hides_padding():
    mask = make_attention_mask(np.array([[1, 1, 1], [1, 1, 0]]), np.array([[1, 1, 0], [1, 0, 0]]))
    same(
        mask,
        [
            [[x, x, o], [x, x, o], [x, x, o]],
            [[x, o, o], [x, o, o], [o, o, o]],
        ],
    )


def test_attention_mask_keeps_packed_sentences_apart():
    mask = make_attention_mask(np.array([[1, 1, 2, 3, 0]]), np.array([[1, 2, 2, 2, 3, 0, 0]]))
    same(
        mask,
        [
            [
                [x, o, o, o, o, o, o],
                [x, o, o, o, o, o, o],
                [o, x, x, x, o, o, o],
                [o, o, o, o, x, o, o],
                [o, o, o, o, o, o, o],
            ]
        ],
    )


def test_padding_that_looks_at_padding_sees_nothing():
    same(make_attention_mask(np.array([[0]]), np.array([[0, 0]])), [[[o, o]]])


@pytest.mark.parametrize("mask", [5, [1, 1, 0], np.ones((B, T, T))])
def test_a_padding_mask_has_a_row_for_each_sentence(mask):
    with pytest.raises(ValueError, match=r"`query_padding_mask` must have rank 2.*Received: rank"):
        make_causal_mask(mask)
    with pytest.raises(ValueError, match="`key_padding_mask` must have rank 2"):
        make_causal_mask([[1, 1]], mask)
    with pytest.raises(ValueError, match="`key_padding_mask` must have rank 2"):
        make_attention_mask([[1, 1]], mask)


def test_causal_mask_hides_the_future():
    same(
        make_causal_mask(np.array([[1, 1, 1, 1], [1, 2, 0, 0]])),
        [[[x, o, o, o], [x, x, o, o], [x, x, x, o], [x, x, x, x]]] * 2,
    )


def test_combined_masks_allow_what_all_allow():
    padding_mask = np.array([[1, 1, 2, 2, 0]])
    mask = combine_masks(
        make_attention_mask(padding_mask, padding_mask), make_causal_mask(padding_mask)
    )
    same(
        mask,
        [[[x, o, o, o, o], [x, x, o, o, o], [o, o, x, o, o], [o, o, x, x, o], [o, o, o, o, o]]],
    )


def test_combined_masks_broadcast():
    same(
        combine_masks(np.array([[[x, x, o]]]), np.array([[[x], [o]]]), np.array([[[o, x, x]]])),
        [[[o, x, o], [o, o, o]]],
    )


def test_one_mask_alone_stays_as_it_is():
    same(combine_masks(np.array([[[x, o]]])), [[[x, o]]])


def test_positions_restart_in_every_sentence_of_a_row():
    positions = sentence_positions(np.array([[1, 1, 2, 2, 2, 3, 0], [1, 1, 1, 1, 0, 0, 0]]))
    assert_close(positions, [[0, 1, 0, 1, 2, 0, 0], [0, 1, 2, 3, 0, 0, 0]])
    assert keras.backend.standardize_dtype(positions.dtype) == "int32"


def test_padding_before_a_sentence_does_not_move_it():
    assert_close(sentence_positions(np.array([[0, 0, 1, 1, 1]])), [[0, 0, 0, 1, 2]])


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
def test_masks_follow_their_definition(dtype):
    largest = 1 if dtype == "bool" else 3
    query = np.random.randint(0, largest + 1, size=(B, T)).astype(dtype)
    key = np.random.randint(0, largest + 1, size=(B, S)).astype(dtype)
    expected = np.zeros((B, T, S), dtype=bool)
    for b, t, s in itertools.product(range(B), range(T), range(S)):
        expected[b, t, s] = query[b, t] == key[b, s] != 0
    same(make_attention_mask(query, key), expected)


def test_masks_need_no_known_length():
    padding_mask = keras.Input((None,), dtype="int32")
    model = keras.Model(
        padding_mask, [make_causal_mask(padding_mask), sentence_positions(padding_mask)]
    )
    causal, positions = model(np.ones((B, T), "int32"))
    same(causal, [np.tri(T, dtype=bool)] * B)
    assert_close(positions, [range(T)] * B)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_small_integers_count_to_any_length(dtype):
    padding_mask = keras.ops.ones((1, 300), dtype)
    same(make_causal_mask(padding_mask), [np.tri(300, dtype=bool)])
    positions = keras.ops.convert_to_numpy(sentence_positions(padding_mask))
    np.testing.assert_array_equal(positions, [np.arange(300)])


@pytest.mark.parametrize("causal", [False, True])
def test_shapes_of_a_mask_are_known_before_it_is_computed(causal):
    layer = AttentionMask(causal=causal)
    keys = T if causal else S
    shape = (B, T, keys)
    assert layer.compute_output_shape((B, T), (B, keys)) == shape
    assert tuple(layer(np.ones((B, T), "int32"), np.ones((B, keys), "int32")).shape) == shape
    unknown = [keras.KerasTensor((None, None), dtype="int32")] * 2
    assert layer.compute_output_spec(*unknown).shape == (None, None, None)
