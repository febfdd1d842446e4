"""A served model whose sources have no end token, as many of OpenNMT-tf's."""

import pytest

from aiayn_keras.export import export_saved_model
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.serving.local_page import KitTranslator
from tests.export.random_model import build_random_model
from tests.export.served import Served
from tests.helpers import assert_close
from tests.number_words import train_tokenizer


def test_its_readme_asks_for_the_ids_that_the_model_reads(seed, tmp_path):
    pytest.importorskip("tensorflow_serving")
    tokenizer = TransformerTokenizer(train_tokenizer().proto, source_end=False)
    model = build_random_model(tokenizer, seed, num_layers=1)
    folder = export_saved_model(model, tmp_path / "endless", num_beams=1)
    assert "(B, S), `pieces`, padded" in (tmp_path / "endless" / "README.md").read_text("utf-8")
    text = "one two"
    (pieces,), served = tokenizer([text]), Served(folder)
    (expected,) = served("serving_default", text=[text])["score"]
    assert_close(served("generate_ids", token_ids=[[*pieces, 0]])["score"], [expected], rtol=1e-5)
    ended = served("generate_ids", token_ids=[[*pieces, tokenizer.end_token_id]])["score"][0]
    assert abs(ended - expected) > 0.01


@pytest.mark.parametrize("source_end", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_page_of_its_kit_leaves_nothing_of_a_long_text_out(source_end, seed, tmp_path):
    pytest.importorskip("tensorflow_serving")
    tokenizer = TransformerTokenizer(train_tokenizer().proto, source_end=source_end)
    model = build_random_model(tokenizer, seed, num_layers=1)
    folder = export_saved_model(model, tmp_path / "kit", num_beams=1, max_input_length=8)
    translator, text = KitTranslator(folder), "one two three four five six seven eight nine"
    sources = [sentence.source for sentence in translator.translate(text).sentences]
    assert " ".join(sources) == text
    assert all(len(pieces) <= 8 for pieces in tokenizer(sources))
