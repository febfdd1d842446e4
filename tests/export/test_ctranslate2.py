"""Models exported to CTranslate2, compared with the models themselves."""

import functools
import importlib.util

import keras
import numpy as np
import pytest

from aiayn_keras.export import export_ctranslate2
from aiayn_keras.models import (
    TransformerSeq2SeqLM,
)
from tests.export.random_model import POSITIONS, build_hasty_model, build_random_model
from tests.helpers import assert_close
from tests.models import conftest as toy

ctranslate2 = pytest.importorskip("ctranslate2")
sentencepiece = pytest.importorskip("sentencepiece")

# Trained once for this file; fixtures of `tests/models` are not seen from here.
tokenizer, model, pairs = toy.tokenizer, toy.model, toy.pairs

AS_TRANSLATE = {
    "beam_size": 4,
    "length_penalty": 0,
    "disable_unk": True,
    "suppress_sequences": [["<pad>"], ["<s>"]],
    "return_scores": True,
}
VARIANTS = {
    "paper": {},
    "pre_norm": {"normalize_first": True},
    "attention_bias": {"attention_bias": True},
    "learned_positions": {"position_embedding": "learned"},
    "swish": {"activation": "swish", "num_decoder_layers": 1},
    "gelu": {"activation": "gelu", "num_encoder_layers": 1},
    "epsilon": {"layer_norm_epsilon": 0.1},
    "given_positions": {"position_embedding": "given"},
    "output": {"tie_weights": False, "logits_bias": True},
    "all": {
        "normalize_first": True,
        "attention_bias": True,
        "position_embedding": "learned",
        "activation": "gelu",
    },
}


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return model.export(tmp_path_factory.mktemp("ctranslate2") / "toy", format="ctranslate2")


@pytest.fixture
def random_model(tokenizer, seed):
    """Function that makes an untrained model in which no weight is 0 or 1."""
    return functools.partial(build_random_model, tokenizer, seed)


def load(folder, **options):
    """The engine, on one thread, and its tokenizer."""
    pieces = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.model"))
    return ctranslate2.Translator(str(folder), intra_threads=1, **options), pieces


def columns(pairs):
    sources, targets = zip(*pairs, strict=True)
    return list(sources), list(targets)


def engine_log_probs(folder, pairs, **options):
    """CTranslate2's log-probability of every target token, one list for a pair."""
    translator, pieces = load(folder, **options)
    sources, targets = (pieces.encode(texts, out_type=str) for texts in columns(pairs))
    return [score.log_probs for score in translator.score_batch(sources, targets)]


def model_log_probs(model, pairs):
    """The same from the model's own logits, all pairs in one padded batch."""
    tokenizer = model.preprocessor.tokenizer
    labels = [[*tokenizer(target), tokenizer.end_token_id] for _, target in pairs]
    token_ids = {
        "encoder": [[*tokenizer(source), tokenizer.end_token_id] for source, _ in pairs],
        "decoder": [[tokenizer.start_token_id, *row[:-1]] for row in labels],
    }
    inputs = {}
    for side, rows in token_ids.items():
        padded = np.zeros((len(rows), POSITIONS), "int32")
        for i, row in enumerate(rows):
            padded[i, : len(row)] = row
        inputs[f"{side}_token_ids"] = padded
        inputs[f"{side}_padding_mask"] = (padded > 0).astype("int32")
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(model(inputs)))
    return [log_probs[i, np.arange(len(row)), row] for i, row in enumerate(labels)]


def assert_same_log_probs(folder, model, pairs, atol=1e-4, **options):
    expected = model_log_probs(model, pairs)
    actual = engine_log_probs(folder, pairs, **options)
    for row, expected_row in zip(actual, expected, strict=True):
        assert_close(row, expected_row, rtol=0, atol=atol)


def test_the_trained_model_scores_as_we_do(model, exported, pairs):
    assert_same_log_probs(exported, model, pairs)
    sums = [sum(row) for row in engine_log_probs(exported, pairs)]
    assert_close(sums, model.score(*columns(pairs)), rtol=0, atol=1e-3)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_supported_model_scores_as_we_do(random_model, options, pairs, tmp_path):
    model = random_model(**options)
    folder = export_ctranslate2(model, tmp_path / "random")
    assert_same_log_probs(folder, model, pairs[:3])


@pytest.mark.slow
def test_the_trained_model_translates_as_we_do(model, exported, pairs):
    translator, pieces = load(exported)
    texts = [*(source for source, _ in pairs), ""]
    sources = pieces.encode(texts, out_type=str)
    answers = translator.translate_batch(sources, **AS_TRANSLATE)
    expected = model.translate(texts, num_beams=4, length_penalty=0.0)
    assert [pieces.decode(answer.hypotheses[0]) for answer in answers] == [t.text for t in expected]
    # The engine gives what is suppressed to the other tokens; an empty text it does not score.
    gains = [a.scores[0] - t.score for a, t in zip(answers[:-1], expected[:-1], strict=True)]
    assert min(gains) > -1e-4
    assert max(gains) < 0.5


