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


def test_wrong_treatments_are_refused(model, long):
    with pytest.raises(ValueError, match='`long_text` must be "error", "split" or "cut"'):
        model.translate("neun", long_text="truncate")
    with pytest.raises(ValueError, match="cannot be combined with `constraint`"):
        model.translate(long, long_text="split", constraint=as_constraint("brackets"))
    with pytest.raises(TypeError, match="`long_text` is for sentences"):
        model.translate_documents(long, long_text="cut")
    with pytest.raises(ValueError, match=r"`texts\[1\]`"):
        model.translate(["neun", long])
