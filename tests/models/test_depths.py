"""Encoders and decoders of different depth, from their options to translations."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
)
from aiayn_keras.models.architecture import DEPTHS, count_weights, depths_of, with_changes
from aiayn_keras.models.model_folder import CHECKSUMS
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy
from tests.number_words import number_words

SIZES = {"num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12, "max_sequence_length": 40}
SOURCES, TARGETS = (list(texts) for texts in zip(*number_words(8, seed=5), strict=True))
OLD_FOLDER = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"


both = pytest.mark.parametrize("given", [(2, 1), (1, 2)])


def options(encoder, decoder):
    return dict(zip(DEPTHS, (encoder, decoder), strict=True))


def depths(backbone):
    """Depths as the attributes say, which are those of the stacks."""
    stacks = len(backbone.encoder_blocks), len(backbone.decoder_blocks)
    assert stacks == (backbone.num_encoder_layers, backbone.num_decoder_layers)
    assert stacks == depths_of(backbone.get_config())
    assert backbone.num_layers == (stacks[0] if len(set(stacks)) == 1 else None)
    return stacks


def build(tokenizer, encoder, decoder, **others):
    """An untrained model whose weights are all drawn."""
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), **SIZES, **options(encoder, decoder), **others
    )
    noise = np.random.default_rng(3)
    for weight in backbone.weights:
        weight.assign(weight.path.endswith("gamma") + noise.normal(0.0, 0.4, weight.shape))
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 12, 12))


# === Options ===
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"num_layers": 3}, (3, 3)),
        ({"num_layers": 3, "num_encoder_layers": 1}, (1, 3)),
        ({"num_layers": 3, "num_decoder_layers": 1}, (3, 1)),
        ({"num_decoder_layers": 2}, (6, 2)),
        ({"num_layers": None, **options(1, 2)}, (1, 2)),
        (options(np.int32(2), np.int64(2)), (2, 2)),
    ],
)
def test_a_stack_has_its_own_depth_or_that_of_both(given, expected):
    backbone = TransformerBackbone(19, **SIZES, **given)
    assert depths(backbone) == expected
    config = json.loads(json.dumps(backbone.get_config()))
    assert depths(TransformerBackbone.from_config(config)) == expected
    matrices = sum(np.prod(w.shape) for w in backbone.weights if len(w.shape) > 1)
    assert count_weights(config) == matrices


def test_equal_depths_are_stated_once():
    config = TransformerBackbone(19, **SIZES, **options(2, 2)).get_config()
    assert [config[name] for name in ("num_layers", *DEPTHS)] == [2, None, None]
    config = TransformerBackbone(19, **SIZES, **options(2, 1)).get_config()
    assert [config[name] for name in ("num_layers", *DEPTHS)] == [None, 2, 1]


def test_weights_have_the_names_and_the_order_that_they_have_in_equal_stacks():
    equal, deep = (
        [weight.path for weight in TransformerBackbone(19, 2, **SIZES, **given).weights]
        for given in ({}, {"num_decoder_layers": 1})
    )
    assert deep == [path for path in equal if not path.startswith("decoder_block_1/")]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"num_encoder_layers": 0}, ValueError, "`num_encoder_layers` must be at least 1"),
        ({"num_decoder_layers": 10**9}, ValueError, "`num_decoder_layers` must be .* at most 1000"),
        ({"num_decoder_layers": True}, TypeError, "`num_decoder_layers` must be an integer"),
        (
            {"num_layers": None, "num_encoder_layers": 2},
            TypeError,
            "unless .* both given. Received: num_layers=None, num_encoder_layers=2, num_dec.*=None",
        ),
        ({"num_decoder_layer": 2}, TypeError, "Did you mean `num_decoder_layers`"),
    ],
)
def test_a_wrong_depth_is_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        TransformerBackbone(19, **SIZES, **given)


def test_a_changed_num_layers_holds_for_both_stacks():
    deep = {"num_layers": None, **options(6, 2), "dropout": 0.1}
    assert depths_of(with_changes(deep, {"num_layers": 1})) == (1, 1)
    assert depths_of(with_changes(deep, {"num_layers": 1, "num_decoder_layers": 3})) == (1, 3)
    assert depths_of(with_changes(deep, {"num_decoder_layers": 3})) == (6, 3)
    assert depths_of(with_changes(deep, {"dropout": 0.2})) == (6, 2)


def test_a_preset_s_depths_can_be_changed(tmp_path):
    def load(preset, **changes):
        sizes = {"vocabulary_size": 19, "load_weights": False, **SIZES}
        return depths(TransformerBackbone.from_preset(preset, **sizes, **changes))

    assert load("transformer_tiny", num_decoder_layers=1) == (4, 1)
    TransformerBackbone(19, **SIZES, **options(2, 1)).save_to_preset(tmp_path)
    assert load(tmp_path, dropout=0.0) == (2, 1)
    assert load(tmp_path, num_layers=1) == (1, 1)
    assert load(tmp_path, num_layers=1, num_encoder_layers=3) == (3, 1)


# === A model ===
def logits(model):
    inputs, *_ = model.preprocessor({"encoder_text": SOURCES, "decoder_text": TARGETS})
    return to_numpy(model(inputs))


@both
def test_a_model_learns_and_is_loaded_again(given, tokenizer, tmp_path):
    model = build(tokenizer, *given)
    model.compile(keras.optimizers.Adam(1e-2), run_eagerly=True, jit_compile=False)
    before = [to_numpy(weight) for weight in model.weights]
    model.fit({"encoder_text": SOURCES, "decoder_text": TARGETS}, batch_size=8, verbose=0)
    after = [to_numpy(weight) for weight in model.weights]
    assert all((a != b).any() for a, b in zip(after, before, strict=True))
    model.save_to_preset(tmp_path / "model")
    loaded = TransformerSeq2SeqLM.from_preset(tmp_path / "model")
    assert depths(loaded.backbone) == given
    assert_close(logits(loaded), logits(model))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert depths(loaded.backbone) == given
    assert_close(logits(loaded), logits(model))


def log_probability(model, source, tokens):
    """Of tokens and the end token, from the logits of all positions at once."""
    tokenizer = model.preprocessor.tokenizer
    labels = [*map(tokenizer.token_to_id, tokens), tokenizer.end_token_id]
    ids = {
        "encoder": [*tokenizer(source), tokenizer.end_token_id],
        "decoder": [tokenizer.start_token_id, *labels[:-1]],
    }
    inputs = {}
    for side, row in ids.items():
        inputs[f"{side}_token_ids"] = np.array([row], "int32")
        inputs[f"{side}_padding_mask"] = np.ones((1, len(row)), "int32")
    log_probs = to_numpy(keras.ops.log_softmax(model(inputs)))[0]
    return log_probs[np.arange(len(labels)), labels].sum()


@pytest.mark.parametrize("given", [(2, 1), pytest.param((1, 2), marks=pytest.mark.slow)])
def test_the_search_writes_what_the_layers_say(given, tokenizer):
    model = build(tokenizer, *given, logits_bias=True)
    bias = model.backbone.token_embedding.logits_bias
    bias.assign(bias + 4.0 * np.eye(bias.shape[0])[tokenizer.end_token_id])  # so that some end
    found = model.translate(SOURCES, num_beams=2, max_length=7, min_length=1)
    ended = [i for i, translation in enumerate(found) if len(translation.tokens) < 7]
    assert ended
    for i in ended:
        expected = log_probability(model, SOURCES[i], found[i].tokens)
        assert found[i].score == pytest.approx(expected, abs=1e-3)
    scores = model.score(SOURCES, TARGETS)
    tokens = [[tokenizer.id_to_token(i) for i in ids] for ids in tokenizer(TARGETS)]
    assert scores[0] == pytest.approx(log_probability(model, SOURCES[0], tokens[0]), abs=1e-3)


@both
def test_the_attention_of_every_layer_can_be_looked_at(given, tokenizer):
    model, (encoder, decoder) = build(tokenizer, *given), given
    maps = model.attention_maps(SOURCES[0], TARGETS[0])
    assert [len(maps.encoder), len(maps.decoder), len(maps.cross)] == [encoder, decoder, decoder]


@both
def test_adapters_are_in_every_layer(given, tokenizer):
    model = build(tokenizer, *given)
    expected = logits(model)
    model.backbone.enable_lora(2)
    adapters = [weight for weight in model.trainable_weights if "lora" in weight.path]
    assert len(adapters) == 2 * 2 * (given[0] + 2 * given[1])
    assert_close(logits(model), expected)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method implemented")
@pytest.mark.filterwarnings("ignore:The use of `x.T` on tensors of dimension")
def test_an_8_bit_model_of_unequal_stacks_is_loaded_again(tokenizer, tmp_path):
    model = build(tokenizer, 2, 1)
    model.quantize("int8")
    matrices = {weight.dtype for weight in model.weights if len(weight.shape) == 2}
    assert matrices == {"int8"}
    model.save_to_preset(tmp_path)
    loaded = TransformerSeq2SeqLM.from_preset(tmp_path)
    assert depths(loaded.backbone) == (2, 1)
    assert_close(logits(loaded), logits(model))


# === Folders ===
def test_a_folder_of_an_earlier_version_loads():
    config = json.loads((OLD_FOLDER / "config.json").read_text())["config"]
    assert not config.keys() & set(DEPTHS)
    backbone = TransformerBackbone.from_preset(OLD_FOLDER)
    assert depths(backbone) == (config["num_layers"], config["num_layers"])


def test_a_folder_that_states_more_layers_than_it_holds_is_refused(tokenizer, tmp_path):
    build(tokenizer, 2, 1).save_to_preset(tmp_path)
    (tmp_path / CHECKSUMS).unlink()
    whole = shutil.copytree(tmp_path, tmp_path / "copy")
    for name, value in (("num_decoder_layers", 900), ("num_encoder_layers", None)):
        for file, path in (("config.json", ()), ("task.json", ("config", "backbone"))):
            content = json.loads((whole / file).read_text())
            part = content
            for key in path:
                part = part[key]
            part["config"][name] = value
            (tmp_path / file).write_text(json.dumps(content))
        message = "more than the .* bytes" if value else "config.json: `num_layers` must be an int"
        with pytest.raises(ValueError, match=message):
            TransformerSeq2SeqLM.from_preset(tmp_path)
