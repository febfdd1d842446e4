import numpy as np
import pytest

from aiayn_keras.models import Hypothesis, Translation
from aiayn_keras_light.text_batches import batch_by_length, is_to_split, pad_batch, tokenize
from aiayn_keras_light.translating import as_translation
from tests.helpers import assert_close
from tests.number_words import train_tokenizer


def test_batches_hold_every_text_once_longest_first():
    sequences = [[1] * n for n in (3, 5, 1, 5, 2, 4, 9)]
    assert list(batch_by_length(sequences, 3)) == [[6, 1, 3], [5, 0, 4], [2]]
    assert list(batch_by_length(sequences, 100)) == [[6, 1, 3, 5, 0, 4, 2]]
    assert list(batch_by_length([], 3)) == []


def test_texts_that_are_too_long_are_cut_before_their_end_token():
    model = train_tokenizer()
    (whole,) = tokenize(["zwei fünf zwei fünf"], "texts", model)
    assert whole[-1:] == model.source_ids == [model.end_token_id]
    cut = tokenize(["zwei fünf zwei fünf", "zwei"], "texts", model, 3, is_cut=True)
    assert cut[0] == [*whole[:2], model.end_token_id]
    assert cut[1] == tokenize(["zwei"], "texts", model)[0]


@pytest.mark.parametrize(
    ("length", "learned_length", "of_any_length", "expected"),
    [
        (10, 10, True, False),
        (11, 10, False, True),
        (50, 10, False, True),
        (51, 10, False, False),
        (51, 10, True, True),
        (50, None, True, False),
        (51, None, True, True),
        (51, 90, True, True),
    ],
)
def test_texts_longer_than_those_that_were_learned_are_split(
    length, learned_length, of_any_length, expected
):
    assert is_to_split(length, 50, learned_length, of_any_length) is expected


def test_a_batch_is_padded_to_few_shapes():
    token_ids, padding_mask = pad_batch([[7, 3], [8, 9, 3], [3]])
    first = [7, 3, 0, 0, 0, 0, 0, 0]
    assert_close(token_ids, [first, [8, 9, 3, 0, 0, 0, 0, 0], [3, *[0] * 7], first])
    assert_close(padding_mask.sum(axis=1), [2, 3, 1, 2])
    np.testing.assert_array_equal(padding_mask, token_ids != 0)
    assert token_ids.dtype == padding_mask.dtype == np.int32


@pytest.mark.parametrize(
    ("num_rows", "length", "shape"),
    [(1, 8, (1, 8)), (1, 9, (1, 16)), (4, 1, (4, 8)), (5, 16, (8, 16))],
)
def test_shapes_are_powers_of_two_times_multiples_of_eight(num_rows, length, shape):
    assert pad_batch([[5] * length] * num_rows)[0].shape == shape


def test_a_translation_is_its_best_hypothesis():
    best, other = Hypothesis("a", -1.0, -0.5, ("▁a",)), Hypothesis("b", -2.0, -1.0, ("▁b",))
    translation = as_translation([best, other])
    assert isinstance(translation, Hypothesis)
    assert translation == Translation("a", -1.0, -0.5, ("▁a",), None, (best, other))
