"""Models exported to LiteRT, compared with the models themselves."""

import functools
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from aiayn_keras.export import export_litert
from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from tests.export.random_model import build_hasty_model, build_random_model
from tests.helpers import assert_close

pytest.importorskip("tensorflow")
interpreters = pytest.importorskip("ai_edge_litert.interpreter")
schema = pytest.importorskip("ai_edge_litert.schema_py_generated")

FOLDER = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
SOURCE, TARGET = 7, 11
TEXTS = ["The old bus arrived yesterday.", "She knows that the girl is happy.", "I ☃ words!"]
VARIANTS = {
    "every_option": {
        "num_decoder_layers": 2,
        "normalize_first": True,
        "attention_bias": True,
        "position_embedding": "learned",
        "activation": "swish",
        "tie_weights": False,
        "logits_bias": True,
        "layer_norm_epsilon": 0.1,
    },
    "widths_of_heads": {
        "num_encoder_layers": 2,
        "position_embedding": "given",
        "activation": "gelu",
        "key_dim": 5,
        "value_dim": 3,
    },
}


@pytest.fixture(scope="module")
def model():
    return TransformerSeq2SeqLM.from_preset(str(FOLDER))


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return model.export(tmp_path_factory.mktemp("litert") / "small", format="litert")


@pytest.fixture
def random_model(model, seed):
    """Function that makes an untrained model in which no weight is 0 or 1."""
    tokenizer = model.preprocessor.tokenizer
    return functools.partial(build_random_model, tokenizer, seed, 1)


def export_random(model, tmp_path, **options):
    return export_litert(
        model, tmp_path / "random", max_input_length=SOURCE - 1, max_length=TARGET, **options
    )


def load(folder):
    return interpreters.Interpreter(str(folder / "model.tflite"), num_threads=2)


def litert_logits(folder, source, target):
    """Logits `(T, V)` of the tokens after each of a target, one step after the other."""
    runner = load(folder)
    encode, step = map(runner.get_signature_runner, ("encode", "step"))
    memory, inputs = encode(token_ids=source), step.get_input_details()
    # Not zeros: nothing may be read that was not written.
    cache = {name: np.full(inputs[name]["shape"], 1e3, "float32") for name in inputs
             if name.startswith(("keys", "values"))}  # fmt: skip
    rows = []
    for position, token in enumerate(target):
        token_id, index = np.array([[token], [position]], "int32")
        cache = step(token_id=token_id, position=index, **memory, **cache)
        rows.append(cache.pop("logits")[0])
    return np.stack(rows)


def model_logits(model, source, target):
    target = np.array([target], "int32")
    inputs = {
        "encoder_token_ids": source,
        "encoder_padding_mask": (source != 0).astype("int32"),
        "decoder_token_ids": target,
        "decoder_padding_mask": np.ones_like(target),
    }
    return keras.ops.convert_to_numpy(model(inputs))[0]


def assert_same_logits(folder, model, source_length=SOURCE, atol=1e-4):
    """Compares every position of a target, for a source with padding and one without."""
    noise = np.random.default_rng(5)
    for length in (source_length, 3):
        source = np.zeros((1, source_length), "int32")
        source[0, :length] = noise.integers(1, 20, length)
        target = noise.integers(0, 20, TARGET)
        expected = model_logits(model, source, target)
        assert_close(litert_logits(folder, source, target), expected, rtol=0, atol=atol)


def readme_code(folder):
    return re.search("```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.S)[1]


@pytest.fixture
def translate(exported, monkeypatch):
    """The function of the README."""
    monkeypatch.chdir(exported)
    names = {}
    exec(readme_code(exported), names)
    return names["translate"]


def operators(folder):
    """Numbers of LiteRT's operators, and names of those that are not its own."""
    content = (folder / "model.tflite").read_bytes()
    codes = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content)).operatorCodes
    return [code.builtinCode for code in codes], [c.customCode for c in codes if c.customCode]


def test_the_trained_model_has_the_same_logits(exported, model):
    assert_same_logits(exported, model, source_length=65)


@pytest.mark.slow
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_kind_of_model_has_the_same_logits(random_model, options, tmp_path):
    model = random_model(**options)
    assert_same_logits(export_random(model, tmp_path), model)


def test_all_operators_are_litert_s_own(exported):
    builtin, custom = operators(exported)
    assert len(builtin) > 10
    assert custom == []


def test_the_lines_of_the_readme_translate_as_we_do(translate, model):
    expected = model.translate(TEXTS, num_beams=1, length_penalty=0.0)
    assert expected[0].text == "Der alte Bus ist gestern angekommen."
    assert [translate(text) for text in TEXTS] == [each.text for each in expected]


def test_the_lines_of_the_readme_never_write_nothing(model, seed, tmp_path, monkeypatch):
    hasty = build_hasty_model(model.preprocessor.tokenizer, seed)
    monkeypatch.chdir(export_litert(hasty, tmp_path / "hasty"))
    names = {}
    exec(readme_code(Path()), names)
    expected = hasty.translate("Good.", num_beams=1, length_penalty=0.0).text
    assert names["translate"]("Good.") == expected != ""