@pytest.mark.slow
def test_with_its_length_penalty_the_n_best_are_equal(model, exported, pairs):
    translator, pieces = load(exported)
    texts = [source for source, _ in pairs]
    sources = pieces.encode(texts, out_type=str)
    options = {"length_penalty": 1, "num_hypotheses": 4, "patience": 50}
    answers = translator.translate_batch(sources, **AS_TRANSLATE | options)
    expected = model.translate(texts, 4, 1.0, length_penalty_offset=0, num_return_sequences=4)
    for answer, translation in zip(answers, expected, strict=True):
        hypotheses = translation.hypotheses
        assert pieces.decode(answer.hypotheses) == [each.text for each in hypotheses]
        gains = np.array(answer.scores) - [each.normalized_score for each in hypotheses]
        assert gains.min() > -1e-4
        assert gains.max() < 0.5


def test_the_engine_never_writes_nothing_either(tokenizer, seed, tmp_path):
    model = build_hasty_model(tokenizer, seed)
    translator, pieces = load(export_ctranslate2(model, tmp_path / "hasty"))
    (answer,) = translator.translate_batch([pieces.encode("acht", out_type=str)], **AS_TRANSLATE)
    expected = model.translate("acht", length_penalty=0.0, engine="keras").text
    assert pieces.decode(answer.hypotheses[0]) == expected != ""


def test_the_engine_writes_no_unknown_token_either(exported):
    translator, pieces = load(exported)
    sources = pieces.encode(["acht ☃ neun"], out_type=str)
    answer = translator.translate_batch(sources, **AS_TRANSLATE)[0]
    assert "<unk>" not in answer.hypotheses[0]
    assert "⁇" not in pieces.decode(answer.hypotheses[0])


def test_int8_is_smaller_and_scores_nearly_as_we_do(model, exported, pairs, tmp_path):
    folder = model.export(tmp_path / "int8", format="ctranslate2", quantization="int8")
    sizes = [(path / "model.bin").stat().st_size for path in (folder, exported)]
    assert sizes[0] < 0.5 * sizes[1]
    # The engine's own int8 products saturate on processors without VNNI, by an amount that depends
    # on the model; with float32 products only what the file holds is compared.
    assert_same_log_probs(folder, model, pairs, atol=0.1, compute_type="float32")


def test_exporting_leaves_the_model_as_it_is(random_model, tmp_path):
    model = random_model()
    before = [keras.ops.convert_to_numpy(weight).copy() for weight in model.weights]
    export_ctranslate2(model, tmp_path / "int8", quantization="int8")
    for weight, old in zip(model.weights, before, strict=True):
        assert_close(weight, old, rtol=0, atol=0)


def test_lora_is_merged(random_model, pairs, tmp_path):
    model = random_model()
    model.backbone.enable_lora(2)
    for weight in model.backbone.trainable_weights:
        weight.assign(weight + 0.1)
    folder = export_ctranslate2(model, tmp_path / "lora")
    assert_same_log_probs(folder, model, pairs[:3])


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_a_quantized_model_is_written_as_the_numbers_it_stands_for(random_model, pairs, tmp_path):
    model = random_model(num_layers=1, attention_bias=True)
    model.quantize("int8")
    folder = export_ctranslate2(model, tmp_path / "quantized")
    assert_same_log_probs(folder, model, pairs[:3], atol=0.3)  # ours rounds activations too


def test_the_engine_has_as_many_positions_as_the_model(random_model, tmp_path):
    translator, _ = load(export_ctranslate2(random_model(), tmp_path / "random"))
    longest = [["▁acht"] * (POSITIONS - 1)]
    translator.score_batch(longest, longest)
    with pytest.raises(RuntimeError, match="positions"):
        translator.score_batch([["▁acht"] * POSITIONS], longest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key_dim": 5}, "heads of width `hidden_dim / num_heads` = 4. Received: key_dim=5"),
        ({"value_dim": 7}, "value_dim=7"),
        ({"activation": "tanh"}, "relu, silu, gelu. Received: 'tanh'"),
    ],
)
def test_a_model_the_engine_cannot_run_is_refused(random_model, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_ctranslate2(random_model(**options), tmp_path / "models" / "random")
    assert list(tmp_path.iterdir()) == []


def test_gelu_by_tanh_is_not_taken_for_gelu(random_model, tmp_path):
    def gelu(x):
        return keras.activations.gelu(x, approximate=True)

    with pytest.raises(ValueError, match="Received: 'gelu'"):
        export_ctranslate2(random_model(activation=gelu), tmp_path / "random")


def test_an_unknown_quantization_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"must be one of int8, .*float32. Received: 'int7'"):
        export_ctranslate2(model, tmp_path / "models" / "toy", quantization="int7")
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_wordpieces_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        export_ctranslate2(TransformerSeq2SeqLM(model.backbone), tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(model, tmp_path):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "mine").touch()
    with pytest.raises(FileExistsError, match="toy exists already"):
        export_ctranslate2(model, tmp_path / "toy")
    assert [path.name for path in tmp_path.rglob("*")] == ["toy", "mine"]


def test_a_failed_export_leaves_nothing(model, tmp_path, monkeypatch):
    def fail(spec, folder):
        raise OSError("No space left on device")

    monkeypatch.setattr(ctranslate2.specs.TransformerSpec, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        export_ctranslate2(model, tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []


def test_without_ctranslate2_the_error_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'aiayn-keras\\[interop\\]'"):
        export_ctranslate2(model, tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []
