"""A sample of `tests.claims.token_ids`: a SavedModel reads texts as Python does."""

from pathlib import Path

import pytest

from aiayn_keras.models import TransformerTokenizer
from tests.claims.token_ids import count_differences, hard_texts

SAVED_MODELS = Path(__file__).parents[2] / "saved_models"


@pytest.mark.parametrize("name", ["demo_en_de_keras", "tatoeba_en_es_keras"])
def test_ids_in_the_graph_are_those_in_python(name):
    tokenizer = TransformerTokenizer.from_preset(SAVED_MODELS / name)
    texts = hard_texts(600, ["The old man bought a red car.", "It's 10:30, isn't it?"], seed=5)
    assert list(count_differences(tokenizer, texts)) == []