def test_the_lines_of_the_readme_need_no_tensorflow(exported):
    check = "\nimport sys\nassert not {'tensorflow', 'keras'} & set(sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", readme_code(exported) + check],
        cwd=exported, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert process.stdout.endswith("\n")


def test_the_readme_says_what_the_file_takes(exported):
    text = (exported / "README.md").read_text("utf-8")
    assert "beam search" in text
    runner = load(exported)
    for signature in ("encode", "step"):
        for name, details in runner.get_signature_runner(signature).get_input_details().items():
            shape = "({})".format(", ".join(map(str, details["shape"])))
            name = re.sub(r"_\d$", "_N", name)
            assert f"`{name}`" in text
            assert shape in text, name


@pytest.mark.parametrize(
    ("weights", "most", "atol"),
    [("float16", 0.7, 0.05), pytest.param("int8", 0.6, 0.5, marks=pytest.mark.slow)],
)
def test_smaller_weights_have_nearly_the_same_logits(
    model, exported, weights, most, atol, tmp_path
):
    folder = export_litert(model, tmp_path / "small", weights=weights)
    sizes = [(path / "model.tflite").stat().st_size for path in (folder, exported)]
    assert sizes[0] < most * sizes[1]
    assert_same_logits(folder, model, source_length=65, atol=atol)


def test_translations_may_have_wordpieces_of_their_own(random_model, tmp_path):
    model = random_model()
    tokenizer = model.preprocessor.tokenizer
    own = TransformerTokenizer(tokenizer.proto, target_proto=tokenizer.proto, source_end=False)
    model = TransformerSeq2SeqLM(model.backbone, TransformerSeq2SeqLMPreprocessor(own, 9, 9))
    folder = export_random(model, tmp_path)
    assert (folder / "target_sentencepiece.model").read_bytes() == tokenizer.proto
    text = (folder / "README.md").read_text("utf-8")
    assert 'target_pieces = SentencePieceProcessor("target_sentencepiece.model")' in text
    assert "return target_pieces.decode(target)" in text
    assert "pieces.encode(text), [2]" in text
    assert f"`token_ids` int32 (1, {SOURCE - 1}), `pieces`, padded" in text


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.slow
def test_another_backend_writes_the_same_model(model, tmp_path):
    """PyTorch; JAX takes the same way, and tests/export/test_saved_model.py takes it there."""
    script = (
        "import sys; from aiayn_keras import TransformerSeq2SeqLM;"
        "model = TransformerSeq2SeqLM.from_preset(sys.argv[1], dtype='mixed_bfloat16');"
        "model.export(sys.argv[2], 'litert', max_input_length=6, max_length=11)"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(FOLDER), str(tmp_path / "small")],
        env={**os.environ, "KERAS_BACKEND": "torch"},
        cwd=FOLDER.parents[1],
        check=True,
    )
    assert_same_logits(tmp_path / "small", model)


@pytest.mark.slow
def test_lengths_may_be_numpy_s_integers(random_model, tmp_path):
    lengths = {"max_input_length": np.int64(SOURCE - 1), "max_length": np.int64(TARGET)}
    folder = export_litert(random_model(), tmp_path / "model", **lengths)
    assert (folder / "model.tflite").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_input_length": 19}, "`max_input_length` must be at least 1 and at most 18"),
        ({"max_length": 19}, "`max_length` must be at least 1 and at most 18. Received: .*=19"),
        ({"max_length": 0}, "`max_length` must be at least 1"),
        ({"weights": "int7"}, "must be one of float32, float16, int8. Received: 'int7'"),
    ],
)
def test_wrong_options_are_refused(random_model, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_litert(random_model(), tmp_path / "models" / "random", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_weight_that_float16_does_not_have_is_refused(random_model, tmp_path):
    model = random_model()
    embeddings = model.backbone.token_embedding.embeddings
    embeddings.assign(embeddings + 1e5)
    with pytest.raises(ValueError, match="embeddings"):
        export_random(model, tmp_path, weights="float16")
    assert list(tmp_path.iterdir()) == []


def test_an_operation_that_litert_does_not_have_is_named(random_model, tmp_path):
    with pytest.raises(ValueError, match=r"for its `activation`: tf\.Erfinv\.$"):
        export_random(random_model(activation=keras.ops.erfinv), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["int8", "float8"])
def test_a_quantized_model_is_refused(random_model, mode, tmp_path):
    model = random_model()
    model.backbone.decoder_blocks[-1].self_attention.output_dense.quantize(mode)
    with pytest.raises(ValueError, match="that Keras has quantized"):
        export_random(model, tmp_path)


def test_a_model_without_wordpieces_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        export_litert(TransformerSeq2SeqLM(model.backbone), tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(model, exported):
    before = (exported / "model.tflite").stat()
    with pytest.raises(FileExistsError, match="small exists already"):
        export_litert(model, exported)
    assert (exported / "model.tflite").stat() == before


def test_without_tensorflow_the_error_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install tensorflow"):
        export_litert(model, tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []
