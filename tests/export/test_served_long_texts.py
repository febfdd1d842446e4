"""Texts of more tokens than a model has learned to read, in a graph and in `model.translate`."""

import json

import pytest
import sentencepiece

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.export.served_sentences import BATCH_SIZE
from aiayn_keras.export.serving_kit import write_kit
from aiayn_keras.export.serving_options import longest_whole_text, make_serving_options
from tests.export.served import Served
from tests.export.test_warmup_requests import warmup_requests
from tests.helpers import assert_close

LEARNED = 12
LIMIT = 60
TEXTS = [
    "The girl is happy. She works. Half past three.  The old bus arrived.",
    "Half past three.",
    "",
    "- One.\n- Two hundred and six, and the old bus.\n\n  Seven?! Eight hundred and nine.\n",
    "1, 2, 3; 4, 5, 6; 7, 8, 9; 10, 11, 12.",
    "one two three four five six seven eight nine ten eleven twelve",
    "日本。今日は。 The girl works! 🙂 She is happy.",
    "A. B. C. D. E. F. G. H. I. J. K. L.",
]


@pytest.fixture(scope="module")
def model(trained_run):
    model = TransformerSeq2SeqLM.from_preset(str(trained_run))
    model.preprocessor.tokenizer.learned_length = LEARNED
    return model


@pytest.fixture(scope="module")
def version_folder(model, tmp_path_factory):
    pytest.importorskip("tensorflow_serving")
    folder = tmp_path_factory.mktemp("long") / "small"
    return model.export(folder, num_beams=3, num_return_sequences=3, max_input_length=LIMIT)


@pytest.fixture(scope="module")
def served(version_folder):
    return Served(version_folder)


@pytest.fixture(scope="module")
def expected(model):
    return model.translate(TEXTS, num_beams=3, num_return_sequences=3)


def test_the_best_translations_are_those_of_translate(served, expected):
    answer = served("serving_default", text=TEXTS)
    best = [translation.hypotheses[0] for translation in expected]
    assert answer["translation"].tolist() == [each.text for each in best]
    assert_close(answer["score"], [each.score for each in best], rtol=1e-4, atol=1e-4)
    normalized = [each.normalized_score for each in best]
    assert_close(answer["normalized_score"], normalized, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_the_n_best_are_the_best_combinations(served, expected):
    answer = served("translate_nbest", text=TEXTS)
    for row, translation in enumerate(expected):
        found = translation.hypotheses
        assert answer["translations"][row][: len(found)].tolist() == [each.text for each in found]
        scores = [each.normalized_score for each in found]
        assert_close(answer["normalized_scores"][row][: len(found)], scores, rtol=1e-4, atol=1e-4)
    assert len(set(answer["translations"][0])) == 3


@pytest.mark.slow
def test_some_of_the_texts_are_split(model, expected):
    of_one_piece = model.translate(TEXTS, num_beams=3, long_text="cut")
    changed = [one.text != best.text for one, best in zip(of_one_piece, expected, strict=True)]
    assert (changed[0], changed[1], changed[3]) == (True, False, True)


def test_a_row_does_not_depend_on_the_others(served):
    together = served("serving_default", text=TEXTS)
    alone = [served("serving_default", text=[text])["translation"][0] for text in TEXTS]
    assert together["translation"].tolist() == alone


def test_more_sentences_than_a_batch_has(served, model):
    texts = [TEXTS[0]] * (BATCH_SIZE // 3)
    answer = served("serving_default", text=texts)
    assert set(answer["translation"]) == {model.translate([TEXTS[0]], num_beams=3)[0].text}


def test_of_a_text_beyond_the_limit_the_beginning_is_translated(served, model):
    text = "“The girl is happy.” She works. " * 9
    (pieces,) = model.preprocessor.tokenizer.tokenize([text])
    assert len(pieces) > LIMIT
    proto = model.preprocessor.tokenizer.proto
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    spans = processor.encode(text, return_type="proto")
    beginning = text.encode()[: spans.pieces[LIMIT - 1].end].decode()
    answer = served("serving_default", text=[text, TEXTS[1]])
    assert answer["translation"][0] == model.translate([beginning], num_beams=3)[0].text


def test_bytes_that_are_not_utf8_become_replacement_characters(served):
    import tensorflow as tf

    texts = tf.constant([b"\xff 1. " * 10, TEXTS[0]])
    answer = served.loaded.signatures["serving_default"](text=texts)
    assert answer["translation"].numpy()[0].decode() == "\ufffd 1. " * 10


def test_the_readme_names_the_length(version_folder):
    notes = json.loads((version_folder / "assets.extra" / "export.json").read_text("utf-8"))
    assert notes["longest_whole_text"] == LEARNED
    card = (version_folder.parent / "README.md").read_text("utf-8")
    assert f"more than {LEARNED} tokens" in card
    assert "is translated as one piece" not in card


def test_notes_without_a_length_are_of_texts_as_one_piece(tmp_path, note_version):
    pytest.importorskip("tensorflow_serving")
    note_version(tmp_path / "small", 1)
    write_kit(tmp_path / "small")
    assert "is translated as one piece" in (tmp_path / "small" / "README.md").read_text("utf-8")


def test_the_server_is_warmed_up_for_a_long_text(version_folder, model):
    for signature in ("serving_default", "translate_nbest"):
        texts = [
            text.decode()
            for request in warmup_requests(version_folder)
            if request.model_spec.signature_name == signature
            for text in request.inputs["text"].string_val
        ]
        lengths = map(len, model.preprocessor.tokenizer.tokenize(texts))
        assert any(LEARNED <= length <= LIMIT for length in lengths)


def test_a_text_under_a_constraint_is_one_piece(model):
    tokenizer = model.preprocessor.tokenizer
    assert longest_whole_text(tokenizer, make_serving_options(64)) == LEARNED
    options = make_serving_options(64, constraint="brackets")
    assert longest_whole_text(tokenizer, options) is None
