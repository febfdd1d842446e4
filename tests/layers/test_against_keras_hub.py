"""Attention and blocks equal those of Keras and KerasHub with the same weights."""

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import DecoderBlock, EncoderBlock, MultiHeadAttention
from tests.helpers import B, D, H, K, S, T, assert_close
from tests.layers.helpers import normal, randomize, to_numpy

F = 11
SOURCE, TARGET = np.array([[4, 5, 6, 0, 0], [7, 8, 9, 2, 0]]), np.array([[1] * 5 + [0, 0], [1] * 7])
PAIRS = np.array([np.tri(T, dtype=bool) | np.eye(T, k=2, dtype=bool), np.ones((T, T), bool)])
"""Masks of pairs that let some of the future be seen, and every query something."""
CROSS = np.array([np.tri(T, S, dtype=bool), np.arange(T * S).reshape(T, S) % 3 != 1])
CROSS[:, :, 0] = True


def same_weights(ours, theirs):
    """Gives both layers the same random weights, in one order."""
    randomize(ours)
    for variable, value in zip(theirs.weights, ours.weights, strict=True):
        variable.assign(ops.reshape(value, variable.shape))
    return ours, theirs


def attentions():
    ours, theirs = MultiHeadAttention(H, K, use_bias=True), keras.layers.MultiHeadAttention(H, K)
    for layer in (ours, theirs):
        layer.build((B, T, D), (B, S, D))
    return same_weights(ours, theirs)


def options(normalize_first):
    return {
        "attention_bias": True,
        "layer_norm_epsilon": 1e-5,
        "dropout": 0.0,
        "normalize_first": normalize_first,
    }


def by_name(ours, theirs, names):
    """Copies weights from our sublayers to theirs, `(our path, their attribute)`."""
    for mine, other in names:
        layer = ours
        for name in mine.split("."):
            layer = getattr(layer, name)
        for variable, value in zip(getattr(theirs, other).weights, layer.weights, strict=True):
            variable.assign(ops.reshape(value, variable.shape))
    return ours, theirs


PARTS = [
    ("self_attention", "_self_attention_layer"),
    ("self_attention_add_norm.layer_norm", "_self_attention_layer_norm"),
    ("feed_forward.hidden_dense", "_feedforward_intermediate_dense"),
    ("feed_forward.output_dense", "_feedforward_output_dense"),
    ("feed_forward_add_norm.layer_norm", "_feedforward_layer_norm"),
]
DECODER_PARTS = [
    *PARTS,
    ("cross_attention", "_cross_attention_layer"),
    ("cross_attention_add_norm.layer_norm", "_cross_attention_layer_norm"),
]


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm", "pre-norm"])
def encoders(request):
    ours = EncoderBlock(H, K, F, **options(request.param))
    theirs = keras_hub.layers.TransformerEncoder(F, H, normalize_first=request.param)
    for layer in (ours, theirs):
        layer.build((B, T, D))
    return by_name(randomize(ours), theirs, PARTS)


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm", "pre-norm"])
def decoders(request):
    ours = DecoderBlock(H, K, F, **options(request.param))
    theirs = keras_hub.layers.TransformerDecoder(F, H, normalize_first=request.param)
    for layer in (ours, theirs):
        layer.build((B, T, D), (B, S, D))
    return by_name(randomize(ours), theirs, DECODER_PARTS)


def close(ours, theirs, real=None):
    ours, theirs = to_numpy(ours), to_numpy(theirs)
    real = np.ones(ours.shape[:2], bool) if real is None else real
    assert_close(ours[real], theirs[real], 1e-4, 1e-4)


def behind_masking(x, tokens):
    """`x` with the mask that Keras attaches where `tokens` are not 0."""
    return keras.layers.Masking()(np.where((tokens != 0)[..., None], x, 0.0))


@pytest.mark.parametrize("use_causal_mask", [False, True])
@pytest.mark.parametrize("pairs", [None, CROSS], ids=["no pairs", "pairs"])
def test_attention_equals_keras_s(pairs, use_causal_mask):
    ours, theirs = attentions()
    query, memory = normal(B, T, D), normal(B, S, D)
    given = {"attention_mask": pairs, "use_causal_mask": use_causal_mask}
    close(ours(query, memory, **given), theirs(query, memory, **given))
    _, weights = ours(query, memory, **given, return_attention_scores=True)
    _, expected = theirs(query, memory, **given, return_attention_scores=True)
    assert_close(weights, expected, 1e-4, 1e-5)


def test_attention_equals_keras_s_with_padding_masks():
    ours, theirs = attentions()
    query, memory = normal(B, T, D), normal(B, S, D)
    close(
        ours(query, memory, query_mask=TARGET != 0, memory_mask=SOURCE != 0),
        theirs(query, memory, query_mask=TARGET != 0, value_mask=SOURCE != 0),
        TARGET != 0,
    )
    results = (layer(query, behind_masking(memory, SOURCE)) for layer in (ours, theirs))
    close(*results)
    x = (behind_masking(query, TARGET) for _ in range(2))  # Keras' takes the mask off its inputs
    results = (layer(y, y) for layer, y in zip((ours, theirs), x, strict=True))
    close(*results, TARGET != 0)


def test_encoder_block_equals_kerashub_s(encoders):
    ours, theirs = encoders
    x = normal(B, T, D)
    close(ours(x), theirs(x))
    close(ours(x, mask=TARGET != 0), theirs(x, padding_mask=TARGET != 0))
    close(ours(x, PAIRS), theirs(x, attention_mask=PAIRS))
    close(
        ours(x, PAIRS, mask=TARGET != 0), theirs(x, padding_mask=TARGET != 0, attention_mask=PAIRS)
    )
    _, weights = ours(x, return_attention_scores=True)
    _, expected = theirs(x, return_attention_scores=True)
    assert_close(weights, expected, 1e-4, 1e-5)


def test_encoder_block_equals_kerashub_s_behind_masking(encoders):
    ours, theirs = encoders
    x = behind_masking(normal(B, T, D), TARGET)
    close(ours(x), theirs(to_numpy(x), padding_mask=TARGET != 0))


def test_decoder_block_equals_kerashub_s(decoders):
    ours, theirs = decoders
    x, memory = normal(B, T, D), normal(B, S, D)
    close(ours(x, memory), theirs(x, memory))
    close(ours(x, memory, use_causal_mask=False), theirs(x, memory, use_causal_mask=False))
    close(
        ours(x, memory, x_mask=TARGET != 0, memory_mask=SOURCE != 0),
        theirs(x, memory, decoder_padding_mask=TARGET != 0, encoder_padding_mask=SOURCE != 0),
    )
    close(
        ours(x, memory, PAIRS, CROSS),
        theirs(x, memory, decoder_attention_mask=PAIRS, encoder_attention_mask=CROSS),
    )
    close(
        ours(x, memory, PAIRS, use_causal_mask=False),
        theirs(x, memory, decoder_attention_mask=PAIRS, use_causal_mask=False),
    )


def test_decoder_block_equals_kerashub_s_behind_masking(decoders):
    ours, theirs = decoders
    x, memory = behind_masking(normal(B, T, D), TARGET), behind_masking(normal(B, S, D), SOURCE)
    padding = {"decoder_padding_mask": TARGET != 0, "encoder_padding_mask": SOURCE != 0}
    close(ours(x, memory), theirs(to_numpy(x), to_numpy(memory), **padding))
