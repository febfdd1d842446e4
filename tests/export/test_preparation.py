"""Models that no export writes, whatever the format."""

import keras
import numpy as np
import pytest

from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer
from tests.export.random_model import build_random_model

FORMATS = sorted(TransformerSeq2SeqLM.exporters)
TEXTS = ["a red car", "the car is old", "an old man in a red car", "A MAN"]
PACKAGES = ("tensorflow_serving", "ctranslate2", "onnx", "openvino", "safetensors")


@pytest.fixture
def model():
    for package in PACKAGES:
        pytest.importorskip(package)
    tokenizer = TransformerTokenizer.train(TEXTS, 30)
    return build_random_model(tokenizer, seed=1)


def set_weight(model, value):
    kernel = model.backbone.decoder_blocks[1].feed_forward.hidden_dense.kernel
    changed = np.array(keras.ops.convert_to_numpy(kernel))
    changed[0, 0] = value
    kernel.assign(changed)


@pytest.mark.parametrize("export_format", FORMATS)
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_model_that_has_diverged_is_refused(model, export_format, value, tmp_path):
    set_weight(model, value)
    with pytest.raises(ValueError, match=r"decoder_block_1/feed_forward/hidden.* not all finite"):
        model.export(tmp_path / "small", format=export_format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("export_format", "options"),
    [
        ("ctranslate2", {"quantization": "float16"}),
        ("ctranslate2", {"quantization": "int8_float16"}),
        ("openvino", {"weights": "float16"}),
        ("litert", {"weights": "float16"}),
    ],
)
def test_a_weight_that_float16_does_not_have_is_refused(model, export_format, options, tmp_path):
    set_weight(model, 1e5)
    with pytest.raises(ValueError, match=r"decoder_block_1/feed_forward/hidden.*range of float16"):
        model.export(tmp_path / "small", format=export_format, **options)
    assert list(tmp_path.iterdir()) == []
    model.export(tmp_path / "ctranslate2", format="ctranslate2", quantization="int8_bfloat16")


# === Tokenizers that do more than the SentencePiece model that is written ===


class Shouting(TransformerTokenizer):
    """Reads capitals as small letters."""

    def call(self, inputs, *args, **kwargs):
        return super().call([text.lower() for text in inputs], *args, **kwargs)


@pytest.fixture(scope="module")
def proto():
    return TransformerTokenizer.train(TEXTS, 30).proto


@pytest.mark.parametrize("export_format", FORMATS)
@pytest.mark.parametrize("options", [{}, {"add_eos": True}, {"sequence_length": 8}], ids=str)
def test_an_export_that_would_split_texts_differently_is_refused(
    proto, export_format, options, tmp_path
):
    for package in PACKAGES:
        pytest.importorskip(package)
    tokenizer = TransformerTokenizer(proto, **options) if options else Shouting(proto)
    model = build_random_model(tokenizer, seed=1)
    with pytest.raises(ValueError, match=rf"{type(tokenizer).__name__}\(.*add_eos="):
        model.export(tmp_path / "small", format=export_format)
    assert list(tmp_path.iterdir()) == []


def test_it_is_searched_for_by_ctranslate2_all_the_same(proto):
    pytest.importorskip("ctranslate2")
    model = build_random_model(Shouting(proto), seed=1)
    (by_keras,), (found,) = (
        model.translate(["A RED CAR"], engine=engine) for engine in ("keras", "ctranslate2")
    )
    assert found.text == by_keras.text == model.translate(["a red car"])[0].text
