"""A model folder that could not be loaded is not written."""

import copy

import keras
import numpy as np
import pytest

from aiayn_keras.decoding.search_options import with_defaults
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


class Whispering(TransformerTokenizer):
    """A class of a notebook or program, whose module Keras does not write."""


Whispering.__module__ = "__main__"


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
        ({"make_tokenizer": lambda plain: Whispering(plain.proto)}, r"tokenizer.class_name"),
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


TEXTS = ["one hundred", "two", "seven thousand and one"]


def test_a_folder_keeps_the_defaults_of_the_search(tmp_path):
    model, defaults = build(), {"num_beams": 2, "length_penalty": 1.0, "length_penalty_offset": 0}
    model.search_defaults = defaults
    model.save_to_preset(tmp_path)
    again = TransformerSeq2SeqLM.from_preset(str(tmp_path))
    assert again.search_defaults == defaults
    found = again.translate(TEXTS, engine="keras")
    again.search_defaults = {}
    assert found == again.translate(TEXTS, engine="keras", **defaults)
    assert found != again.translate(TEXTS, engine="keras")
    again.save_to_preset(tmp_path)  # removes the old file
    assert not (tmp_path / "search.json").exists()
    assert TransformerSeq2SeqLM.from_preset(str(tmp_path)).search_defaults == {}


@pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer:UserWarning")
def test_a_keras_file_and_a_copy_keep_the_search_defaults(tmp_path):
    model = build()
    model.search_defaults = {"num_beams": 2, "length_penalty": 0.0}
    model.save(tmp_path / "model.keras")
    for other in (keras.saving.load_model(tmp_path / "model.keras"), copy.deepcopy(model)):
        assert other.search_defaults == model.search_defaults
    model.search_defaults = {}
    model.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").search_defaults == {}


def test_an_empty_path_is_refused(tmp_path, monkeypatch):
    """The files were written into the current folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="path of a model folder must not be empty"):
        build().save_to_preset("")
    assert not any(tmp_path.iterdir())


def test_what_is_given_replaces_the_defaults():
    model = build()
    plain = model.translate(TEXTS, 3, 0.0, engine="keras", num_return_sequences=2)
    model.search_defaults = {"num_beams": 1, "length_penalty": 2.0, "min_length": 4}
    found = model.translate(TEXTS, 3, 0.0, engine="keras", num_return_sequences=2, min_length=1)
    assert found == plain
    with pytest.raises(ValueError, match=r"num_return_sequences=2, num_beams=1"):
        model.translate(TEXTS, num_return_sequences=2)


@pytest.mark.parametrize(
    ("defaults", "message"),
    [({"beams": 2}, "no default `beams`"), ({"num_beams": 0}, "`num_beams` must be")],
)
def test_wrong_defaults_are_refused(defaults, message, tmp_path):
    model = build()
    model.search_defaults = defaults
    with pytest.raises(ValueError, match=message):
        model.translate(TEXTS)
    with pytest.raises(ValueError, match=message):
        model.save_to_preset(tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_constraint_does_without_the_defaults_that_it_excludes():
    options = with_defaults({"num_beams": 2, "no_repeat_ngram_size": 3}, {"constraint": "brackets"})
    assert (options.num_beams, options.no_repeat_ngram_size) == (2, 0)
