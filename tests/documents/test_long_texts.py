import itertools

import numpy as np
import pytest

from aiayn_keras.decoding.constraints import as_constraint

pytest.importorskip("tensorflow_text")

TWO = {"num_beams": 2, "num_return_sequences": 2}
SENTENCE = "eins zwei drei vier fünf."


@pytest.fixture(scope="module")
def long(model, tokenizer):
    """A text of some sentences, with more wordpieces than the model has positions."""
    text = "1) eins."
    while len(tokenizer([text])[0]) < model.backbone.max_sequence_length:
        text += f" {SENTENCE}"
    return text


def test_a_long_text_is_the_translations_of_its_sentences(model, long):
    short = "neun"
    done = []
    options = {**TWO, "return_alignments": True}
    first, second = model.translate(
        [long, short], long_text="split", progress=done.append, **options
    )
    assert sum(done) == 2
    document = model.translate_documents(long, **options)
    assert second.text == model.translate(short, **options).text
    assert first.text == document.text
    assert first.score == pytest.approx(document.score)
    blocks = [each.alignment for each in document.translations]
    assert first.alignment.shape == (len(first.tokens) + 1, len(first.source_tokens))
    np.testing.assert_allclose(first.alignment.sum(axis=1), 1, atol=1e-5)
    rows, columns = blocks[0].shape
    np.testing.assert_array_equal(first.alignment[: rows - 1, :columns], blocks[0][:-1])
    assert first.source_tokens[columns - 1] == "</s>"


def test_hypotheses_of_parts_combine_best_first(model, long):
    found = model.translate(long, long_text="split", **TWO).hypotheses
    parts = model.translate_documents(long, **TWO).translations
    sums = [
        sum(each.normalized_score for each in choice)
        for choice in itertools.product(*(part.hypotheses for part in parts))
    ]
    expected = sorted(sums, reverse=True)[:2]
    assert [each.normalized_score for each in found] == pytest.approx(expected)


def test_a_cut_text_is_its_first_wordpieces(model, tokenizer, long):
    limit = model.backbone.max_sequence_length - 1
    found = model.translate(long, long_text="cut", num_beams=1, return_alignments=True)
    pieces = tuple(map(tokenizer.id_to_token, tokenizer([long])[0][:limit]))
    assert found.source_tokens == (*pieces, "</s>")


def test_prefixes_begin_the_first_part(model, long):
    prefix = model.translate(SENTENCE, num_beams=1).text.split()[0]
    found = model.translate([long, "neun"], prefixes=[prefix, ""], long_text="split", num_beams=1)
    assert found[0].text.removeprefix("1) ").startswith(prefix)


def test_a_long_text_without_letters_stays(model):
    text = "1 - " * 400
    assert model.translate([text, "neun"], long_text="split")[0].text == text


PARAGRAPH = f"{SENTENCE} Sechs sieben! {SENTENCE}"


@pytest.fixture
def learned(tokenizer, monkeypatch):
    """Returns a function that sets the length that was learned to that of a text, and less."""

    def learn(text, less=0):
        length = len(tokenizer([text])[0]) + 1 - less
        monkeypatch.setattr(tokenizer, "learned_length", length)

    return learn


@pytest.mark.parametrize("long_text", ["error", "split"])
def test_a_text_longer_than_what_was_learned_is_translated_by_sentences(model, learned, long_text):
    whole = model.translate(PARAGRAPH, long_text=long_text)
    learned(PARAGRAPH)
    assert model.translate(PARAGRAPH, long_text=long_text) == whole
    learned(PARAGRAPH, less=1)
    found, short = model.translate([PARAGRAPH, "neun"], long_text=long_text, **TWO)
    document = model.translate_documents(PARAGRAPH, **TWO)
    assert len(document.translations) == 3
    assert found.text == document.text != whole.text
    assert short.text == model.translate("neun", **TWO).text
    assert model.translate(PARAGRAPH, long_text="cut") == whole


def test_a_long_sentence_stays_whole(model, learned):
    whole = model.translate(SENTENCE)
    learned(SENTENCE, less=2)
    assert model.translate(SENTENCE) == whole


def test_a_text_with_too_many_tokens_is_an_error_though_less_was_learned(model, learned, long):
    learned(SENTENCE)
    with pytest.raises(ValueError, match=r"`texts\[2\]`"):
        model.translate([PARAGRAPH, "neun", long])


def test_a_constraint_holds_for_the_whole_of_a_text(model, tokenizer, learned):
    pieces = set(range(tokenizer.vocabulary_size())) - set(tokenizer.special_token_ids)
    anything = {"kind": "automaton", "transitions": [(0, i, 0) for i in pieces], "final": [0]}
    constraint = as_constraint(anything)
    whole = model.translate(PARAGRAPH, constraint=constraint)
    learned(SENTENCE)
    assert model.translate(PARAGRAPH, constraint=constraint) == whole


def test_without_tensorflow_text_the_reader_is_told(model, learned, monkeypatch):
    whole = model.translate(PARAGRAPH)
    learned(SENTENCE)
    monkeypatch.setattr("aiayn_keras.documents.long_texts.can_split", lambda: False)
    with pytest.warns(UserWarning, match=r"`texts\[1\]` has more tokens than the \d+ that"):
        assert model.translate(["neun", PARAGRAPH])[1].text == whole.text
    learned(SENTENCE, less=2)
    model.translate(SENTENCE)  # without a warning, as one sentence cannot be split


def test_wrong_treatments_are_refused(model, long):
    with pytest.raises(ValueError, match='`long_text` must be "error", "split" or "cut"'):
        model.translate("neun", long_text="truncate")
    with pytest.raises(ValueError, match="cannot be combined with `constraint`"):
        model.translate(long, long_text="split", constraint=as_constraint("brackets"))
    with pytest.raises(TypeError, match="`long_text` is for sentences"):
        model.translate_documents(long, long_text="cut")
    with pytest.raises(ValueError, match=r"`texts\[1\]`"):
        model.translate(["neun", long])
