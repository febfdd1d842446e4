import keras
import numpy as np
import pytest

from aiayn_keras.optimization import Perplexity, TokenAccuracy
from tests.helpers import assert_close

LABELS = np.array([[0, 1, 2], [2, 2, 0]])
LOGITS = np.log(
    [
        [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.9, 0.05, 0.05]],
        [[0.125, 0.375, 0.5], [0.9, 0.05, 0.05], [0.05, 0.05, 0.9]],
    ]
).astype("float32")
WEIGHTS = np.array([[1, 1, 0], [1, 0, 0]], "float32")
"""Real tokens have the probabilities ½, ¼ and ½; the first and the last are right."""


def test_accuracy_is_the_share_of_real_tokens_that_are_right():
    metric = TokenAccuracy()
    metric.update_state(LABELS, LOGITS, sample_weight=WEIGHTS)
    assert_close(metric.result(), 2 / 3)


def test_perplexity_is_one_over_the_mean_probability_of_real_tokens():
    metric = Perplexity()
    metric.update_state(LABELS, LOGITS, sample_weight=WEIGHTS)
    assert_close(metric.result(), (1 / 2 * 1 / 4 * 1 / 2) ** (-1 / 3))


@pytest.mark.parametrize("metric", [TokenAccuracy, Perplexity])
def test_batches_count_by_their_real_tokens(metric):
    whole, parts = metric(), metric()
    whole.update_state(LABELS, LOGITS, sample_weight=WEIGHTS)
    for row in range(2):
        part = slice(row, row + 1)
        parts.update_state(LABELS[part], LOGITS[part], sample_weight=WEIGHTS[part])
    assert_close(parts.result(), whole.result())


@pytest.mark.parametrize("metric", [TokenAccuracy, Perplexity])
def test_many_tokens_are_counted_whatever_floatx_is(metric):
    """In bfloat16, 256 and 1 are 256."""
    usual = keras.config.floatx()
    keras.config.set_floatx("bfloat16")
    try:
        many = metric()
        for _ in range(200):
            many.update_state(LABELS, LOGITS, sample_weight=WEIGHTS)
    finally:
        keras.config.set_floatx(usual)
    once = metric()
    once.update_state(LABELS, LOGITS, sample_weight=WEIGHTS)
    assert_close(many.result(), once.result(), 1e-4)


def test_without_weights_every_token_counts():
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    accuracy.update_state(LABELS, LOGITS)
    perplexity.update_state(LABELS, LOGITS)
    assert_close(accuracy.result(), 2 / 6)
    product = 1 / 2 * 1 / 4 * 1 / 20 * 1 / 2 * 1 / 20 * 1 / 20
    assert_close(perplexity.result(), product ** (-1 / 6), 1e-4)


def test_a_uniform_guess_has_the_vocabulary_s_perplexity():
    metric = Perplexity()
    metric.update_state(LABELS, np.zeros((2, 3, 37), "float32"), sample_weight=WEIGHTS)
    assert_close(metric.result(), 37.0)


def test_state_is_forgotten_on_reset():
    metric = Perplexity()
    metric.update_state(LABELS, LOGITS)
    metric.reset_state()
    metric.update_state(LABELS[:1, :1], LOGITS[:1, :1])
    assert_close(metric.result(), 2.0)


@pytest.mark.parametrize("metric", [TokenAccuracy, Perplexity])
def test_config_round_trip(metric):
    other = keras.metrics.deserialize(keras.metrics.serialize(metric(name="mine")))
    assert isinstance(other, metric)
    assert other.name == "mine"


def test_callbacks_know_the_better_of_two_values():
    x, y = np.zeros((2, 3), "int32"), LABELS
    model = keras.Sequential([keras.Input((3,)), keras.layers.Embedding(1, 3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, weighted_metrics=[TokenAccuracy(), Perplexity()])
    by_accuracy, by_perplexity = (
        keras.callbacks.EarlyStopping(monitor=name) for name in ("val_accuracy", "val_perplexity")
    )
    model.fit(x, y, validation_data=(x, y), verbose=0, callbacks=[by_accuracy, by_perplexity])
    assert by_accuracy.monitor_op is keras.ops.greater
    assert by_perplexity.monitor_op is keras.ops.less
