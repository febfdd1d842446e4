import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding import translating
from aiayn_keras.decoding.beam_sampler import until_end
from aiayn_keras.decoding.decoder_step import start_decoding_together
from aiayn_keras.decoding.scoring import token_log_probs
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translating import TranslationSearch
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy

PAD, UNKNOWN, START, END = range(4)


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


@pytest.fixture
def add_to_logits(monkeypatch):
    """Function that makes every search see logits to which `(V,)` are added."""

    def add(added):
        def start(*args, **options):
            step, cache = start_decoding_together(*args, **options)

            def changed(token_ids, cache, index):
                logits, hidden_states, cache = step(token_ids, cache, index)
                return logits + ops.convert_to_tensor(added), hidden_states, cache

            return changed, cache

        monkeypatch.setattr(translating, "start_decoding_together", start)

    return add


@pytest.mark.parametrize(("options", "extra"), [({}, 50), ({"extra_length": 3}, 3)])
def test_a_translation_is_at_most_so_many_tokens_longer_than_its_source(
    model, tokenizer, add_to_logits, options, extra
):
    """A model that never ends by itself: each row stops at its own limit."""
    encoder_ids, encoder_mask = map(
        ops.convert_to_tensor, encoded(tokenizer, ["eins zwei drei", "fünf"], 6)
    )
    num_pieces = np.array([len(ids) for ids in tokenizer(["eins zwei drei", "fünf"])])
    never_ending = np.zeros(tokenizer.vocabulary_size(), "float32")
    never_ending[END] = -1e4
    add_to_logits(never_ending)
    options = SearchOptions(num_beams=1, **options)
    search = TranslationSearch((model.backbone,), tokenizer, options)
    token_ids, _ = search.find(encoder_ids, encoder_mask)
    token_ids = keras.ops.convert_to_numpy(token_ids)[:, 0]
    np.testing.assert_array_equal((token_ids == END).argmax(axis=1), num_pieces + extra + 1)


@pytest.mark.parametrize("wanted", [PAD, UNKNOWN, START])
def test_no_special_token_is_written_however_much_the_model_wants_it(
    model, tokenizer, wanted, add_to_logits
):
    wish = np.zeros(tokenizer.vocabulary_size(), "float32")
    wish[wanted] = 30.0
    add_to_logits(wish)
    encoder_ids, encoder_mask = map(ops.convert_to_tensor, encoded(tokenizer, ["eins zwei"], 4))
    search = TranslationSearch((model.backbone,), tokenizer, SearchOptions(num_beams=2))
    token_ids, _ = search.find(encoder_ids, encoder_mask)
    for row in keras.ops.convert_to_numpy(token_ids)[0].tolist():
        assert row[0] == START
        assert not {PAD, UNKNOWN, START} & set(row[1 : row.index(END)])
