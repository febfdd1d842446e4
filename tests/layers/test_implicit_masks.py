"""Masks that Keras attaches to tensors: honoured, handed on as `(B, T)`, and never made 3-D."""

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import (
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    PositionalEmbedding,
    PositionwiseFeedForward,
    make_attention_mask,
)
from tests.helpers import B, D, H, K, S, T, assert_close
from tests.layers.helpers import influence, normal, to_numpy

F, V = 11, 13
SOURCE = np.array([[4, 5, 6, 0, 0], [7, 8, 9, 2, 0]])
TARGET = np.array([[3, 4, 5, 6, 7, 0, 0], [8, 9, 1, 2, 0, 0, 0]])
OTHER = np.array([[4, 5, 6, 1, 12], [7, 8, 9, 2, 3]])
"""`SOURCE` with other tokens in place of its padding."""
PACKED = np.array([[1, 1, 2, 2, 2], [1, 1, 1, 1, 0]])


class Masked(keras.layers.Layer):
    """Attaches a mask to a tensor, as an embedding with `mask_zero` does."""

    def __init__(self, mask):
        super().__init__()
        self.mask = ops.convert_to_tensor(mask)

    def call(self, x):
        return x + 0.0

    def compute_mask(self, x, previous_mask=None):
        return self.mask


class MaskSeen(keras.layers.Layer):
    """The mask that Keras has attached to its input, as 1 and 0; -1 if there is none."""

    def __init__(self):
        super().__init__()
        self.supports_masking = True

    def call(self, x, mask=None):
        return ops.full_like(x[..., 0], -1.0) if mask is None else ops.cast(mask, x.dtype)


def mask_of(x):
    return to_numpy(MaskSeen()(x))


LAYERS = {
    "attention": (MultiHeadAttention, (H, K), lambda layer, x: layer(x, x)),
    "encoder block": (EncoderBlock, (H, K, F), lambda layer, x: layer(x)),
    "pre-norm": (
        lambda *sizes: EncoderBlock(*sizes, normalize_first=True),
        (H, K, F),
        lambda layer, x: layer(x),
    ),
    "decoder block": (DecoderBlock, (H, K, F), lambda layer, x: layer(x, normal(B, 4, D))),
    "positions": (PositionalEmbedding, (), lambda layer, x: layer(x)),
    "feed-forward": (PositionwiseFeedForward, (F,), lambda layer, x: layer(x)),
    "add and norm": (AddNorm, (), lambda layer, x: layer(x, sublayer=ops.tanh)),
}


@pytest.fixture(params=LAYERS)
def kind(request):
    return request.param


def test_a_layer_hands_keras_mask_on(kind):
    make, sizes, call = LAYERS[kind]
    y = call(make(*sizes), Masked(SOURCE != 0)(normal(B, S, D)))
    np.testing.assert_array_equal(mask_of(y), SOURCE != 0)
    assert (mask_of(call(make(*sizes), ops.convert_to_tensor(normal(B, S, D)))) == -1).all()


def test_padding_behind_mask_zero_changes_nothing(kind):
    make, sizes, call = LAYERS[kind]
    embedding, layer = keras.layers.Embedding(V, D, mask_zero=True), make(*sizes)
    if kind == "decoder block":
        call = lambda layer, x: layer(x, x)  # noqa: E731
    y, other = (
        to_numpy(call(layer, Masked(SOURCE != 0)(embedding(tokens)))) for tokens in (SOURCE, OTHER)
    )
    assert_close(y[SOURCE != 0], other[SOURCE != 0], 1e-5, 1e-5)
    np.testing.assert_array_equal(mask_of(call(layer, embedding(SOURCE))), SOURCE != 0)
    assert_close(call(layer, embedding(SOURCE)), y, 1e-5, 1e-5)


