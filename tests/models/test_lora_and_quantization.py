"""Adapters (LoRA, https://arxiv.org/abs/2106.09685) and 8-bit weights, as Keras offers them."""

import random
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from aiayn_keras.models import TransformerBackbone, TransformerSeq2SeqLM, pack_token_ids
from tests.helpers import assert_close, slow_but
from tests.layers.helpers import to_numpy
from tests.number_words import number_words

RANK = 3
ANSWER = "nine"
"""The translation that the adapters learn for every source."""

pytestmark = [
    # Keras says so of dropout, layer normalization and inputs.
    pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method implemented"),
    # PyTorch's, of Keras' int8 output projection, which transposes a vector of scales.
    pytest.mark.filterwarnings("ignore:The use of `x.T` on tensors of dimension"),
]


def copy_of(model):
    """A model that a test may change."""
    backbone = TransformerBackbone.from_config(model.backbone.get_config())
    backbone.set_weights(model.backbone.get_weights())
    copy = TransformerSeq2SeqLM(backbone, model.preprocessor)
    copy.compile()
    return copy


def generate(model, sources):
    return model.generate({"encoder_text": sources, "decoder_text": [""] * len(sources)})


def best_texts(model, sources):
    return [translation.text for translation in model.translate(sources)]


def values(model):
    return {weight.path: to_numpy(weight) for weight in model.weights}


@pytest.fixture(scope="module")
def texts(pairs):
    """Sources and targets."""
    return tuple(map(list, zip(*pairs, strict=True)))


# === Adapters ===


@pytest.fixture(scope="module")
def adapted(model, texts):
    """A copy of the trained model with trained adapters, and what it was like before."""
    random.seed(3)  # Keras draws its unset seeds from here.
    copy = copy_of(model)
    scores, translated = copy.score(*texts), best_texts(copy, texts[0])
    copy.backbone.enable_lora(RANK)  # What has been compiled must notice.
    untrained = SimpleNamespace(scores=copy.score(*texts), values=values(copy))
    copy.compile(keras.optimizers.Adam(1e-2))
    sources, _ = zip(*number_words(512, 9), strict=True)
    x, y, weights = copy.preprocessor(
        {"encoder_text": list(sources), "decoder_text": [ANSWER] * len(sources)}
    )
    keras.Model.fit(copy, x, y, sample_weight=weights, batch_size=32, epochs=3, verbose=0)
    return SimpleNamespace(model=copy, scores=scores, translated=translated, untrained=untrained)


def test_new_adapters_change_nothing(adapted, model, texts):
    assert_close(adapted.untrained.scores, adapted.scores)
    assert_close(adapted.scores, model.score(*texts))


def test_adapters_are_two_thin_matrices_beside_each_query_and_value_projection(adapted):
    attentions = [
        f"{side}_block_{i}/{attention}_attention"
        for i in range(2)
        for side, attention in (("encoder", "self"), ("decoder", "self"), ("decoder", "cross"))
    ]
    shapes = {
        f"{attention}/{projection}/lora_kernel_{letter}": shape
        for attention in attentions
        for projection in ("query", "value")
        for letter, shape in (("a", (32, RANK)), ("b", (RANK, 32)))
    }
    found = {weight.path: tuple(weight.shape) for weight in adapted.model.trainable_variables}
    assert found == shapes


def test_training_changes_every_adapter_and_nothing_else(adapted):
    before, after = adapted.untrained.values, values(adapted.model)
    assert before.keys() == after.keys()
    changed = {path for path in after if np.abs(after[path] - before[path]).max() > 0}
    adapters = {path for path in after if "lora" in path}
    assert changed <= adapters
    # Where attention is all on one position, the gradient of its query may be exactly 0.
    assert len(changed) >= len(adapters) - 2


@pytest.mark.slow
def test_translations_and_scores_are_those_of_trained_adapters(adapted, texts):
    sources, _ = texts
    assert best_texts(adapted.model, sources) == [ANSWER] * len(sources)
    assert adapted.translated.count(ANSWER) < 2
    scores = adapted.model.score(sources, [ANSWER] * len(sources))
    assert_close([t.score for t in adapted.model.translate(sources)], scores, 1e-4, 1e-4)


