"""Models exported to ONNX, compared with the models themselves."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.export import export_onnx, onnx_author
from aiayn_keras.export.onnx import ACTIVATIONS
from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from tests.export.random_model import build_hasty_model, build_random_model
from tests.helpers import S, T, assert_close
from tests.number_words import train_tokenizer
from tests.snippets import read_sections

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from tests.export.onnx_search import END, START, OnnxModel  # noqa: E402

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
VARIANTS = {
    "paper": {"num_encoder_layers": 2},
    "marian": {
        "attention_bias": True,
        "logits_bias": True,
        "position_embedding": "given",
        "activation": "swish",
        "layer_norm_epsilon": 0.1,
    },
    "other": {
        "num_decoder_layers": 2,
        "normalize_first": True,
        "position_embedding": "learned",
        "activation": "gelu",
        "tie_weights": False,
        "key_dim": 5,
        "value_dim": 7,
    },
}
"""Models that have every option of the architecture between them."""

SEED = 4
CHUNKS = 3, 1, 1, 1
"""Lengths of the steps in which targets are read; the rest is the last."""


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer()


@pytest.fixture(scope="module")
def demo():
    return TransformerSeq2SeqLM.from_preset(str(DEMO))


@pytest.fixture(scope="module")
def demo_folder(demo, tmp_path_factory):
    return demo.export(tmp_path_factory.mktemp("onnx") / "demo", format="onnx")


@pytest.fixture(scope="module")
def demo_int8(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "demo"
    return demo.export(folder, format="onnx", weights="int8")


@pytest.fixture(scope="module")
def demo_stored(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "demo"
    return demo.export(folder, format="onnx", weights="int8-weights")


@pytest.fixture(scope="module")
def sentences():
    return list(generate_demo_pairs(12, seed=7, split="test").sources)


@pytest.fixture(scope="module")
def greedy(demo, sentences):
    return demo.translate(sentences, num_beams=1, length_penalty=0.0)


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS)
def random_model(request, tokenizer):
    return build_random_model(tokenizer, SEED, **{"num_layers": 1, **request.param})


def random_inputs(model):
    """Three sources, one of them padded at the end and one at the beginning, and targets."""
    choose = np.random.default_rng(1)
    size = model.backbone.vocabulary_size
    sources, targets = choose.integers(4, size, (3, S)), choose.integers(4, size, (3, T))
    mask = np.ones_like(sources)
    mask[1, 3:] = mask[2, :2] = 0
    return sources * mask, mask, targets


def model_logits(model, sources, mask, targets):
    return model(
        {
            "encoder_token_ids": sources,
            "encoder_padding_mask": mask,
            "decoder_token_ids": targets,
            "decoder_padding_mask": np.ones_like(targets),
        }
    )


def assert_same_logits(folder, model, atol=1e-4, suffix=""):
    inputs = random_inputs(model)
    expected = model_logits(model, *inputs)
    actual = OnnxModel(folder, suffix).teacher_forced(*inputs, *CHUNKS)
    assert_close(actual, expected, rtol=0, atol=atol)


def test_every_model_has_our_logits_step_by_step(random_model, tmp_path):
    assert_same_logits(export_onnx(random_model, tmp_path / "random"), random_model)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=lambda function: function.__name__)
def test_every_activation_is_that_of_keras(function, tmp_path):
    author = onnx_author.OnnxAuthor()
    author.rename(ACTIVATIONS[function](author, author.op("Identity", "x")), "y")
    author.write(tmp_path / "graph.onnx", *({name: (1, [7])} for name in "xy"))
    x = np.array([-40, -3, -0.5, 0, 0.5, 3, 40], "float32")
    session = onnxruntime.InferenceSession(tmp_path / "graph.onnx")
    assert_close(session.run(None, {"x": x})[0], function(x), atol=1e-6)


def test_attention_weights_are_those_of_the_model(random_model, tmp_path):
    maps = random_model.attention_maps("twenty-one", "einundzwanzig")
    onnx_model = OnnxModel(export_onnx(random_model, tmp_path / "random", attention=True))
    tokenizer = random_model.preprocessor.tokenizer
    ids, targets = (
        np.array([[tokenizer.token_to_id(token) for token in tokens]])
        for tokens in (maps.source_tokens, maps.target_tokens)
    )
    layers = random_model.backbone.num_encoder_layers, random_model.backbone.num_decoder_layers
    memory, *encoder = onnx_model.encoder.run(
        None, {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    )
    assert len(encoder) == layers[0]
    assert_close(np.concatenate(encoder), maps.encoder, atol=1e-5)
    inputs = {"encoder_hidden_states": memory, "encoder_attention_mask": np.ones_like(ids)}
    cache, start = None, 0
    for chunk in np.split(targets, [2], axis=1):  # the second step reads the cache of the first
        results, cache = onnx_model.all_of_step(inputs, chunk, cache)
        end = start + chunk.shape[1]
        for kind, expected in (("decoder", maps.decoder[..., :end]), ("cross", maps.cross)):
            found = [results[f"{kind}_attentions.{layer}"] for layer in range(layers[1])]
            assert_close(np.concatenate(found), expected[:, :, start:end], atol=1e-5)
        start = end


def test_attention_weights_are_results_only_if_asked_for(demo_folder):
    names = [each.name for each in OnnxModel(demo_folder).decoder.get_outputs()]
    assert not any("attentions" in name for name in names)


def test_attention_must_be_true_or_false(demo, tmp_path):
    with pytest.raises(TypeError, match=r"`attention` must be True or False\. Received: 'yes'"):
        export_onnx(demo, tmp_path / "demo", attention="yes")


def test_graphs_are_valid(demo_folder, demo_int8, demo_stored):
    for folder in (demo_folder, demo_int8, demo_stored):
        for path in folder.rglob("*.onnx"):
            onnx.checker.check_model(path, full_check=True)


def assert_same_translations(folder, sentences, expected, **options):
    """The texts are equal, and the log-probabilities too."""
    onnx_model = OnnxModel(folder)
    texts, scores = zip(*(onnx_model.translate(text, **options) for text in sentences), strict=True)
    assert list(texts) == [each.text for each in expected]
    assert_close(scores, [each.score for each in expected], rtol=0, atol=1e-3)


def test_greedy_translations_and_their_scores_are_ours(demo_folder, sentences, greedy):
    assert_same_translations(demo_folder, sentences, greedy)


def test_translations_by_four_beams_and_their_scores_are_ours(demo, demo_folder, sentences):
    expected = demo.translate(sentences, num_beams=4, length_penalty=0.0)
    assert_same_translations(demo_folder, sentences, expected, num_beams=4)


def test_a_batch_of_beams_can_be_reordered(demo_folder, sentences):
    onnx_model = OnnxModel(demo_folder)
    ids = np.array([onnx_model.tokenizer.encode(sentences[0]).ids] * 3)
    memory = onnx_model.encode(ids, np.ones_like(ids))
    choose = np.random.default_rng(0)
    first, rest = (choose.integers(4, 40, (3, length)) for length in (4, 2))
    expected = onnx_model.step(memory, np.concatenate([first[::-1], rest], axis=1))[0]
    _, cache = onnx_model.step(memory, first)
    cache = {name: each[::-1] for name, each in cache.items()}
    actual, _ = onnx_model.step(memory, rest, cache)
    assert_close(actual, expected[:, 4:], atol=1e-4)


def test_int8_is_smaller_and_translates_nearly_as_we_do(
    demo, demo_folder, demo_int8, sentences, greedy
):
    assert size_of_graphs(demo_int8) < 0.4 * size_of_graphs(demo_folder)
    assert_same_logits(demo_int8, demo, atol=0.6, suffix="_quantized")
    onnx_model = OnnxModel(demo_int8, "_quantized")
    answers = [onnx_model.translate(sentence)[0] for sentence in sentences]
    assert sum(a == b.text for a, b in zip(answers, greedy, strict=True)) >= 11


def test_every_model_has_nearly_our_logits_in_int8(random_model, tmp_path):
    folder = export_onnx(random_model, tmp_path / "random", weights="int8")
    assert_same_logits(folder, random_model, atol=1.0, suffix="_quantized")


def size_of_graphs(folder):
    return sum(path.stat().st_size for path in folder.rglob("*.onnx"))


def test_stored_as_int8_it_is_smaller_and_closer_to_our_logits(demo, demo_folder, demo_stored):
    assert size_of_graphs(demo_stored) < 0.4 * size_of_graphs(demo_folder)
    assert_same_logits(demo_stored, demo, atol=0.2, suffix="_quantized")


def test_every_model_has_our_logits_stored_as_int8(random_model, tmp_path):
    folder = export_onnx(random_model, tmp_path / "random", weights="int8-weights")
    assert_same_logits(folder, random_model, atol=0.3, suffix="_quantized")


@pytest.mark.parametrize(("shape", "axis"), [((64, 3), 1), ((3, 64), 0), ((33, 4), 1)])
def test_a_stored_matrix_is_within_half_a_step_of_its_scale(shape, axis, tmp_path):
    array = np.random.default_rng(0).normal(size=shape).astype("float32")
    array[0, 0] = 50.0  # an outlier coarsens its own group only
    author = onnx_author.OnnxAuthor("int8-weights")
    matrix, scales = author.matrix(array, axis)
    assert scales is None
    author.rename(matrix, "y")
    author.write(tmp_path / "graph.onnx", {}, {"y": (1, list(shape))})
    (found,) = onnxruntime.InferenceSession(tmp_path / "graph.onnx").run(None, {})
    size = 32 if shape[1 - axis] % 32 == 0 else shape[1 - axis]
    groups = np.moveaxis(array, 1 - axis, 0).reshape(-1, size, shape[axis])
    steps = np.repeat(np.abs(groups).max(axis=1, keepdims=True) / 127, size, axis=1)
    steps = np.moveaxis(steps.reshape(-1, shape[axis]), 0, 1 - axis)
    assert (np.abs(found - array) <= steps / 2 * 1.001).all()


def test_a_row_of_zeros_stays_one_in_int8():
    author = onnx_author.OnnxAuthor("int8")
    array = np.array([[1, -2], [0, 0]], "float32")
    integers, scales = (author.weights[name] for name in author.matrix(array, axis=0))
    assert_close(integers * scales[:, None], array, atol=0.05)


def test_lora_is_merged(tokenizer, tmp_path):
    model = build_random_model(tokenizer, SEED)
    model.backbone.enable_lora(2)
    for weight in model.backbone.trainable_weights:
        weight.assign(weight + 0.1)
    assert_same_logits(export_onnx(model, tmp_path / "lora"), model)


def run_readme(text):
    """Runs the first program of the README in the working directory for a text."""
    readme = Path("README.md").read_text(encoding="utf-8")
    blocks = [block for section in read_sections(readme, "README") for block in section.blocks]
    code = next(block.text for block in blocks if block.language == "python")
    exec(code.replace("A text.", text), {})


def test_the_readme_translates_as_we_do(demo_folder, sentences, greedy, monkeypatch, capsys):
    monkeypatch.chdir(demo_folder)
    run_readme(sentences[0])
    assert capsys.readouterr().out.strip() == greedy[0].text


def test_the_readme_never_writes_nothing(tokenizer, tmp_path, monkeypatch, capsys):
    model = build_hasty_model(tokenizer, SEED)
    folder = export_onnx(model, tmp_path / "hasty")
    assert json.loads((folder / "generation_config.json").read_bytes())["min_new_tokens"] == 1
    monkeypatch.chdir(folder)
    run_readme("nine")
    expected = model.translate("nine", num_beams=1, length_penalty=0.0).text
    assert capsys.readouterr().out.strip() == expected != ""


def test_the_readme_takes_a_text_without_any_tokens(demo, tmp_path, monkeypatch, capsys):
    tokenizer = TransformerTokenizer(demo.preprocessor.tokenizer.proto, source_end=False)
    model = TransformerSeq2SeqLM(demo.backbone, TransformerSeq2SeqLMPreprocessor(tokenizer))
    monkeypatch.chdir(model.export(tmp_path / "without_end", format="onnx"))
    run_readme("")
    assert capsys.readouterr().out.strip()


def test_the_configuration_is_that_of_the_model(demo, demo_folder):
    files = {path.stem: json.loads(path.read_bytes()) for path in demo_folder.glob("*.json")}
    assert files["config"]["decoder_layers"] == demo.backbone.num_layers
    assert files["config"]["transformers.js_config"] == {"dtype": "fp32"}
    assert files["generation_config"]["eos_token_id"] == END
    assert files["generation_config"]["decoder_start_token_id"] == START
    assert files["tokenizer_config"]["model_max_length"] == demo.backbone.max_sequence_length


def test_unknown_weights_are_refused(demo, tmp_path):
    with pytest.raises(
        ValueError, match=r"`weights` must be one of float32, int8, int8-weights\. .*: 'int4'"
    ):
        demo.export(tmp_path / "models" / "demo", format="onnx", weights="int4")
    assert list(tmp_path.iterdir()) == []


def test_an_activation_of_ones_own_is_refused(tokenizer, tmp_path):
    model = build_random_model(tokenizer, SEED, activation=lambda x: x)
    with pytest.raises(ValueError, match=r"activations relu, .*linear\. .*: '<lambda>'"):
        export_onnx(model, tmp_path / "models" / "random")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_too_large_is_refused_and_nothing_is_left(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_author, "_MAX_FILE_BYTES", 1_000_000)
    with pytest.raises(ValueError, match=r"encoder_model.onnx would have 0\.0 GB, .*int8"):
        export_onnx(demo, tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_tokenizer_is_refused(demo, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        export_onnx(TransformerSeq2SeqLM(demo.backbone), tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(demo, tmp_path):
    (tmp_path / "demo").mkdir()
    with pytest.raises(FileExistsError, match="demo exists already"):
        export_onnx(demo, tmp_path / "demo")
    assert list((tmp_path / "demo").iterdir()) == []


@pytest.mark.parametrize("name", ["onnx", "tokenizers"])
def test_without_a_package_the_error_says_what_to_install(demo, name, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda found: found != name or None)
    with pytest.raises(ImportError, match=f"package {name}, .*pip install 'aiayn-keras\\[interop"):
        export_onnx(demo, tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []
