"""Properties that hold for every shape, padding and packing of a batch."""

import functools

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.backend import compile_inference
from aiayn_keras.decoding.cached_decoding import start_decoding
from aiayn_keras.layers import make_attention_mask
from aiayn_keras.models import TransformerBackbone, TransformerSeq2SeqLM
from tests.helpers import assert_close
from tests.layers.helpers import randomize, to_numpy

LONGEST, MAX_ROWS, MAX_BEAMS, MAX_PADDING = 17, 4, 3, 3
CONFIGS = {
    "1 head": {"num_heads": 1, "hidden_dim": 6, "key_dim": 4, "value_dim": 5},
    "2 heads, pre-norm": {"num_heads": 2, "hidden_dim": 8, "key_dim": 3, "normalize_first": True},
    "3 heads, 2 layers": {"num_heads": 3, "hidden_dim": 12, "num_layers": 2},
    "4 heads, learned": {"num_heads": 4, "hidden_dim": 10, "key_dim": 2, "value_dim": 7}
    | {"attention_bias": True, "position_embedding": "learned", "activation": "swish"},
    "bfloat16": {"num_heads": 2, "hidden_dim": 10, "value_dim": 3, "dtype": "mixed_bfloat16"},
}
VOCABULARY_SIZES = dict(zip(CONFIGS, (7, 13, 31, 101, 19), strict=True))
EXACT = [name for name in CONFIGS if name != "bfloat16"]

MAX_EXAMPLES = {"tensorflow": 40, "jax": 6, "torch": 20}
few = hypothesis.settings(max_examples=MAX_EXAMPLES[keras.config.backend()])
"""JAX compiles anew for every shape."""


@functools.cache
def model_of(name):
    config = {"num_layers": 1, "intermediate_dim": 9, **CONFIGS[name]}
    backbone = TransformerBackbone(
        VOCABULARY_SIZES[name], max_sequence_length=LONGEST + MAX_PADDING, **config
    )
    return randomize(TransformerSeq2SeqLM(backbone))


@functools.cache
def compiled(name, function):
    """`function` of a model and arrays as one of arrays alone."""
    model = model_of(name)
    return compile_inference(functools.partial(function, model), model)


# === What is drawn ===

names = st.sampled_from(list(CONFIGS))
exact_names = st.sampled_from(EXACT)
num_rows = st.integers(1, MAX_ROWS)
lengths = st.integers(1, LONGEST)


@st.composite
def padding_masks(draw, rows, most_sentences=3):
    """Sentences with padding between and behind them; a row may be nothing but padding."""
    mask = np.zeros((rows, draw(lengths)), "int32")
    for row in mask:
        ends = draw(st.lists(st.integers(0, len(row)), max_size=most_sentences))
        start = 0
        for number, end in enumerate(sorted(ends), start=1):
            row[start:end] = draw(st.sampled_from([number, 0]))
            start = end
    return mask


@st.composite
def batches(draw, name):
    """The four inputs, in the order of `ARGUMENTS`."""
    rows = draw(num_rows)
    source_mask, target_mask = draw(padding_masks(rows)), draw(padding_masks(rows))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    source, target = (
        rng.integers(0, VOCABULARY_SIZES[name], mask.shape, dtype="int32")
        for mask in (source_mask, target_mask)
    )
    return source, source_mask, target, target_mask


ARGUMENTS = [f"{s}_{x}" for s in ("encoder", "decoder") for x in ("token_ids", "padding_mask")]


def run(name, *arrays):
    """The encoder's and the decoder's output, NumPy."""
    return tuple(map(to_numpy, compiled(name, _run)(*arrays)))


def _run(model, *arrays):
    y = model.backbone(dict(zip(ARGUMENTS, arrays, strict=True)), training=False)
    return y["encoder_sequence_output"], y["decoder_sequence_output"]


def symbolic(array):
    return keras.KerasTensor(array.shape, keras.backend.standardize_dtype(array.dtype))


def is_as_promised(y, promised, shape, dtype):
    assert tuple(y.shape) == tuple(promised.shape) == shape
    assert keras.backend.standardize_dtype(y.dtype) == promised.dtype == dtype
    assert np.isfinite(to_numpy(y)).all()


# === Shapes, dtypes, finiteness ===


@pytest.mark.slow
@few
@hypothesis.given(st.data(), names)
def test_the_backbone_s_outputs_are_as_promised_and_finite(data, name):
    batch = data.draw(batches(name))
    backbone, dtype = model_of(name).backbone, model_of(name).compute_dtype
    inputs = dict(zip(ARGUMENTS, batch, strict=True))
    promised = backbone({key: symbolic(array) for key, array in inputs.items()})
    shapes = backbone.compute_output_shape({key: array.shape for key, array in inputs.items()})
    outputs = compiled(name, _run)(*batch)
    for side, ids, y in zip(("encoder", "decoder"), batch[::2], outputs, strict=True):
        key = f"{side}_sequence_output"
        is_as_promised(y, promised[key], (*ids.shape, backbone.hidden_dim), dtype)
        assert tuple(shapes[key]) == tuple(y.shape)


@pytest.mark.slow
@few
@hypothesis.given(st.data(), exact_names)
def test_logits_are_as_promised_and_finite(data, name):
    batch = data.draw(batches(name))
    logits = compiled(name, _logits)(*batch)
    promised = model_of(name)(
        {key: symbolic(array) for key, array in zip(ARGUMENTS, batch, strict=True)}
    )
    is_as_promised(logits, promised, (*batch[2].shape, VOCABULARY_SIZES[name]), "float32")


def _logits(model, *arrays):
    return model(dict(zip(ARGUMENTS, arrays, strict=True)), training=False)