@pytest.mark.parametrize("name", ["attention_mask", "self_attention_mask", "cross_attention_mask"])
def test_a_mask_of_pairs_stays_off_the_output(name):
    x = ops.convert_to_tensor(normal(B, S, D))
    mask = make_attention_mask(PACKED, PACKED)
    blocks = {
        "attention_mask": (EncoderBlock(H, K, F), (x,)),
        "self_attention_mask": (DecoderBlock(H, K, F), (x, x)),
        "cross_attention_mask": (DecoderBlock(H, K, F), (x, x)),
    }
    block, inputs = blocks[name]
    assert (mask_of(block(*inputs, **{name: mask})) == -1).all()
    masked = Masked(SOURCE != 0)(x)
    y = block(masked, *inputs[1:], **{name: mask})
    np.testing.assert_array_equal(mask_of(y), SOURCE != 0)
    y = MultiHeadAttention(H, K)(masked, x, attention_mask=mask)
    np.testing.assert_array_equal(mask_of(y), SOURCE != 0)


def test_a_mask_of_pairs_is_no_weight_of_a_loss():
    x, labels = normal(B, S, D), np.random.randint(0, 4, (B, S))
    inputs = keras.Input((S, D))
    mask = keras.Input((S, S), dtype="bool")
    block, dense = EncoderBlock(H, K, F, dropout=0.0), keras.layers.Dense(4)
    model = keras.Model([inputs, mask], dense(block(inputs, mask)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss)
    pairs = ops.convert_to_numpy(make_attention_mask(PACKED, PACKED))
    expected = loss(labels, to_numpy(dense(block(x, pairs))))
    assert_close(model.evaluate([x, pairs], labels, verbose=0), expected, 1e-4)


def test_numbers_of_sentences_are_handed_on_as_a_boolean_mask():
    y = EncoderBlock(H, K, F)(normal(B, S, D), mask=PACKED)
    np.testing.assert_array_equal(mask_of(y), PACKED != 0)


def test_implicit_masks_of_query_and_memory_hide_what_explicit_ones_do():
    layer, query, memory = MultiHeadAttention(H, K), normal(B, T, D), normal(B, S, D)
    expected = layer(query, memory, np.repeat((SOURCE != 0)[:, None], T, axis=1))
    assert_close(layer(query, Masked(SOURCE != 0)(memory)), expected)
    assert_close(layer(Masked(TARGET != 0)(query), Masked(SOURCE != 0)(memory)), expected)
    assert_close(layer(query, memory, memory_mask=SOURCE != 0), expected)


def test_masks_of_all_kinds_are_joined():
    layer, x = MultiHeadAttention(H, K), normal(B, S, D)
    pairs = np.random.rand(B, S, S) > 0.3
    masked = Masked(SOURCE != 0)(x)
    together = pairs & (SOURCE != 0)[:, None] & np.tri(S, dtype=bool)
    real = together.any(axis=2)  # a query that sees nothing attends evenly
    expected = to_numpy(layer(x, x, together))[real]
    actual = to_numpy(layer(masked, masked, pairs, use_causal_mask=True))[real]
    assert_close(actual, expected, 1e-5, 1e-5)
    block = EncoderBlock(H, K, F)
    expected = to_numpy(block(x, together))[real]
    assert_close(to_numpy(block(masked, pairs, use_causal_mask=True))[real], expected, 1e-5, 1e-5)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_a_given_mask_takes_the_place_of_an_attached_one(normalize_first):
    all_real, other = np.ones((B, S), dtype=bool), np.array([[0, 1, 1, 1, 1], [1, 1, 0, 0, 1]]) != 0
    x, target = ops.convert_to_tensor(normal(B, S, D)), ops.convert_to_tensor(normal(B, T, D))
    masked = Masked(SOURCE != 0)(x)
    encoder = EncoderBlock(H, K, F, normalize_first=normalize_first)
    decoder = DecoderBlock(H, K, F, normalize_first=normalize_first)
    for mask in all_real, other:
        y = encoder(masked, mask=mask)
        assert_close(y, encoder(x, mask=mask), 1e-5, 1e-5)
        np.testing.assert_array_equal(mask_of(y), mask)
        expected = decoder(target, x, memory_mask=mask)
        assert_close(decoder(target, masked, memory_mask=mask), expected, 1e-5, 1e-5)
        expected = decoder(x, target, x_mask=mask)
        assert_close(decoder(masked, target, x_mask=mask), expected, 1e-5, 1e-5)
    np.testing.assert_array_equal(mask_of(masked), SOURCE != 0)


def test_integers_number_sentences():
    x, memory, target = (
        normal(B, S, D),
        normal(B, S, D),
        np.array([[1, 2, 2, 2, 2], [1, 1, 1, 0, 0]]),
    )
    own = make_attention_mask(PACKED, PACKED)
    block = EncoderBlock(H, K, F)
    assert_close(block(x, mask=PACKED), block(x, own))
    block = DecoderBlock(H, K, F)
    expected = block(
        x, memory, make_attention_mask(target, target), make_attention_mask(target, PACKED)
    )
    assert_close(block(x, memory, x_mask=target, memory_mask=PACKED), expected)
    ones = np.ones_like(PACKED)
    expected = block(x, memory, None, make_attention_mask(ones, PACKED))
    assert_close(block(x, memory, memory_mask=PACKED), expected)


def test_numbers_of_queries_alone_are_not_ignored():
    attention, x = MultiHeadAttention(H, K), normal(B, S, D)
    with pytest.raises(ValueError, match="needs a `memory_mask` that does so for the memory"):
        attention(x, x, query_mask=PACKED)
    own = make_attention_mask(PACKED, PACKED)
    assert_close(attention(x, x, query_mask=PACKED, memory_mask=PACKED), attention(x, x, own))
    assert_close(attention(x, x, query_mask=PACKED != 0), attention(x, x))


def test_a_decoder_block_hides_the_future_unless_it_is_told_not_to():
    block, memory = DecoderBlock(H, K, F), normal(B, S, D)
    seen = influence(lambda x: block(x, memory), normal(B, T, D))
    np.testing.assert_array_equal(seen, [np.tri(T, dtype=bool)] * B)
    whole = np.ones((1, T, T), dtype=bool)
    x = normal(B, T, D)
    assert_close(block(x, memory, whole), block(x, memory))
    all_seen = block(x, memory, use_causal_mask=False)
    assert np.abs(to_numpy(all_seen - block(x, memory))).max() > 1e-3
    assert_close(
        block(x, memory, np.tri(T, dtype=bool)[None], use_causal_mask=False), block(x, memory)
    )


def test_a_causal_mask_of_another_memory_begins_at_its_first_position():
    layer = MultiHeadAttention(H, K)
    query, memory = normal(B, T, D), normal(B, S, D)
    expected = layer(query, memory, np.tri(T, S, dtype=bool)[None])
    assert_close(layer(query, memory, use_causal_mask=True), expected)


def test_weights_of_attention_are_returned():
    x, memory, mask = normal(B, T, D), normal(B, S, D), SOURCE != 0
    attention = MultiHeadAttention(H, K, dropout=0.5)
    output, weights = attention(x, memory, memory_mask=mask, return_attention_scores=True)
    assert_close(output, attention(x, memory, memory_mask=mask))
    assert_close(weights, attention.weights_of(x, memory, mask[:, None]))
    _, dropped = attention(x, memory, memory_mask=mask, return_attention_scores=True, training=True)
    assert_close(weights, dropped)
    block = EncoderBlock(H, K, F)
    output, weights = block(memory, mask=mask, return_attention_scores=True)
    assert_close(output, block(memory, mask=mask))
    assert_close(weights, block.self_attention.weights_of(memory, memory, mask[:, None]))
    block = DecoderBlock(H, K, F)
    output, own, cross = block(x, memory, memory_mask=mask, return_attention_scores=True)
    assert_close(output, block(x, memory, memory_mask=mask))
    assert_close(own, block.self_attention.weights_of(x, x, np.tri(T, dtype=bool)[None]))
    hidden = np.broadcast_to(~mask[:, None, None], (B, H, T, S))
    assert to_numpy(cross).shape == (B, H, T, S)
    assert (to_numpy(cross)[hidden] == 0).all()
    assert_close(to_numpy(cross).sum(axis=-1), np.ones((B, H, T)))


def test_weights_of_attention_are_outputs_of_a_functional_model():
    x, memory = keras.Input((None, D)), keras.Input((None, D))
    block, attention, encoder = (
        DecoderBlock(H, K, F),
        MultiHeadAttention(H, K),
        EncoderBlock(H, K, F),
    )
    outputs = [
        *block(x, memory, return_attention_scores=True),
        *attention(x, memory, return_attention_scores=True),
        *encoder(x, return_attention_scores=True),
    ]
    model = keras.Model([x, memory], outputs)
    results = model([normal(B, T, D), normal(B, S, D)])
    shapes = [
        (B, T, D),
        (B, H, T, T),
        (B, H, T, S),
        (B, T, D),
        (B, H, T, S),
        (B, T, D),
        (B, H, T, T),
    ]
    assert [tuple(each.shape) for each in results] == shapes
    assert [each.ndim for each in outputs] == [len(shape) for shape in shapes]
    assert {keras.backend.standardize_dtype(each.dtype) for each in results} == {"float32"}


def test_weights_of_an_own_way_to_attend_are_not_made_up():
    class Own(MultiHeadAttention):
        def _attend(self, query, key, value, mask, training):
            return super()._attend(query, key, value, mask, training)

    class OwnAndSaysSo(Own):
        def weights_of(self, query, memory, mask=None):
            return super().weights_of(query, memory, mask)

    x = normal(B, T, D)
    with pytest.raises(ValueError, match=r"`return_attention_scores` needs Own\.weights_of"):
        Own(H, K)(x, x, return_attention_scores=True)
    OwnAndSaysSo(H, K)(x, x, return_attention_scores=True)


def test_positions_need_no_mask():
    layer, x = PositionalEmbedding(max_sequence_length=T), normal(B, T, D)
    assert_close(layer(x), layer(x, np.ones((B, T), "int32")))
    masked = Masked(TARGET[:, ::-1] != 0)(x)
    assert_close(layer(masked), layer(x))
    with pytest.raises(ValueError, match=rf"8 positions, max_sequence_length={T}"):
        layer(normal(B, T + 1, D))
    inputs = keras.Input((None, D))
    assert_close(keras.Model(inputs, layer(inputs))(x), layer(x))


@pytest.fixture(scope="module")
def calls():
    """Dictionary from the names of arguments to functions of a mask that call a layer with it."""
    x, memory = normal(B, T, D), normal(B, S, D)
    attention, encoder, decoder = (
        MultiHeadAttention(H, K),
        EncoderBlock(H, K, F),
        DecoderBlock(H, K, F),
    )
    positions = PositionalEmbedding()
    return {
        "attention_mask": [
            lambda mask: attention(x, memory, mask),
            lambda mask: encoder(x, mask),
            lambda mask: encoder(x, attention_mask=mask),
        ],
        "self_attention_mask": [lambda mask: decoder(x, memory, mask)],
        "cross_attention_mask": [lambda mask: decoder(x, memory, cross_attention_mask=mask)],
        "query_mask": [lambda mask: attention(x, memory, query_mask=mask)],
        "memory_mask": [
            lambda mask: attention(x, memory, memory_mask=mask),
            lambda mask: decoder(x, memory, memory_mask=mask),
        ],
        "mask": [lambda mask: encoder(x, mask=mask)],
        "x_mask": [lambda mask: decoder(x, memory, x_mask=mask)],
        "padding_mask": [lambda mask: positions(x, mask)],
    }


def refused(calls, wrong, names, message):
    for name in names:
        for call in calls[name]:
            with pytest.raises(ValueError, match=rf"`{name}` must .*{message}"):
                call(wrong)


PAIRS = ("attention_mask", "self_attention_mask", "cross_attention_mask")
PADDING = ("query_mask", "memory_mask", "mask", "x_mask", "padding_mask")


def test_masks_may_be_lists_of_lists():
    x = normal(B, T, D)
    encoder, positions = EncoderBlock(H, K, F), PositionalEmbedding()
    pairs, padding = np.tri(T, dtype=bool)[None], np.arange(T) < [[T - 2], [T]]
    for call, mask in (
        (lambda mask: encoder(x, attention_mask=mask), pairs),
        (lambda mask: encoder(x, mask=mask), padding),
        (lambda mask: positions(x, padding_mask=mask), padding),
    ):
        assert_close(call(mask.tolist()), call(mask))


def test_masks_that_are_added_to_scores_are_refused(calls):
    refused(calls, np.zeros((B, T, T), "float32"), PAIRS, r"boolean.*dtype=float32.*mask == 0")
    refused(calls, np.zeros((B, T), "float32"), PADDING, r"boolean.*dtype=float32.*mask != 0")


@pytest.mark.parametrize("shape", [(T,), (B, T), (B, H, T, T), (B, 1, 1, T), (1, B, H, T, T)])
def test_masks_of_pairs_of_another_rank_are_refused(calls, shape):
    advice = {2: "Give a padding mask", 4: "All heads share one mask"}.get(len(shape), "")
    refused(calls, np.ones(shape, bool), PAIRS, f"rank 3.*Received: rank {len(shape)}.*{advice}")


@pytest.mark.parametrize("shape", [(T,), (B, T, T), (B, 1, 1, T)])
def test_masks_of_padding_of_another_rank_are_refused(calls, shape):
    refused(calls, np.ones(shape, bool), PADDING, f"rank 2.*Received: rank {len(shape)}")


@pytest.mark.parametrize("shape", [(B, T, T + 1), (B + 1, T, T), (B, T - 1, T), (B, T, 1)])
def test_masks_of_pairs_of_another_shape_are_refused(calls, shape):
    refused(calls, np.ones(shape, bool), PAIRS, "rank 3 and shape.*Received: rank 3")


@pytest.mark.parametrize("shape", [(B, T + 1), (B + 1, T), (T, B), (B, 1)])
def test_masks_of_padding_of_another_shape_are_refused(calls, shape):
    refused(calls, np.ones(shape, bool), PADDING, "rank 2 and shape.*Received: rank 2")


@pytest.mark.parametrize("mask", [np.ones((B, S), bool), np.zeros((B, T, S), "float32")])
def test_wrong_masks_are_refused_where_weights_are_looked_at_and_keys_projected(mask):
    attention, x, memory = MultiHeadAttention(H, K), normal(B, T, D), normal(B, S, D)
    attention.build(x.shape, memory.shape)
    with pytest.raises(ValueError, match=r"`mask` must "):
        attention.weights_of(x, memory, mask)
    with pytest.raises(ValueError, match=r"`mask` must "):
        attention.attend(x, *attention.project_memory(memory), mask)


@pytest.mark.parametrize("shape", [(B, 3, 4, D), (B, D)])
def test_inputs_of_another_rank_are_refused(shape):
    x = normal(*shape)
    attention = MultiHeadAttention(H, K)
    with pytest.raises(ValueError, match=r"three axes.*Received: shape"):
        attention(x, x)
    attention(normal(B, 3, D), normal(B, 3, D))  # builds it
    with pytest.raises(ValueError, match=r"three axes.*Received: shape"):
        attention(x, x)
    with pytest.raises(ValueError, match=r"three axes.*Received: shape"):
        PositionalEmbedding()(x)
    with pytest.raises(ValueError, match=r"three axes.*Received: shape"):
        EncoderBlock(H, K, F)(x)