@pytest.mark.slow
def test_adapters_alone_are_saved_and_put_onto_the_model_they_were_trained_for(
    adapted, model, texts, tmp_path
):
    adapted.model.backbone.save_lora_weights(tmp_path / "answer.lora.h5")
    other = copy_of(model)
    assert generate(other, texts[0]) == adapted.translated
    other.backbone.load_lora_weights(tmp_path / "answer.lora.h5")
    assert generate(other, texts[0]) == [ANSWER] * len(texts[0])
    assert_close(other.score(*texts), adapted.model.score(*texts))


@pytest.mark.parametrize("part", slow_but(["model"], ["model", "backbone"]))
def test_adapters_learn_on_once_weights_are_loaded(model, texts, part, tmp_path):
    """Keras sets both factors to 0, where neither has a gradient."""
    adapted = copy_of(model)
    adapted.backbone.enable_lora(RANK, target_layer_names=["query", "token_embedding"])
    for weight in adapted.weights:
        if weight.name in ("lora_kernel_b", "lora_embeddings_b"):
            weight.assign(np.random.default_rng(1).normal(0, 0.1, weight.shape))
    adapted.compile(keras.optimizers.SGD(1.0))
    scores = adapted.score(*(side[:3] for side in texts))
    loaded = adapted if part == "model" else adapted.backbone
    loaded.save_weights(tmp_path / "model.weights.h5")
    loaded.load_weights(tmp_path / "model.weights.h5")
    assert_close(adapted.score(*(side[:3] for side in texts)), scores, rtol=1e-4)
    adapted.fit(*(side[:8] for side in texts), verbose=0)
    for weight in adapted.weights:
        if weight.name in ("lora_kernel_b", "lora_embeddings_b"):
            assert np.abs(to_numpy(weight)).max() > 0, weight.path


def test_a_preset_holds_adapters_merged_into_the_matrices_beside_them(adapted, texts, tmp_path):
    adapted.model.save_to_preset(tmp_path)
    other = TransformerSeq2SeqLM.from_preset(str(tmp_path))
    assert not any("lora" in weight.path for weight in other.weights)
    assert len(other.trainable_variables) == len(other.weights)
    assert_close(other.score(*texts), adapted.model.score(*texts), 1e-4, 1e-4)


@pytest.mark.slow
def test_a_keras_file_holds_adapters_merged_and_no_optimizer_state(adapted, texts, tmp_path):
    adapted.model.save(tmp_path / "model.keras")
    with pytest.warns(UserWarning, match="Skipping variable loading for optimizer"):
        other = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(other, TransformerSeq2SeqLM)
    assert not any("lora" in weight.path for weight in other.weights)
    assert_close(other.score(*texts), adapted.model.score(*texts), 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("names", "trainable"),
    [
        (None, {"lora_kernel_a", "lora_kernel_b", "bias"}),
        (["hidden"], {"lora_kernel_a", "lora_kernel_b", "bias"}),
        (["token_embedding"], {"lora_embeddings_a", "lora_embeddings_b"}),
    ],
    ids=["default", "hidden", "token_embedding"],
)
def test_other_layers_can_be_adapted_and_their_biases_are_trained_along(names, trainable):
    backbone = TransformerBackbone(19, 1, 3, 12, 11, attention_bias=True, max_sequence_length=9)
    backbone.enable_lora(RANK, target_layer_names=names)
    found = {tuple(weight.path.split("/")[-2:]) for weight in backbone.trainable_variables}
    layers = names or ["query", "value"]
    assert found == {(layer, name) for layer in layers for name in trainable}


# === 8-bit weights ===


@pytest.fixture(scope="module")
def quantized(model, texts):
    copy = copy_of(model)
    scores = copy.score(*texts)
    generate(copy, texts[0])
    copy.quantize("int8")  # What has been compiled must notice.
    return SimpleNamespace(model=copy, scores=scores)


def test_every_matrix_is_8_bits_wide_and_nothing_else(quantized):
    dtypes = {(len(w.shape), w.path.split("/")[-1]): w.dtype for w in quantized.model.weights}
    assert dtypes == {
        (2, "embeddings"): "int8",
        (1, "embeddings_scale"): "float32",
        (2, "kernel"): "int8",
        (1, "kernel_scale"): "float32",
        (1, "bias"): "float32",
        (1, "gamma"): "float32",
        (1, "beta"): "float32",
    }


