import pytest

from aiayn_keras.models import Translation
from tests.decoding.test_translating import with_weights

pytest.importorskip("tensorflow_text")

DOCUMENT = "\n  - eins zwei.\r\n\nneun! Null drei?\t---\n"
OPTIONS = {"num_beams": 2, "num_return_sequences": 2}  # one search to compile
SENTENCES = ("eins zwei.", "neun!", "Null drei?")


def test_a_document_is_the_translations_of_its_sentences_with_its_layout(model):
    (document,) = model.translate_documents([DOCUMENT], **OPTIONS)
    expected = model.translate(list(SENTENCES), **OPTIONS)
    one, two, three = (translation.text for translation in expected)
    assert document.text == f"\n  - {one}\r\n\n{two} {three}\t---\n"
    assert document.sources == SENTENCES
    assert document.translations == tuple(expected)
    assert isinstance(document.translations[0], Translation)
    assert document.score == pytest.approx(sum(each.score for each in expected))


def test_sentences_without_spaces_become_sentences_with_them(model):
    (document,) = model.translate_documents(["eins。zwei。"], **OPTIONS)
    assert document.sources == ("eins。", "zwei。")
    one, two = (each.text for each in document.translations)
    assert document.text == f"{one} {two}"
    (line,) = model.translate(["eins。zwei。" * 60], long_text="split", **OPTIONS)
    assert f"{one} {two} {one}" in line.text


def test_documents_come_in_order(model):
    texts = ["eins. Zwei.", "", "\n\n", "drei"]
    documents = model.translate_documents(texts, batch_size=2, **OPTIONS)
    assert [len(document.sources) for document in documents] == [2, 0, 0, 1]
    assert [document.text for document in documents[1:3]] == texts[1:3]
    assert documents[3] == model.translate_documents(texts[3:], **OPTIONS)[0]
    assert model.translate_documents([]) == []


def test_a_long_sentence_is_cut_and_nothing_is_left_out(model, tokenizer):
    limit = model.backbone.max_sequence_length - 1
    text = "eins zwei, drei vier; " * 60 + "fünf" * 100
    (document,) = model.translate_documents([text], **OPTIONS)
    assert len(document.sources) > 3
    assert all(0 < len(ids) <= limit for ids in tokenizer(list(document.sources)))
    assert "".join(document.sources).replace(" ", "") == text.replace(" ", "")


def test_a_sentence_is_cut_when_it_has_a_wordpiece_too_many(model, tokenizer):
    limit = model.backbone.max_sequence_length - 1
    texts = [" ".join(["eins"] * number) for number in range(1, limit + 2)]
    fits = [len(ids) <= limit for ids in tokenizer(texts)]
    longest, next_longer = texts[fits.index(False) - 1], texts[fits.index(False)]
    documents = model.translate_documents([longest, next_longer], **OPTIONS)
    assert [len(document.sources) for document in documents] == [1, 2]


@pytest.mark.slow
def test_an_ensemble_translates_documents(model):
    (document,) = model.translate_documents([DOCUMENT], **OPTIONS)
    (together,) = model.translate_documents([DOCUMENT], ensemble=[model], **OPTIONS)
    assert together.text == document.text
    other = with_weights(model, lambda weight: weight * 0.7)
    expected = model.translate(list(SENTENCES), ensemble=[other], **OPTIONS)
    for ensemble in ([other], iter([other])):  # which can be gone through once
        (together,) = model.translate_documents([DOCUMENT], ensemble=ensemble, **OPTIONS)
        assert together.score == pytest.approx(sum(each.score for each in expected))
    assert together.score != pytest.approx(document.score)


def test_progress_counts_sentences(model):
    done = []
    model.translate_documents([DOCUMENT, "eins."], progress=done.append, **OPTIONS)
    assert sum(done) == 4


@pytest.mark.parametrize("texts", [7, [None], ["\ud800"]], ids=repr)
def test_what_is_no_list_of_texts_is_refused(model, texts):
    with pytest.raises(ValueError, match="`texts"):
        model.translate_documents(texts)


def test_prefixes_are_of_sentences(model):
    with pytest.raises(TypeError, match="`prefixes` is for sentences"):
        model.translate_documents([DOCUMENT], prefixes=["one"])
