"""A sample of what `tests.claims.hardening` does by the thousand; and it sees what is wrong."""

import sys

import numpy as np
import pytest

from tests.claims.hardening import fuzz, invariance, load, soak
from tests.claims.hostile_text import BROKEN_UTF8, SYMBOLS, hostile_texts

SENTENCES = ["The old bus arrived yesterday.", "Half past three.", "She knows that."]


@pytest.fixture(scope="module")
def predict(exported):
    return load(exported)


def test_hostile_text_is_answered_row_by_row(predict):
    texts = hostile_texts(200, SENTENCES, longest=3000)
    result = fuzz(predict, texts, num_alone=20)
    assert result["failures"] == []
    assert result["inputs"] == 200


@pytest.mark.slow
def test_a_hundred_thousand_characters_are_answered(predict):
    texts = [b"a" * 100_000, b"The bus. " * 11_112, b" " * 100_000, "👍🏽".encode() * 50_000]
    answer = predict("serving_default", [*texts, b"Half past three."])["translation"]
    assert answer[2] == b""
    assert answer[4] == predict("serving_default", [b"Half past three."])["translation"][0]


@pytest.mark.parametrize("num_rows", [0, 1, 512])
@pytest.mark.parametrize("signature", ["serving_default", "translate_nbest", "align"])
def test_batches_of_any_size_are_answered_in_order(predict, signature, num_rows):
    texts = [b"Half past three.", b"", b"She knows that."]
    alone = [predict("serving_default", [text])["translation"][0] for text in texts]
    outputs = predict(signature, [texts[row % 3] for row in range(num_rows)])
    name = "translations" if signature == "translate_nbest" else "translation"
    answer = outputs[name][:, 0] if signature == "translate_nbest" else outputs[name]
    assert answer.tolist() == [alone[row % 3] for row in range(num_rows)]


def test_special_symbols_are_text_when_typed(predict, model):
    texts = [symbol.encode() for symbol in SYMBOLS]
    answer = predict("serving_default", texts)["translation"]
    expected = model.translate(list(SYMBOLS))
    assert [text.decode() for text in answer] == [each.text for each in expected]
    assert not any(b"</s>" in text or b"<pad>" in text for text in answer)


def test_broken_utf8_is_read_as_unknown_characters(predict):
    broken = [b"Half " + code + b" past" for code in BROKEN_UTF8]
    answers = predict("serving_default", broken)["translation"]
    unknown = predict("serving_default", ["Half ☃ past".encode()])["translation"][0]
    assert answers[0] == unknown
    for answer in answers:
        answer.decode("utf-8")


def test_a_row_does_not_depend_on_the_others(predict):
    texts = [line.encode() for line in SENTENCES] + hostile_texts(30, SENTENCES, longest=300)
    assert invariance(predict, texts, num_batchings=2)["differing"] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_flat(predict):
    result = soak(predict, [line.encode() for line in SENTENCES], num_requests=80)
    assert result["growth_mb"] < 32


def answer_of(translations, scores=None):
    translations = np.array(translations, dtype=object)
    scores = np.zeros(len(translations)) if scores is None else np.array(scores)
    return {"translation": translations, "score": scores}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda texts: answer_of([b"x"] * (len(texts) + 1)), "rows of translation"),
        (lambda texts: answer_of([b"\xff"] * len(texts)), "is not UTF-8"),
        (lambda texts: answer_of([b"x"] * len(texts), [np.nan] * len(texts)), "not a number"),
        (lambda texts: answer_of([b"x"] * len(texts), [1.0] * len(texts)), "greater than 0"),
        (lambda texts: answer_of([b"%d" % len(texts)] * len(texts)), "in a batch"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_the_fuzzer_sees_what_is_wrong(bad, message):
    texts = hostile_texts(90, SENTENCES, longest=100)
    calls = 0

    def predict(signature, batch):
        nonlocal calls
        calls += 1
        if message == "ZeroDivisionError" and calls > 2:
            return answer_of([b"x"] * len(batch))
        return bad(batch) if batch else answer_of([])

    assert any(message in failure for failure in fuzz(predict, texts)["failures"])


def test_invariance_and_soak_see_what_is_wrong():
    leak = []

    def predict(signature, batch):
        leak.append(np.ones(1 << 20))
        return answer_of([b"%d" % len(batch)] * len(batch))

    texts = [b"a", b"b", b"c"]
    assert invariance(predict, texts, num_batchings=2)["differing"]
    leak.clear()
    if sys.platform == "linux":
        assert soak(predict, texts, num_requests=40)["growth_mb"] > 32
