import keras
import numpy as np
from keras import ops

from aiayn_keras.models.generation import EXTRA_LENGTH, beam_search, until_end
from aiayn_keras.models.scoring import token_log_probs
from aiayn_keras.samplers import BeamSampler
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy

START, END = 2, 3


def encoded(tokenizer, texts, length):
    token_ids = np.zeros((len(texts), length), "int32")
    for row, ids in enumerate(tokenizer(texts)):
        token_ids[row, : len(ids) + 1] = [*ids, END]
    return token_ids, (token_ids != 0).astype("int32")


def test_until_end_keeps_the_first_end_behind_the_prompt():
    token_ids = ops.convert_to_tensor([[2, 3, 5, 3, 6, 3], [2, 5, 6, 7, 8, 9]])
    prompt_mask = ops.convert_to_tensor([[1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    kept = until_end(token_ids, (3, 7), prompt_mask)
    assert_close(kept, [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]])
    assert_close(until_end(token_ids, (), prompt_mask), np.ones((2, 6)))


def test_token_log_probs_are_the_model_s_log_probabilities(model, tokenizer):
    encoder_ids, encoder_mask = encoded(tokenizer, ["eins zwei", "fünf"], 4)
    labels, decoder_mask = encoded(tokenizer, ["one two", "nine nine nine"], 5)
    decoder_ids = np.concatenate([[[START]] * 2, labels[:, :-1]], axis=1)
    logits = to_numpy(
        model(
            {
                "encoder_token_ids": encoder_ids,
                "encoder_padding_mask": encoder_mask,
                "decoder_token_ids": decoder_ids,
                "decoder_padding_mask": decoder_mask,
            }
        )
    )
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = np.take_along_axis(log_probs, labels[:, :, np.newaxis], axis=2)[:, :, 0]
    expected = np.where(decoder_mask, expected, 0.0)
    tensors = map(
        ops.convert_to_tensor, (encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels)
    )
    assert_close(token_log_probs(model.backbone, *tensors), expected, 1e-4, 1e-4)


def test_a_translation_is_at_most_50_tokens_longer_than_its_source(model, tokenizer):
    """A model that never ends by itself: each row stops at its own limit, at real tokens."""
    encoder_ids, encoder_mask = map(
        ops.convert_to_tensor, encoded(tokenizer, ["eins zwei drei", "fünf"], 6)
    )
    num_pieces = np.array([len(ids) for ids in tokenizer(["eins zwei drei", "fünf"])])

    class NeverEnding(BeamSampler):
        def search(self, next, **options):
            def endless(token_ids, cache, index):
                logits, hidden_states, cache = next(token_ids, cache, index)
                token = ops.arange(logits.shape[-1])
                logits = ops.where(ops.equal(token, END), -1e4, logits)
                # Padding, the unknown token and the start are what the model likes best.
                return ops.where(token < END, 1e2, logits), hidden_states, cache

            return super().search(endless, **options)

    token_ids, _ = beam_search(
        (model.backbone,), tokenizer, encoder_ids, encoder_mask, NeverEnding(num_beams=1)
    )
    token_ids = keras.ops.convert_to_numpy(token_ids)[:, 0]
    assert EXTRA_LENGTH == 50
    np.testing.assert_array_equal((token_ids == END).argmax(axis=1), num_pieces + 50 + 1)
    assert not np.isin(token_ids[:, 1:51], [0, 1, 2]).any()
