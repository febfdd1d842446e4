"""Exports of encoders and decoders of different depth; other options are in their own tests."""

import pytest

from aiayn_keras.export import export_openvino, export_saved_model
from tests.export.random_model import build_random_model
from tests.export.served import Served
from tests.export.test_openvino import readme_program
from tests.helpers import assert_close
from tests.number_words import train_tokenizer

TEXTS = ["one two", "nine", "eight three five"]
DEPTHS = [
    {"num_encoder_layers": 2, "num_decoder_layers": 1},
    {"num_encoder_layers": 1, "num_decoder_layers": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("depths", DEPTHS)
def test_the_served_graph_translates_and_scores_as_the_model_does(depths, seed, tmp_path):
    pytest.importorskip("tensorflow_serving")
    model = build_random_model(train_tokenizer(), seed, **depths)
    limits = {"num_beams": 2, "max_length": 7}
    served = Served(export_saved_model(model, tmp_path / "kit", **limits))
    answer, expected = served("serving_default", text=TEXTS), model.translate(TEXTS, **limits)
    assert answer["translation"].tolist() == [translation.text for translation in expected]
    assert_close(answer["score"], [each.score for each in expected], rtol=1e-4, atol=1e-4)
    scores = served("score", source=TEXTS, target=TEXTS[::-1])["log_probability"]
    assert_close(scores, model.score(TEXTS, TEXTS[::-1]), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("depths", DEPTHS)
def test_openvino_translates_as_the_model_does(depths, seed, tmp_path, monkeypatch, capsys):
    for package in ("openvino", "onnx", "tokenizers"):
        pytest.importorskip(package)
    model = build_random_model(train_tokenizer(), seed, **depths)
    monkeypatch.chdir(export_openvino(model, tmp_path / "openvino"))
    for text in TEXTS:
        readme_program(tmp_path / "openvino")(text)
    shown = capsys.readouterr().out.splitlines()
    expected = model.translate(TEXTS, num_beams=1, length_penalty=0.0, max_length=9)
    assert [text[: len(each.text)] for text, each in zip(shown, expected, strict=True)] == [
        each.text for each in expected
    ]
