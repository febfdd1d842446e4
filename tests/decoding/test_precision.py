"""Training in half precision, and compiled by XLA or not."""

import random

import keras
import numpy as np
import pytest

from aiayn_keras.backend import compile_inference
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from tests.helpers import H, K, S, T, assert_close
from tests.layers.helpers import to_numpy

V, NUM_ROWS, BATCH_SIZE, EPOCHS = 19, 32, 8, 10
PADDING_ROW = 3
HALF = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


def small_model(**options):
    config = {"num_layers": 1, "num_heads": H, "hidden_dim": H * K, "intermediate_dim": 11}
    return TransformerSeq2SeqLM(TransformerBackbone(V, **config, max_sequence_length=9, **options))


def copying_task():
    """Inputs, labels and weights: the target is the source; one row is nothing but padding."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, S + 1, NUM_ROWS)
    lengths[PADDING_ROW] = 0
    labels = rng.integers(4, V, (NUM_ROWS, T))
    decoder_ids = np.roll(labels, 1, axis=1)
    decoder_ids[:, 0] = 2
    target_mask = (np.arange(T) < lengths[:, None]).astype("int32")
    inputs = {
        "encoder_token_ids": labels[:, :S],
        "encoder_padding_mask": target_mask[:, :S],
        "decoder_token_ids": decoder_ids,
        "decoder_padding_mask": target_mask,
    }
    return inputs, labels, target_mask.astype("float32")


@pytest.fixture(scope="module", params=HALF)
def training(request):
    """A model trained with every dropout on, and its loss in each epoch. Leave it as it is."""
    random.seed(3)  # Keras draws its unset seeds from here.
    model = small_model(
        dropout=0.1, attention_dropout=0.1, activation_dropout=0.1, dtype=request.param
    )
    model.compile(keras.optimizers.Adam(1e-2))
    x, y, weights = copying_task()
    history = keras.Model.fit(
        model, x, y, sample_weight=weights, batch_size=BATCH_SIZE, epochs=EPOCHS, verbose=0
    )
    return model, history.history["loss"]


def hidden_states(model, inputs):
    """The decoder's output, compiled: JAX would else compile every operation by itself."""
    names = sorted(inputs)
    backbone = compile_inference(
        lambda *arrays: model.backbone(dict(zip(names, arrays, strict=True))), model
    )
    return backbone(*(inputs[name] for name in names))["decoder_sequence_output"]


def first_batch():
    """The batch that holds the row of padding, of the shape that training has compiled."""
    return keras.tree.map_structure(lambda array: array[:BATCH_SIZE], copying_task())


def test_half_precision_learns(training):
    _, losses = training
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.9 * losses[0]


def test_half_precision_computes_in_half_and_keeps_weights_in_float32(training):
    model, _ = training
    hidden = hidden_states(model, copying_task()[0])
    assert keras.backend.standardize_dtype(hidden.dtype) == HALF[model.dtype_policy.name]
    assert np.isfinite(to_numpy(hidden)).all(), "in the row of padding as well"
    assert {weight.dtype for weight in model.weights} == {"float32"}
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_only_float16_scales_its_gradients_and_skips_no_step(training):
    model, _ = training
    scales = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scales == (model.dtype_policy.name == "mixed_float16")
    adam = model.optimizer.inner_optimizer if scales else model.optimizer
    assert int(adam.iterations) == EPOCHS * NUM_ROWS // BATCH_SIZE


def test_a_row_of_padding_costs_nothing(training):
    model, _ = training
    x, y, weights = first_batch()
    assert not x["encoder_padding_mask"][PADDING_ROW].any()
    loss = model.test_on_batch(x, y, sample_weight=weights, return_dict=True)["loss"]
    assert loss > 0
    for name in ("encoder_token_ids", "decoder_token_ids"):
        x[name] = x[name].copy()
        x[name][PADDING_ROW] = 7
    changed = model.test_on_batch(x, y, sample_weight=weights, return_dict=True)["loss"]
    assert_close(changed, loss)


def test_a_batch_of_nothing_but_padding_does_no_harm(training):
    model, _ = training
    before = model.get_weights(), [to_numpy(v) for v in model.optimizer.variables]
    x, y, weights = first_batch()
    x = {name: np.zeros_like(array) for name, array in x.items()}
    logs = model.train_on_batch(x, y, sample_weight=0 * weights, return_dict=True)
    assert logs["loss"] == 0
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    model.set_weights(before[0])
    for variable, value in zip(model.optimizer.variables, before[1], strict=True):
        variable.assign(value.astype(variable.dtype))


@pytest.mark.skipif(
    keras.config.backend() == "torch",
    reason="torch.compile takes four minutes for a model of two layers",
)
@pytest.mark.skipif(keras.config.backend() == "jax", reason="XLA compiles every operation there.")
@pytest.mark.slow
def test_a_step_compiled_by_xla_is_the_step_as_it_is():
    model, other = small_model(dropout=0.0), small_model(dropout=0.0)
    other.set_weights(model.get_weights())
    start = model.get_weights()
    x, y, weights = copying_task()
    for each, jit_compile in ((model, True), (other, False)):
        each.compile(keras.optimizers.SGD(0.5), jit_compile=jit_compile)
        assert each.jit_compile is jit_compile
        each.train_on_batch(x, y, sample_weight=weights)
    for old, actual, expected in zip(start, model.get_weights(), other.get_weights(), strict=True):
        largest = np.abs(expected).max()
        assert np.abs(actual - expected).max() < 1e-5 * largest
        assert np.abs(expected - old).max() > 1e-4 * largest, "or else nothing is compared"


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("num_beams", [1, 2])
def test_a_sentence_alone_is_translated_as_in_a_batch(dtype, num_beams):
    tokenizer = TransformerTokenizer.train(["one two three", "two one", "three"] * 9, V)
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
    model = TransformerSeq2SeqLM(small_model(dtype=dtype).backbone, preprocessor)
    sources = ["one two", "three"]
    together = model.translate(sources, num_beams=num_beams)
    for source, expected in zip(sources, together, strict=True):
        (alone,) = model.translate([source], num_beams=num_beams)
        assert alone.tokens == expected.tokens
        assert_close(alone.score, expected.score, rtol=1e-2)


@pytest.mark.skipif(keras.config.backend() == "jax", reason="JAX computes float64 in float32")
def test_a_search_in_float64_finds_what_one_in_float32_finds():
    tokenizer = TransformerTokenizer.train(["one two three", "two one", "three"] * 9, V)
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
    double, single = (
        TransformerSeq2SeqLM(small_model(dtype=dtype).backbone, preprocessor)
        for dtype in ("float64", "float32")
    )
    single.set_weights(double.get_weights())
    (actual,), (expected,) = (
        model.translate(["one two"], max_length=4) for model in (double, single)
    )
    assert actual.tokens == expected.tokens
    assert_close(actual.score, expected.score, rtol=1e-4)
