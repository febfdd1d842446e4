"""Models that translate nothing, of the layers alone: short trainings of the kinds in the docs."""

import keras
import numpy as np
import pytest

from aiayn_keras import layers
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy

D = 8


def classifier():
    """Tells whether 1 is in a row of tokens; 0 is padding."""
    tokens = np.random.randint(1, 6, (64, 6)) * (np.arange(6) < 4)
    x = inputs = keras.Input((6,), dtype="int32")
    x = keras.layers.Embedding(6, D, mask_zero=True)(x)
    x = layers.EncoderBlock(2, 4, 16)(layers.PositionalEmbedding()(x))
    x = keras.layers.GlobalAveragePooling1D()(x)
    outputs = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs), tokens, (tokens == 1).any(axis=1), "binary_crossentropy"


def tagger():
    """Tags the token 1; padding has no weight in the loss."""
    tokens = np.random.randint(1, 6, (64, 6)) * (np.arange(6) < 4)
    x = inputs = keras.Input((6,), dtype="int32")
    x = keras.layers.Embedding(6, D, mask_zero=True)(x)
    x = layers.EncoderBlock(2, 4, 16)(layers.PositionalEmbedding()(x))
    outputs = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs), tokens, (tokens == 1)[..., None], "binary_crossentropy"


def forecaster():
    """Forecasts the next value of a series whose first values are missing."""
    series = np.sin(np.arange(9) / 2 + np.random.rand(64, 1) * 6)[..., None]
    x = inputs = keras.Input((None, 1))
    x = keras.layers.Dense(D)(keras.layers.Masking()(x))
    x = layers.PositionalEmbedding()(x)
    x = layers.EncoderBlock(2, 4, 16)(x, use_causal_mask=True)
    past = series[:, :-1] * (np.arange(8) > 1)[:, None]
    return keras.Model(inputs, keras.layers.Dense(1)(x)), past, series[:, 1:], "mse"


def vision_transformer():
    """Tells on which half of a picture there is light."""
    images = np.random.rand(64, 4, 4, 1)
    x = inputs = keras.Input((4, 4, 1))
    x = keras.layers.Reshape((4, D))(keras.layers.Conv2D(D, 2, strides=2)(x))
    x = layers.PositionalEmbedding(4, kind="learned")(x)
    x = layers.MultiHeadAttention(2, 4)(x, x)
    x = keras.layers.GlobalAveragePooling1D()(x)
    is_left = images[:, :, :2].sum(axis=(1, 2, 3)) > images[:, :, 2:].sum(axis=(1, 2, 3))
    outputs = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs), images, is_left, "binary_crossentropy"


@pytest.fixture(params=[classifier, tagger, forecaster, vision_transformer])
def task(request):
    model, x, y, loss = request.param()
    # Compiling takes TensorFlow longer than the training.
    run_eagerly = keras.config.backend() == "tensorflow"
    model.compile(keras.optimizers.Adam(0.01), loss, run_eagerly=run_eagerly)
    return model, x.astype(model.input.dtype), y.astype("float32")


def test_a_model_learns_is_saved_and_loaded(task, tmp_path):
    model, x, y = task
    losses = model.fit(x, y, epochs=3, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_close(loaded(x[:5]), model(x[:5]))


def test_padding_has_no_weight_in_the_loss():
    model, x, y, _ = tagger()
    y = y.astype("float32")
    model.compile(loss="binary_crossentropy", jit_compile=False)
    loss = model.evaluate(x, y, verbose=0)
    probability = to_numpy(model(x))
    losses = -np.log(np.where(y == 1, probability, 1 - probability))[..., 0]
    assert_close(loss, losses[x != 0].mean(), 1e-3)
