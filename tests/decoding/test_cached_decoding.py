import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.cached_decoding import (
    DecoderCache,
    start_decoding,
    start_decoding_together,
)
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.models import TransformerBackbone
from tests.helpers import B, S, T, assert_close, slow_but
from tests.layers.helpers import randomize, to_numpy

V, W = 19, 4
TINY = {
    "vocabulary_size": V,
    "num_layers": 2,
    "num_heads": 3,
    "hidden_dim": 12,
    "intermediate_dim": 11,
    "max_sequence_length": 16,
}
VARIANTS = {
    "paper": {},
    "pre-norm": {"normalize_first": True},
    "learned positions": {"position_embedding": "learned"},
    "biases": {"attention_bias": True},
    "other widths": {"key_dim": 2, "value_dim": 5, "activation": "swish"},
    "an output of its own, with a bias": {"tie_weights": False, "logits_bias": True},
    "other widths with biases": {"key_dim": 2, "value_dim": 5, "attention_bias": True},
}
SOURCE_MASK = np.array([[1] * S, [1] * 3 + [0] * (S - 3)], "int32")


def backbone(**options):
    return randomize(TransformerBackbone(**{**TINY, **options}))


def step_by_step(model, sources, targets, num_beams, picks=None, rooms=(), source_mask=SOURCE_MASK):
    """Logits `(B·W, T, V)` of targets `(B·W, T)`, one position after the other.

    Args:
        picks: Integer array `(T, B, W)`: after each position, the hypotheses that live on.
        rooms: Dictionary of positions, before which the cache gets room for so many.
    """
    length = targets.shape[1] + 1
    next_token, cache = start_decoding(
        model, *map(ops.convert_to_tensor, (sources, source_mask)), length, num_beams
    )
    logits = []
    for t in range(targets.shape[1]):
        index = ops.convert_to_tensor(t + 1, dtype="int32")
        if t in rooms:
            cache = cache.with_room(rooms[t])
        y, _, cache = next_token(ops.convert_to_tensor(targets), cache, index)
        logits.append(to_numpy(y))
        if picks is not None:
            cache = cache.reorder(ops.convert_to_tensor(picks[t]))
            rows = (np.arange(len(sources))[:, None] * W + picks[t]).ravel()
            targets, logits = targets[rows], [step[rows] for step in logits]
    return np.stack(logits, axis=1), targets


def at_once(model, sources, targets, source_mask=SOURCE_MASK):
    """The same from the layers, all positions together."""
    num_beams = len(targets) // len(sources)
    hidden_states = model(
        {
            "encoder_token_ids": np.repeat(sources, num_beams, axis=0),
            "encoder_padding_mask": np.repeat(source_mask, num_beams, axis=0),
            "decoder_token_ids": targets,
            "decoder_padding_mask": np.ones_like(targets),
        }
    )["decoder_sequence_output"]
    return to_numpy(model.token_embedding(hidden_states, reverse=True))


def tokens(num_beams):
    sources = np.random.randint(4, V, (B, S)).astype("int32")
    return sources, np.random.randint(4, V, (B * num_beams, T)).astype("int32")


