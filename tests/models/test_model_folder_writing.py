"""A model folder that could not be loaded is not written."""

import keras
import numpy as np
import pytest

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from tests.number_words import train_tokenizer


@keras.saving.register_keras_serializable("tests")
def half_relu(x):
    return keras.ops.relu(x) / 2


@keras.saving.register_keras_serializable("tests")
class Shouting(TransformerTokenizer):
    """Reads capitals as small letters."""


@pytest.fixture
def own_model_cls():
    """A model class that is registered for one test only.

    `keras_hub.models.Seq2SeqLM.from_preset` may take any registered class with this backbone, so
    one that stayed would change what other tests load.
    """

    class OwnModel(TransformerSeq2SeqLM):
        """A model with parts of its own."""

    before = dict(keras.saving.get_custom_objects())
    yield keras.saving.register_keras_serializable("tests")(OwnModel)
    for name in keras.saving.get_custom_objects().keys() - before.keys():
        del keras.saving.get_custom_objects()[name]


def build(cls=TransformerSeq2SeqLM, activation="relu", make_tokenizer=lambda proto: proto):
    tokenizer = make_tokenizer(train_tokenizer())
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 1, 2, 8, 12, max_sequence_length=20, activation=activation
    )
    return cls(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": half_relu}, r"refuse: config.json: `activation` must be a name"),
        ({"activation": keras.layers.LeakyReLU(0.3)}, r"`activation` must be a name"),
        ({"make_tokenizer": lambda plain: Shouting(plain.proto)}, r"tokenizer.class_name"),
        (
            {"make_tokenizer": lambda plain: TransformerTokenizer(plain.proto, add_eos=True)},
            r"tokenizer.config.add_eos",
        ),
    ],
)
def test_a_folder_that_could_not_be_loaded_leaves_the_old_one(options, message, tmp_path):
    folder = tmp_path / "model"
    build().save_to_preset(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=rf"(?s)cannot be saved.*{message}.*change_a_part.md"):
        build(**options).save_to_preset(folder)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_model_of_ones_own_class_is_saved_with_it(own_model_cls, tmp_path):
    model = build(own_model_cls, half_relu)
    model.save_to_preset(tmp_path)
    again = own_model_cls.from_preset(str(tmp_path))
    assert again.backbone.activation is half_relu
    for old, new in zip(model.get_weights(), again.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
