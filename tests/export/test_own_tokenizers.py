"""Tokenizers that do more than their SentencePiece model, which is all that an export holds."""

import pytest

from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer
from tests.export.random_model import build_random_model

TEXTS = ["a red car", "the car is old", "an old man in a red car", "A MAN"]


class Shouting(TransformerTokenizer):
    """Reads capitals as small letters."""

    def call(self, inputs, *args, **kwargs):
        return super().call([text.lower() for text in inputs], *args, **kwargs)


@pytest.fixture(scope="module")
def proto():
    return TransformerTokenizer.train(TEXTS, 30).proto


@pytest.mark.parametrize("export_format", sorted(TransformerSeq2SeqLM.exporters))
@pytest.mark.parametrize("options", [{}, {"add_eos": True}, {"sequence_length": 8}], ids=str)
def test_an_export_that_would_split_texts_differently_is_refused(
    proto, export_format, options, tmp_path
):
    for package in ("tensorflow_serving", "ctranslate2", "onnx", "openvino", "safetensors"):
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
