"""Model folders of registered classes derived from ours."""

import json

import keras
import pytest

from aiayn_keras.layers import AddNorm, DecoderBlock, EncoderBlock, PositionwiseFeedForward
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.training.building import read_initial, read_sizes
from tests.helpers import assert_close
from tests.training.fine_tuning import recipe_from

PACKAGE = "tests_own_classes"


class PlainAddNorm(AddNorm):
    """A part of one's own."""


class DoubledFeedForward(PositionwiseFeedForward):
    """A part of one's own that computes something else."""

    def call(self, x, training=None):
        return 2 * super().call(x, training=training)


class OwnEncoderBlock(EncoderBlock):
    add_norm_cls, feed_forward_cls = PlainAddNorm, DoubledFeedForward


class OwnDecoderBlock(DecoderBlock):
    add_norm_cls, feed_forward_cls = PlainAddNorm, DoubledFeedForward


@keras.saving.register_keras_serializable(package=PACKAGE)
class OwnBackbone(TransformerBackbone):
    """With an argument of its own."""

    encoder_block_cls, decoder_block_cls = OwnEncoderBlock, OwnDecoderBlock

    def __init__(self, *args, sharpness=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.sharpness = sharpness

    def get_config(self):
        return {**super().get_config(), "sharpness": self.sharpness}


@keras.saving.register_keras_serializable(package=PACKAGE)
class OwnModel(TransformerSeq2SeqLM):
    backbone_cls = OwnBackbone


class Unregistered(TransformerBackbone):
    """One that no folder can name."""


@pytest.fixture(scope="module")
def own_model(tokenizer):
    backbone = OwnBackbone(
        tokenizer.vocabulary_size(), 1, 2, 8, 12, max_sequence_length=16, sharpness=3.0
    )
    return OwnModel(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))


def test_a_call_of_the_models_own_changes_predictions_and_no_scores(own_model):
    with pytest.warns(UserWarning, match=r"`DoubledLogits\.call` .* not `translate`, `score`"):

        class DoubledLogits(TransformerSeq2SeqLM):
            """A model whose `call` is its own."""

            def call(self, inputs, training=None, mask=None):
                return 2 * super().call(inputs, training=training)

    doubled = DoubledLogits(own_model.backbone, own_model.preprocessor)
    texts = ["drei sieben"], ["eins null"]
    inputs = own_model.preprocessor(*texts)[0]
    assert_close(doubled(inputs), 2 * own_model(inputs))
    assert_close(doubled.score(*texts), own_model.score(*texts))


def test_methods_of_an_own_preprocessor_that_translate_does_not_call_are_warned_of():
    """It was trained on small letters, and translated capitals."""
    with pytest.warns(UserWarning, match=r"`Small\.\w+` changes the texts") as warned:

        class Small(TransformerSeq2SeqLMPreprocessor):
            """Reads capitals as small letters."""

            def call(self, x, y=None, sample_weight=None, **lengths):
                x = {name: [text.lower() for text in texts] for name, texts in x.items()}
                return super().call(x, y, sample_weight, **lengths)

            def generate_preprocess(self, x, **lengths):
                return super().generate_preprocess([text.lower() for text in x], **lengths)

    messages = [str(each.message) for each in warned]
    assert "`Small.call` changes the texts of `fit`" in messages[0]
    assert "`Small.generate_preprocess` changes the texts of `generate`, but" in messages[1]

    class Longer(TransformerSeq2SeqLMPreprocessor):
        """Only its lengths differ."""

        def __init__(self, tokenizer, **kwargs):
            super().__init__(tokenizer, 200, 200, **kwargs)


def test_an_own_tokenizer_of_sources_alone_is_warned_of(tokenizer):
    class Loud(TransformerTokenizer):
        """Writes capitals."""

        def detokenize(self, inputs, *args, **kwargs):
            return [text.upper() for text in super().detokenize(inputs, *args, **kwargs)]

    texts = ["one two", "drei vier"]
    with pytest.warns(UserWarning, match=r"`Loud\.detokenize` is not used for translations"):
        Loud.train(texts, 25)
    loud = Loud.train(texts, 25, normalization="nfc", target_normalization="nfc")
    assert loud.of_targets().detokenize(loud(["one"])) == ["ONE"]


def test_a_changed_tokenizer_keeps_the_options_of_its_class(tokenizer):
    class Marked(TransformerTokenizer):
        """With an argument of its own."""

        def __init__(self, *args, mark="?", **kwargs):
            super().__init__(*args, **kwargs)
            self.mark = mark

        def get_config(self):
            return {**super().get_config(), "mark": self.mark}

    marked = Marked(tokenizer.proto, mark="!", learned_length=9)
    for changed in (marked.with_normalization("nfkc"), marked.with_byte_fallback()):
        assert (type(changed), changed.mark, changed.learned_length) == (Marked, "!", 9)
    assert marked.with_normalization("nfkc").target_proto == marked.proto


