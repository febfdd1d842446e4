import math

import pytest

from aiayn_keras.training import corpus_bleu


def test_bleu_by_hand():
    # 1-grams 5/6, 2-grams 3/5, 3-grams 2/4, 4-grams 1/3; no brevity penalty.
    bleu = corpus_bleu(["a b c d x f"], ["a b c d e f"], tokenizer="none")
    expected = 100 * math.exp(sum(map(math.log, (5 / 6, 3 / 5, 2 / 4, 1 / 3))) / 4)
    assert bleu.score == pytest.approx(expected)


def test_bleu_brings_its_signature():
    bleu = corpus_bleu(["Ein Hund."], ["ein hund."], tokenizer="none", lowercase=True)
    assert bleu.score == pytest.approx(corpus_bleu(["ein hund."], ["ein hund."], "none").score)
    assert "case:lc" in bleu.signature
    assert "tok:none" in bleu.signature
    assert bleu.signature in str(bleu)


def test_unequal_lists_are_refused():
    with pytest.raises(ValueError, match="2 hypotheses, 1 references"):
        corpus_bleu(["a", "b"], ["a"])


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match=r"Unknown BLEU tokenizer '14a'.*13a"):
        corpus_bleu(["a"], ["a"], tokenizer="14a")
