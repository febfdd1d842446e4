"""A model keeps its weights if an error ends what Keras computes.

On JAX, Keras takes them out of the variables meanwhile, and an error lost them and the state of the
optimizer. Other backends leave them there.
"""

import keras
import numpy as np
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM, paper_adam
from tests.helpers import B, T, assert_close

V = 20

pytestmark = pytest.mark.skipif(keras.config.backend() != "jax", reason="JAX alone takes them.")


@pytest.fixture
def data():
    """Inputs and labels."""
    ids = np.random.default_rng(2).integers(1, V, (3, B, T))
    mask = np.ones((B, T), "int32")
    x = {"encoder_token_ids": ids[0], "decoder_token_ids": ids[1]}
    return {**x, "encoder_padding_mask": mask, "decoder_padding_mask": mask}, ids[2]


def make_model():
    keras.utils.set_random_seed(1)
    backbone = TransformerBackbone(V, 1, 2, 8, 12, dropout=0.0)
    model = TransformerSeq2SeqLM(backbone)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
    return model


@pytest.mark.parametrize("is_trained", [True, False])
def test_if_the_first_step_of_a_training_fails(is_trained, data):
    x, y = data
    losses = []
    for is_damaged in (True, False):
        model = make_model()
        if is_trained:
            model.fit(x, y, verbose=0)
        if is_damaged:
            with pytest.raises((TypeError, ValueError)):
                model.fit(x, y[:, 1:], verbose=0)
        losses.append([model.fit(x, y, verbose=0).history["loss"] for _ in range(2)])
    assert_close(losses[0], losses[1], rtol=1e-6)


@pytest.mark.parametrize("method", ["evaluate", "predict"])
@pytest.mark.parametrize("batches", [0, 2])
def test_if_data_ends_in_an_error(method, batches, data):
    x, y = data
    model = make_model()
    expected = model.evaluate(x, y, verbose=0)

    def damaged():
        yield from [(x, y)] * batches
        yield x, y[:, 1:]
        raise OSError("The disk is gone.")

    with pytest.raises(Exception):  # noqa: B017, PT011 - it may be JAX's, or that of the data
        getattr(model, method)(damaged(), verbose=0)
    assert_close(model.evaluate(x, y, verbose=0), expected, rtol=1e-6)


def test_a_training_with_moving_averages_goes_on(data):
    """Weights and averages were one array, which JAX was given twice: an error about None."""
    x, y = data
    model = make_model()
    model.compile(paper_adam(8, 2, peak_learning_rate=0.01, ema_momentum=0.5))
    for train in (lambda: model.fit(x, y, verbose=0), lambda: model.train_on_batch(x, y)) * 2:
        before = model.evaluate(x, y, verbose=0)[0]
        train()
        assert model.evaluate(x, y, verbose=0)[0] < before