@pytest.fixture
def folder(own_model, tmp_path):
    own_model.save_to_preset(tmp_path)
    return tmp_path


def test_from_preset_gives_the_registered_classes(own_model, folder):
    for cls in (TransformerSeq2SeqLM, OwnModel):
        loaded = cls.from_preset(folder)
        assert (type(loaded), type(loaded.backbone)) == (OwnModel, OwnBackbone)
        assert loaded.backbone.sharpness == 3.0
        assert type(loaded.backbone.decoder_blocks[0].feed_forward) is DoubledFeedForward
        for ours, theirs in zip(loaded.weights, own_model.weights, strict=True):
            assert_close(ours, theirs)
    assert type(TransformerBackbone.from_preset(folder)) is OwnBackbone


def test_parts_of_the_graph_cannot_be_replaced(own_model):
    backbone = own_model.backbone
    for name in backbone.parts:
        with pytest.raises(AttributeError, match=rf"`{name}` cannot be replaced: .*OwnBackbone"):
            setattr(backbone, name, keras.layers.Dense(1))
    with pytest.raises(AttributeError, match="`backbone` cannot be replaced"):
        own_model.backbone = backbone
    with pytest.raises(TypeError, match="does not support item assignment"):
        backbone.decoder_blocks[0] = backbone.decoder_blocks[0]
    own_model.preprocessor = own_model.preprocessor  # not part of the graph


def test_settings_that_layers_were_built_with_cannot_be_changed(own_model):
    backbone = own_model.backbone
    for name, value in {"dropout": 0.3, "num_heads": 4, "activation": "gelu"}.items():
        with pytest.raises(AttributeError, match=rf"`{name}` cannot be changed: .*OwnBackbone"):
            setattr(backbone, name, value)
        setattr(backbone, name, getattr(backbone, name))
    backbone.sharpness = backbone.sharpness  # a subclass sees to its own settings


def test_every_layer_of_the_graph_is_a_part(own_model):
    held = [getattr(own_model.backbone, name) for name in own_model.backbone.parts]
    found = {id(each) for part in held for each in (part if isinstance(part, tuple) else [part])}
    graph = {id(each) for each in own_model.backbone.layers if not is_input(each)}
    assert graph <= found


def is_input(layer):
    return isinstance(layer, keras.layers.InputLayer)


def test_a_class_that_is_not_registered_is_named(tokenizer, tmp_path):
    backbone = Unregistered(tokenizer.vocabulary_size(), 1, 2, 8, 12, max_sequence_length=16)
    model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))
    named = pytest.raises(ValueError, match=r"config\.json.*no class .* 'Unregistered'.*register")
    with named:
        model.save_to_preset(tmp_path)
    assert not any(tmp_path.iterdir())
    with keras.saving.custom_object_scope({"Unregistered": Unregistered}):
        model.save_to_preset(tmp_path)
        assert type(TransformerSeq2SeqLM.from_preset(tmp_path).backbone) is Unregistered
    for cls in (TransformerSeq2SeqLM, TransformerBackbone):
        with named:
            cls.from_preset(tmp_path)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"registered_name": "aiayn_keras>Dropout"}, "TransformerBackbone' or that"),
        ("config.json", {"class_name": "Lambda"}, "`class_name` must be 'OwnBackbone'"),
        (
            "task.json",
            {"registered_name": f"{PACKAGE}>OwnBackbone"},
            "TransformerSeq2SeqLM' or that",
        ),
        ("task.json", {"registered_name": "os>system"}, "no class is registered as 'os>system'"),
    ],
)
def test_another_class_is_refused(folder, file, changes, message):
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(content | changes))
    (folder / "SHA256SUMS").unlink()
    with pytest.raises(ValueError, match=message):
        TransformerSeq2SeqLM.from_preset(folder)


def test_fine_tuning_keeps_the_class(folder):
    recipe = recipe_from(folder, "tokenizer.byte_fallback=true")
    assert read_sizes(recipe)["hidden_dim"] == 8
    initial = read_initial(recipe)
    backbone = initial.build(recipe.model, None)
    assert type(initial.model.backbone) is type(backbone) is OwnBackbone
    assert backbone.sharpness == 3.0
    assert backbone.vocabulary_size > 256


@pytest.mark.slow
def test_another_process_imports_the_class_for_an_export(own_model, tmp_path):
    assert (own_model.export(tmp_path / "own", precision="bfloat16") / "saved_model.pb").exists()


def test_a_class_that_no_other_process_can_import_is_refused(own_model, tmp_path, monkeypatch):
    monkeypatch.setattr(OwnBackbone, "__module__", "__main__")
    with pytest.raises(ValueError, match="move the class into a module of its own"):
        own_model.export(tmp_path / "own", precision="bfloat16")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
