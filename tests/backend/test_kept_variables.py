"""A model keeps its weights if an error ends what Keras computes.

On JAX, Keras takes them out of the variables meanwhile, and an error lost them and the state of the
optimizer. Other backends leave them there.
"""

import threading

import keras
import numpy as np
import pytest

from aiayn_keras import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    paper_adam,
)
from tests.helpers import B, T, assert_close
from tests.number_words import train_tokenizer

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


PAIRS = ["eins zwei", "drei"] * 3, ["one two", "three"] * 3
USES = {
    "translate": lambda model: model.translate("eins zwei", engine="keras").score,
    "score": lambda model: model.score(["eins zwei"], ["one two"]),
    "predict": lambda model: model.predict(_texts(), verbose=0),
    "evaluate": lambda model: model.evaluate(_texts(), verbose=0),
    "test_on_batch": lambda model: model.test_on_batch(_texts()),
    "attention_maps": lambda model: model.attention_maps("eins zwei", "one two").cross,
}


def _texts():
    return {"encoder_text": PAIRS[0][:2], "decoder_text": PAIRS[1][:2]}


def make_text_models():
    """Two models with one backbone."""
    keras.utils.set_random_seed(1)
    tokenizer = train_tokenizer()
    backbone = TransformerBackbone(tokenizer.vocabulary_size(), 1, 2, 8, 12, dropout=0.0)
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
    models = [TransformerSeq2SeqLM(backbone, preprocessor) for _ in range(2)]
    for model in models:
        model.compile(keras.optimizers.SGD(0.1))
    return models


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_callback_may_use_models_that_share_the_trained_weights(use):
    """Only a callback that had read `self.model` could; else `None` was called."""
    trained, other = make_text_models()
    # Beginning to evaluate the trained one, Keras sets the loss of its epoch to 0.
    models = [other] if use in (USES["evaluate"], USES["test_on_batch"]) else [other, trained]
    found, expected = [], []

    def note(step, logs):
        if step == 1:
            found.extend(map(use, models))
            callback.model  # Keras puts the weights back  # noqa: B018
            expected.extend(map(use, models))

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=note)
    history = trained.fit(*PAIRS, 2, shuffle=False, verbose=0, callbacks=[callback]).history
    for actual, wanted in zip(found, expected, strict=True):
        assert_close(actual, wanted)
    plain, _ = make_text_models()
    assert_close(history["loss"], plain.fit(*PAIRS, 2, shuffle=False, verbose=0).history["loss"])


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_another_thread_is_told_to_wait(use):
    trained, other = make_text_models()
    alone, _ = make_text_models()
    messages = []

    def use_in_thread(step, logs):
        for model in (trained, other, alone):
            thread = threading.Thread(target=lambda model=model: messages.append(error_of(model)))
            thread.start()
            thread.join()

    def error_of(model):
        try:
            use(model)
        except RuntimeError as error:
            return str(error)
        return "none"

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=use_in_thread)
    trained.fit(PAIRS[0][:2], PAIRS[1][:2], verbose=0, callbacks=[callback])
    assert all(
        f"the weights of `{trained.name}` cannot be read while" in each for each in messages[:2]
    )
    assert messages[2:] == ["none"]
    use(trained)


def test_a_callback_of_a_plain_model_is_told_what_to_read():
    _, other = make_text_models()
    ids = keras.Input((None,), dtype="int32")
    plain = keras.Model(ids, other.backbone.token_embedding(ids))
    plain.compile("sgd", "mse")
    messages = []

    def use_other(step, logs):
        with pytest.raises(RuntimeError, match=r"read `self.model` first") as error:
            other.translate("eins")
        messages.append(str(error.value))
        callback.model  # noqa: B018
        assert np.isfinite(other.translate("eins").score)

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=use_other)
    plain.fit(np.ones((B, T)), np.ones((B, T, 8)), verbose=0, callbacks=[callback])
    assert len(messages) == 1


@pytest.mark.parametrize("train", ["fit", "train_on_batch"])
def test_a_loaded_model_that_is_frozen_must_be_compiled_anew(train, data, tmp_path):
    x, y = data
    trained = make_model()
    trained.train_on_batch(x, y)
    trained.save(tmp_path / "a.keras")
    model = keras.models.load_model(tmp_path / "a.keras")
    model.backbone.token_embedding.trainable = False
    with pytest.raises(RuntimeError, match=r"The trainable variables .*call `model\.compile"):
        getattr(model, train)(x, y)
    model.compile(keras.optimizers.SGD(0.1))
    embeddings = keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
    getattr(model, train)(x, y)
    assert_close(model.backbone.token_embedding.embeddings, embeddings, rtol=0, atol=0)
