"""A small model that has learned to translate German number words."""

import random

import keras
import pytest

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
)
from tests.made_once import made_once
from tests.number_words import number_words, train_tokenizer


@pytest.fixture(scope="session")
def tokenizer():
    return train_tokenizer()


@pytest.fixture(scope="session")
def model(tokenizer, tmp_path_factory):
    """A `TransformerSeq2SeqLM`, trained. Tests must not change it."""

    def save_trained(path):
        model = _make(tokenizer)
        _train(model)
        model.backbone.save_weights(path)

    weights = made_once(tmp_path_factory, "number_words.weights.h5", save_trained)
    model = _make(tokenizer)
    model.backbone.load_weights(weights)
    return model


def _make(tokenizer):
    random.seed(3)  # Keras draws its unset seeds from here.
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(),
        num_layers=2,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=48,
        dropout=0.0,
        max_sequence_length=70,
    )
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
    model = TransformerSeq2SeqLM(backbone, preprocessor)
    learning_rate = keras.optimizers.schedules.CosineDecay(1e-2, decay_steps=4 * 64)
    model.compile(keras.optimizers.Adam(learning_rate, beta_2=0.98))
    return model


def _train(model):
    sources, targets = zip(*number_words(2048, 2), strict=True)
    inputs = model.preprocessor({"encoder_text": list(sources), "decoder_text": list(targets)})
    # In the given order, which is one of chance already: PyTorch's shuffling has no seed here.
    keras.Model.fit(
        model,
        *inputs[:2],
        sample_weight=inputs[2],
        batch_size=32,
        epochs=4,
        shuffle=False,
        verbose=0,
    )


@pytest.fixture(scope="session")
def pairs():
    """Pairs of texts that the model has mostly not seen."""
    return number_words(12, 4)