def largest_difference(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("num_beams", [None, 1, W])
def test_one_position_after_the_other_equals_all_at_once(options, num_beams):
    model = backbone(**options)
    sources, targets = tokens(num_beams or 1)
    logits, _ = step_by_step(model, sources, targets, num_beams)
    assert largest_difference(logits, at_once(model, sources, targets)) < 1e-5


def test_hypotheses_that_branch_and_die_keep_their_own_past():
    """After every position, random hypotheses of a sentence live on, some of them twice."""
    model = backbone()
    sources, targets = tokens(W)
    picks = np.random.randint(0, W, (T, B, W)).astype("int32")
    # Tokens to come are those of the row that a hypothesis has moved to.
    logits, survivors = step_by_step(model, sources, targets, W, picks)
    assert largest_difference(logits, at_once(model, sources, survivors)) < 1e-5


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_the_hypotheses_of_one_sentence_keep_their_own_past(options):
    """TensorFlow lets each of them attend on its own."""
    model = backbone(**options)
    sources, targets = (x[-n:] for x, n in zip(tokens(W), (1, W), strict=True))
    mask, picks = SOURCE_MASK[1:], np.random.randint(0, W, (T, 1, W)).astype("int32")
    logits, survivors = step_by_step(model, sources, targets, W, picks, source_mask=mask)
    expected = at_once(model, sources, survivors, mask)
    assert largest_difference(logits, expected) < 1e-5


def test_one_sentence_has_the_coverage_that_it_has_in_a_batch():
    model = backbone()
    sources, targets = tokens(W)
    covered = []
    for rows in (slice(0, 2), slice(1, 2)):
        next_token, cache = start_decoding(
            model,
            *(ops.convert_to_tensor(x[rows]) for x in (sources, SOURCE_MASK)),
            T + 1,
            W,
            track_coverage=True,
        )
        written = ops.convert_to_tensor(targets.reshape(B, W, T)[rows].reshape(-1, T))
        for t in range(T):
            _, _, cache = next_token(written, cache, ops.convert_to_tensor(t + 1, dtype="int32"))
        covered.append(to_numpy(cache.coverage))
    assert_close(covered[1], covered[0][1:], rtol=1e-5)
    assert_close(covered[1].sum(axis=-1), np.full((1, W), T), rtol=1e-5)


@pytest.mark.skipif(keras.config.backend() != "jax", reason="Caches grow by themselves.")
def test_a_cache_that_was_too_short_goes_on_with_more_room():
    model = backbone()
    sources, targets = tokens(W)
    logits, _ = step_by_step(model, sources, targets, W, rooms={0: 2, 2: T + 1})
    assert largest_difference(logits, at_once(model, sources, targets)) < 1e-5


@pytest.mark.parametrize("num_models", [1, 2])
def test_many_sentences_have_the_translations_of_a_few(num_models):
    """Random models go on to the limit, so most sentences need more than the usual length."""
    num_sentences, length = 18, 30
    models = [backbone(max_sequence_length=length) for _ in range(num_models)]
    sources = np.random.randint(4, V, (num_sentences, S)).astype("int32")
    limits = np.random.randint(2, length - 1, num_sentences).astype("int32")
    prompt = np.eye(1, length, dtype="int32")
    options = SearchOptions(W, 0.6, num_return_sequences=2, coverage_penalty=0.2)

    def search(sources, limits):
        inputs = tuple(map(ops.convert_to_tensor, (sources, np.ones_like(sources))))
        next_token, cache = start_decoding_together(models, *inputs, length, W, track_coverage=True)
        assert cache.usual_length < length - 2
        prompts = ops.convert_to_tensor(np.repeat(prompt, len(sources), axis=0))
        limits = ops.convert_to_tensor(limits)
        found = beam_search(
            SearchInputs(next_token, cache, prompts, prompts == 1, options, 2, limits)
        )
        return map(to_numpy, found)

    token_ids, log_probs = search(sources, limits)
    assert ((token_ids[:, 0] != 0).sum(axis=1) > S + S // 4 + 8).sum() > num_sentences // 4
    for first in range(0, num_sentences, 6):
        few = slice(first, first + 6)
        expected_ids, expected = search(sources[few], limits[few])
        np.testing.assert_array_equal(token_ids[few], expected_ids)
        assert_close(log_probs[few], expected, 1e-5, 1e-5)


def test_lora_weights_are_merged():
    model = backbone()
    model.enable_lora(2)
    randomize(model)
    sources, targets = tokens(W)
    logits, _ = step_by_step(model, sources, targets, W)
    assert largest_difference(logits, at_once(model, sources, targets)) < 1e-5


# Keras says so of every layer without weights, and transposes a vector by `.T` on PyTorch.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.filterwarnings("ignore:.*The use of `x.T` on tensors:UserWarning")
def test_quantized_weights_are_merged():
    """The layers round inputs to int8 too; the step does not, and stays nearer to the model."""
    model = backbone()
    sources, targets = tokens(W)
    expected = at_once(model, sources, targets)
    model.quantize("int8")
    logits, _ = step_by_step(model, sources, targets, W)
    error = np.abs(logits - expected).mean()
    assert error < 0.05 * np.abs(expected).mean()
    assert error < np.abs(at_once(model, sources, targets) - expected).mean()


@pytest.mark.parametrize("dtype", slow_but(["mixed_bfloat16"], ["bfloat16", "mixed_bfloat16"]))
def test_half_precision_is_for_matrix_products_only(dtype):
    model = backbone()
    half = TransformerBackbone(**TINY, dtype=dtype)
    half.set_weights(model.get_weights())
    sources, targets = tokens(W)
    expected = at_once(model, sources, targets)
    logits, _ = step_by_step(half, sources, targets, W)
    error = np.abs(logits - expected).mean()
    assert error < 0.05 * np.abs(expected).mean()
    assert error <= 1.2 * np.abs(at_once(half, sources, targets) - expected).mean()
    next_token, cache = start_decoding(
        half, *map(ops.convert_to_tensor, (sources, SOURCE_MASK)), T + 1, W
    )
    y, hidden_states, cache = next_token(
        ops.convert_to_tensor(targets), cache, ops.convert_to_tensor(1, dtype="int32")
    )
    assert keras.backend.standardize_dtype(y.dtype) == "float32"
    assert keras.backend.standardize_dtype(hidden_states.dtype) == "float32"
    assert keras.backend.standardize_dtype(cache.blocks[0][0].dtype) == "bfloat16"


def test_coverage_bonus_by_hand():
    """Two hypotheses, three words and one padded position that nobody has looked at."""
    coverage = np.array([[[0.5, 1.0, 3.0, 0.0], [0.25, 0.5, 1.0, 0.0]]], "float32")
    mask = np.array([[[True, True, True, False]]])
    cache = DecoderCache(None, ops.convert_to_tensor(mask), None, None, coverage)
    assert_close(cache.coverage_bonus(0.2), [[0.2 * np.log(0.5), 0.2 * np.log(0.125)]])


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="Shapes of TensorFlow's graphs.")
def test_coverage_keeps_the_shape_that_a_loop_knows():
    import tensorflow as tf

    specs = tf.TensorSpec((1, 4, None)), tf.TensorSpec((None, 2, 4, None))

    @tf.function(input_signature=specs, autograph=False)
    def add(coverage, attention):
        return DecoderCache((), (), (), (), coverage).add_coverage(attention).coverage

    assert add.get_concrete_function().output_shapes.as_list() == [1, 4, None]
    assert_close(add(tf.ones((1, 4, 3)), tf.ones((1, 2, 4, 3))), np.full((1, 4, 3), 2))
