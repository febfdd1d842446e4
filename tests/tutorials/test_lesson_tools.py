"""Helpers of the lessons do what their cells say."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras import TransformerSeq2SeqLM, layers, pack_token_ids
from lesson_tools import forced_searches, head_off, losses_of_updates
from tests.helpers import B, H, K, T

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"


def linear_model():
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.build((None, 1))
    model.compile(keras.optimizers.SGD(0.1), "mean_squared_error", jit_compile=False)
    return model


def test_each_loss_is_that_of_its_batch_before_its_update():
    x, y = np.array([[1.0], [2.0]], "float32"), np.array([[3.0], [2.0]], "float32")
    weight, expected = 0.0, []
    for _ in range(2):
        for value, label in zip(x[:, 0], y[:, 0], strict=True):
            expected.append((weight * value - label) ** 2)
            weight -= 0.1 * 2 * (weight * value - label) * value
    losses = losses_of_updates(linear_model(), x, y, batch_size=1, epochs=2)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_batches_of_unequal_size_are_refused():
    x = np.ones((2, 1), "float32")
    with pytest.raises(ValueError, match="Received: 2 sentences, batch_size=3"):
        losses_of_updates(linear_model(), x, x, batch_size=3, epochs=1)


@pytest.mark.parametrize("head", [-1, H])
def test_a_head_that_there_is_not_cannot_be_switched_off(head):
    attention = layers.MultiHeadAttention(num_heads=H, key_dim=K)
    attention.build((B, T, H * K), (B, T, H * K))
    with (
        pytest.raises(ValueError, match=f"counted from 0. Received: head={head}"),
        head_off(attention, head),
    ):
        pass


def test_inputs_may_have_names():
    ids = keras.Input((1,), name="ids")
    model = keras.Model({"ids": ids}, keras.layers.Dense(1, kernel_initializer="ones")(ids))
    model.compile(keras.optimizers.SGD(0.0), "mean_squared_error", jit_compile=False)
    x = np.array([[1.0], [2.0]], "float32")
    losses = losses_of_updates(model, {"ids": x}, x - 3, batch_size=1, epochs=1)
    np.testing.assert_allclose(losses, [9, 9])


def test_a_head_is_off_inside_the_block_and_trained_again_after_it():
    attention = layers.MultiHeadAttention(num_heads=H, key_dim=K)
    x = np.random.default_rng(0).normal(size=(B, T, H * K)).astype("float32")
    whole = ops.convert_to_numpy(attention(x, x))
    *_, W_O = attention.get_weights()
    with head_off(attention, 1):
        off = ops.convert_to_numpy(attention(x, x))
    np.testing.assert_array_equal(attention(x, x), whole)
    keys, values = map(ops.convert_to_numpy, attention.project_memory(x))
    queries = (x @ attention.get_weights()[0]).reshape(B, T, H, K)[:, :, 1]
    weights = ops.convert_to_numpy(
        ops.softmax(queries @ keys[:, 1].swapaxes(1, 2) / K**0.5, axis=-1)
    )
    part = weights @ values[:, 1] @ W_O[K : 2 * K]
    np.testing.assert_allclose(whole - off, part, atol=1e-5)


def test_a_head_is_trained_again_after_an_error():
    attention = layers.MultiHeadAttention(num_heads=H, key_dim=K)
    attention.build((None, T, H * K), (None, T, H * K))
    before = attention.get_weights()
    with pytest.raises(KeyError), head_off(attention, 0):
        raise KeyError
    for weight, other in zip(attention.get_weights(), before, strict=True):
        np.testing.assert_array_equal(weight, other)


@pytest.mark.slow
def test_both_forced_searches_write_the_most_probable_pieces_and_end_at_the_given_length():
    model = TransformerSeq2SeqLM.from_preset(str(DEMO))
    tokenizer = model.preprocessor.tokenizer
    end, pad = tokenizer.end_token_id, tokenizer.pad_token_id
    sources = np.array([[*tokenizer(text), end] for text in ("She sings.", "He sings.")])
    expected = np.full((2, 1), tokenizer.start_token_id)
    for _ in range(5):  # more than the translation has
        inputs = pack_token_ids(sources, expected)
        logits = ops.convert_to_numpy(model(inputs, training=False))[:, -1]
        logits[:, [end, pad]] = -np.inf
        expected = np.concatenate([expected, logits.argmax(axis=1)[:, None]], axis=1)
    expected = np.concatenate([expected, np.full((2, 1), end)], axis=1)
    searches = forced_searches(model)
    assert set(searches) == {"whole prefix", "cache"}
    for write in searches.values():
        np.testing.assert_array_equal(write(sources, 6), expected)
