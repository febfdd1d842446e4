"""A constraint in the graph of a SavedModel."""

import numpy as np
import pytest

from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.export.saved_model import write_graph
from aiayn_keras.export.served_translator import NO_SCORE, build_served_translator
from aiayn_keras.export.served_weights import WholeWeights
from aiayn_keras.export.serving_options import make_serving_options
from tests.export.served import Served, readable
from tests.helpers import assert_close
from tests.random_parser import SOURCES, build_random_parser


@pytest.fixture(scope="module")
def parser():
    return build_random_parser()


def assert_served_as_translated(parser, served, **options):
    """Compares the N best, and the best of each sentence alone, which has a graph of its own."""
    nbest = served("translate_nbest", text=[*SOURCES, ""])
    expected = parser.translate([*SOURCES, ""], num_return_sequences=4, **options)
    for translation, texts, scores in zip(
        expected, nbest["translations"].tolist(), nbest["scores"], strict=True
    ):
        found = translation.hypotheses
        assert texts == [each.text for each in found] + [""] * (4 - len(found))
        assert_close(scores[: len(found)], [each.score for each in found], 1e-4, 1e-4)
        np.testing.assert_array_equal(scores[len(found) :], np.float32(NO_SCORE))
    for source, translation in zip(SOURCES, expected, strict=False):
        best = served("serving_default", text=[source])
        assert best["translation"].tolist() == [translation.text]


@pytest.mark.slow
def test_a_saved_model_writes_the_trees_that_the_model_writes(parser, tmp_path):
    options = {"constraint": "brackets", "max_length": 9}
    write_graph(parser, tmp_path, make_serving_options(64, **options))
    served = Served(tmp_path)
    assert_served_as_translated(parser, served, **options)
    # The limit is too small for the words of the first: it has none, and the second has its own.
    texts = np.array([" ".join(["cat"] * 8), SOURCES[0]], object)
    answer = served("serving_default", text=texts)
    (expected,) = parser.translate(SOURCES[:1], **options)
    assert answer["translation"].tolist() == ["", expected.text]
    assert_close(answer["score"], [NO_SCORE, expected.score], 1e-4, 1e-4)


@pytest.mark.slow
def test_a_graph_keeps_to_a_closed_list(parser):
    import tensorflow as tf

    token_ids = parser.preprocessor.tokenizer(["cat cat", "dog sat", "the"])
    options = {"constraint": TokenAutomaton.of_sequences(token_ids)}
    _, signatures = build_served_translator(
        parser, make_serving_options(64, **options), WholeWeights(parser)
    )

    def served(signature, text):
        outputs = signatures[signature](tf.constant(text))
        return {name: readable(value.numpy()) for name, value in outputs.items()}

    assert_served_as_translated(parser, served, **options)


def test_hypotheses_that_there_are_not_have_a_score_that_json_holds(parser):
    import tensorflow as tf

    num_tokens = parser.backbone.vocabulary_size
    options = make_serving_options(64, num_beams=num_tokens, max_length=1)
    _, signatures = build_served_translator(parser, options, WholeWeights(parser))
    (scores,) = signatures["translate_nbest"](tf.constant(["cat"]))["scores"].numpy()
    assert np.isfinite(scores).all()
    (translation,) = parser.translate(
        ["cat"], num_beams=num_tokens, num_return_sequences=num_tokens, max_length=1
    )
    found = len(translation.hypotheses)
    assert found < num_tokens
    np.testing.assert_array_equal(scores[found:], np.float32(NO_SCORE))