def test_8_bit_scores_are_near(quantized, texts):
    differences = np.abs(quantized.model.score(*texts) - quantized.scores)
    assert differences.min() > 0, "or else nothing was quantized"
    assert differences.mean() < 0.1
    assert differences.max() < 0.5


@pytest.mark.slow
def test_8_bit_translations_are_mostly_the_same(quantized, model, texts):
    sources, _ = texts
    pairs = zip(best_texts(quantized.model, sources), best_texts(model, sources), strict=True)
    assert sum(actual == expected for actual, expected in pairs) >= len(sources) - 2
    assert generate(quantized.model, sources) == best_texts(quantized.model, sources)


@pytest.mark.slow
def test_8_bit_translations_have_the_scores_of_scoring_them(quantized, texts):
    sources, _ = texts
    translations = quantized.model.translate(sources)
    scores = quantized.model.score(sources, [translation.text for translation in translations])
    # Scoring rounds the layers' inputs to 8 bits too, the search does not.
    assert_close([translation.score for translation in translations], scores, 0.1, 0.1)


@pytest.mark.slow
def test_a_quantized_backbone_is_noticed(quantized, model, texts):
    copy = copy_of(model)
    assert_close(copy.score(*texts), quantized.scores)
    copy.backbone.quantize("int8")
    assert_close(copy.score(*texts), quantized.model.score(*texts))


@pytest.mark.parametrize("form", ["preset", pytest.param("keras file", marks=pytest.mark.slow)])
def test_8_bit_weights_are_saved_as_they_are(quantized, texts, form, tmp_path):
    if form == "preset":
        quantized.model.save_to_preset(tmp_path)
        other = TransformerSeq2SeqLM.from_preset(str(tmp_path))
    else:
        quantized.model.save(tmp_path / "model.keras")
        other = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    expected = {(weight.path, weight.dtype) for weight in quantized.model.weights}
    assert {(weight.path, weight.dtype) for weight in other.weights} == expected
    assert_close(other.score(*texts), quantized.model.score(*texts))
    assert best_texts(other, texts[0]) == best_texts(quantized.model, texts[0])


@pytest.mark.parametrize("tie_weights", slow_but(["tied"], {"tied": True, "separate": False}))
def test_4_bit_weights_compute_the_same_once_they_are_loaded(tie_weights, tmp_path):
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 32}
    backbone = TransformerBackbone(11, tie_weights=tie_weights, **sizes)
    model = TransformerSeq2SeqLM(backbone)
    model.quantize("int4")
    model.save_to_preset(tmp_path)
    x = pack_token_ids([[5, 8, 3]], [[2, 7, 3, 9]])
    other = TransformerSeq2SeqLM.from_preset(str(tmp_path))
    assert_close(other.predict(x, verbose=0), model.predict(x, verbose=0))


def test_a_quantizer_that_a_file_cannot_hold_is_refused_when_saving(tmp_path):
    backbone = TransformerBackbone(
        11, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    model = TransformerSeq2SeqLM(backbone)
    model.quantize(config=keras.quantizers.Int8QuantizationConfig(activation_quantizer=None))
    for save in (model.save_to_preset, lambda folder: model.save(folder / "model.keras")):
        with pytest.raises(ValueError, match=r"`activation_quantizer` that neither.*=None"):
            save(tmp_path)


def test_8_bit_weights_are_served_in_no_other_precision(quantized, tmp_path):
    pytest.importorskip("tensorflow_serving")
    for precision in ("bfloat16", "float32"):
        with pytest.raises(ValueError, match=rf"`precision` must be left out.*{precision}"):
            quantized.model.export(tmp_path / "served", precision=precision)
    assert not (tmp_path / "served").exists()


@pytest.mark.slow
def test_adapters_can_be_trained_beside_8_bit_weights(quantized, texts):
    copy = quantized.model  # The last test of the file: it may change.
    scores = copy.score(*texts)
    copy.backbone.enable_lora(RANK)
    assert_close(copy.score(*texts), scores)
    copy.compile(keras.optimizers.Adam(1e-2))
    pairs = {"encoder_text": texts[0], "decoder_text": texts[0]}
    before = values(copy)
    losses = [copy.train_on_batch(pairs) for _ in range(9)]
    assert losses[-1][0] < losses[0][0]
    changed = {path for path, value in values(copy).items() if (value != before[path]).any()}
    assert changed == {path for path in before if "lora" in path}