@few
@hypothesis.given(st.data(), names)
def test_every_layer_s_output_is_as_promised_and_finite(data, name):
    _, source_mask, _, target_mask = data.draw(batches(name))
    backbone, dtype = model_of(name).backbone, model_of(name).compute_dtype
    memory, x = (
        ops.cast(np.random.normal(size=(*mask.shape, backbone.hidden_dim)), dtype)
        for mask in (source_mask, target_mask)
    )
    block = backbone.decoder_blocks[0]
    for layer, arguments in [
        (backbone.decoder_embedding, (x, target_mask)),
        (backbone.encoder_blocks[0], (x,)),
        (block, (x, memory)),
        (block.self_attention, (x, x)),
        (block.cross_attention, (x, memory)),
        (block.feed_forward, (x,)),
    ]:
        promised = layer.compute_output_spec(*map(symbolic, arguments))
        is_as_promised(layer(*arguments), promised, tuple(x.shape), dtype)
        shapes = [tuple(argument.shape) for argument in arguments]
        assert tuple(layer.compute_output_shape(*shapes)) == tuple(x.shape)
    add_norm = block.cross_attention_add_norm
    is_as_promised(add_norm(x, sublayer=ops.tanh), symbolic(x), tuple(x.shape), dtype)
    assert tuple(add_norm.compute_output_shape(tuple(x.shape))) == tuple(x.shape)


# === What one position owes to another ===


@pytest.mark.slow
@few
@hypothesis.given(st.data(), exact_names, st.integers(0, 1), st.integers(1, MAX_PADDING))
def test_more_padding_changes_nothing(data, name, more_rows, more_positions):
    batch = data.draw(batches(name))
    more = [(0, more_rows), (0, more_positions)]
    padded = [np.pad(array, more) for array in batch]
    for ids, mask in (padded[:2], padded[2:]):
        ids[mask == 0] = VOCABULARY_SIZES[name] - 1  # what is written on padding
    source_mask, target_mask = batch[1], batch[3]
    # A target sentence without source sees the mean of all there is, padding included.
    has_source = make_attention_mask(target_mask, source_mask)
    has_source = ops.convert_to_numpy(ops.any(has_source, axis=2))
    for actual, expected, real in zip(
        run(name, *padded), run(name, *batch), (source_mask != 0, has_source), strict=True
    ):
        rows, length = real.shape
        assert_close(actual[:rows, :length][real], expected[real], 1e-4, 1e-4)


@few
@hypothesis.given(st.data(), exact_names)
def test_a_later_token_changes_nothing_earlier(data, name):
    batch = data.draw(batches(name))
    source, source_mask, target, target_mask = batch
    position = data.draw(st.integers(0, target.shape[1] - 1))
    changed = target.copy()
    changed[:, position:] = (changed[:, position:] + 1) % VOCABULARY_SIZES[name]
    _, expected = run(name, *batch)
    _, actual = run(name, source, source_mask, changed, target_mask)
    real = target_mask[:, :position] != 0
    assert_close(actual[:, :position][real], expected[:, :position][real], 1e-5, 1e-5)


@few
@hypothesis.given(st.data(), exact_names)
def test_another_sentence_of_the_row_changes_nothing(data, name):
    batch = data.draw(batches(name))
    sentence = data.draw(st.integers(1, 3))
    others = [array.copy() for array in batch]
    for ids, mask in (others[:2], others[2:]):
        ids[mask != sentence] = 0
    source_mask, target_mask = batch[1], batch[3]
    has_source = (source_mask == sentence).any(axis=1, keepdims=True)
    reals = source_mask == sentence, has_source & (target_mask == sentence)
    for actual, expected, real in zip(run(name, *others), run(name, *batch), reals, strict=True):
        assert_close(actual[real], expected[real], 1e-4, 1e-4)


# === One position after the other ===


@pytest.mark.slow
@few
@hypothesis.given(st.data(), exact_names, num_rows, st.integers(1, MAX_BEAMS))
def test_one_position_after_the_other_equals_all_at_once(data, name, rows, num_beams):
    source_mask = data.draw(padding_masks(rows, most_sentences=1))
    target_length, spare = data.draw(lengths), data.draw(st.integers(0, 2))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    size = VOCABULARY_SIZES[name]
    source = rng.integers(0, size, source_mask.shape, dtype="int32")
    target = rng.integers(0, size, (rows * num_beams, target_length), dtype="int32")
    repeated = [np.repeat(array, num_beams, axis=0) for array in (source, source_mask)]
    _, at_once = run(name, *repeated, target, np.ones_like(target))

    room = np.zeros(target_length + spare + 1)  # its length says how much room to make
    begin, step = step_functions(num_beams)
    leaves = compiled(name, begin)(source, source_mask, room)
    for t in range(target_length):
        y, *leaves = compiled(name, step)(
            source, source_mask, room, target, np.array(t + 1, "int32"), *leaves
        )
        assert_close(to_numpy(y), at_once[:, t], 1e-4, 1e-4)


@functools.cache
def step_functions(num_beams):
    """Of a model and arrays: one that makes an empty cache, one that takes a step."""

    def prepare(model, source, source_mask, room):
        length = ops.shape(room)[0]
        return start_decoding(model.backbone, source, source_mask, length, num_beams)

    def begin(model, *arrays):
        return keras.tree.flatten(prepare(model, *arrays)[1])

    def step(model, source, source_mask, room, target, index, *leaves):
        next_token, empty = prepare(model, source, source_mask, room)
        cache = keras.tree.pack_sequence_as(empty, leaves)
        _, hidden_states, cache = next_token(target, cache, index)
        return [hidden_states, *keras.tree.flatten(cache)]

    return begin, step
