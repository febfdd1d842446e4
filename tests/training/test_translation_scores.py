import math

import pytest
from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_spm

from aiayn_keras.training import corpus_bleu, corpus_chrf, train
from aiayn_keras.training.translation_scores import (
    corpus_ter,
    try_bleu_tokenizer,
    warn_of_missing_spaces,
)
from tests.runs import small_recipe

# === BLEU ===


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


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, corpus_ter])
def test_a_sentence_is_not_scored_letter_by_letter(score):
    with pytest.raises(ValueError, match=r"`hypotheses` must be a list of strings.*'Ein Hund\.'"):
        score("Ein Hund.", ["Ein Hund."])
    with pytest.raises(ValueError, match=r"`references` must be a list of strings"):
        score(["Ein Hund."], "Ein Hund.")


def test_unequal_lists_are_refused():
    with pytest.raises(ValueError, match="2 hypotheses, 1 references"):
        corpus_bleu(["a", "b"], ["a"])


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match=r"Unknown BLEU tokenizer '14a'.*13a"):
        corpus_bleu(["a"], ["a"], tokenizer="14a")


def test_a_tokenizer_that_needs_the_network_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    with pytest.raises(ValueError, match=r"'flores200' cannot be used: it needs the network once"):
        try_bleu_tokenizer("flores200")


def test_a_tokenizer_that_needs_a_package_is_found_before_the_training(monkeypatch, tmp_path):
    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(
        ValueError, match=r"'ja-mecab' cannot be used: .*pip install sacrebleu\[ja\]"
    ):
        train(small_recipe("evaluation.bleu_tokenizer=ja-mecab"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tokenizers_that_are_there_can_be_used():
    for name in ("13a", "zh", "char"):
        try_bleu_tokenizer(name)


@pytest.mark.parametrize(
    ("texts", "tokenizer", "is_warned"),
    [
        (["我喜欢苹果。", "你看见书。"], "13a", True),
        (["彼は新しいPCを買いました。"], "intl", True),
        (["ฉันกลับบ้าน เธออ่านหนังสือ"], "13a", True),
        (["我喜欢苹果。"], "zh", False),
        (["我 喜欢 苹果 。"], "13a", False),
        (["나는 집에 간다.", "Der Tofu heißt 豆腐."], "13a", False),
        (["15"], "13a", False),
    ],
)
def test_bleu_of_whole_sentences_as_words_is_warned_of(texts, tokenizer, is_warned, caplog):
    warn_of_missing_spaces(texts, tokenizer)
    assert ("takes sentences as words" in caplog.text) is is_warned


def test_ter_of_whole_sentences_as_words_is_warned_of(caplog):
    warn_of_missing_spaces(["I like apples."], has_ter=True)
    assert not caplog.text
    warn_of_missing_spaces(["我喜欢苹果。"], "zh", has_ter=True)
    assert "TER takes sentences as words" in caplog.text
    assert "BLEU with" not in caplog.text


# === chrF ===


def f2(precision, recall):
    return 5 * precision * recall / (4 * precision + recall)


def test_chrf_by_hand():
    # n-grams of 1 to 3 characters: 2 of 3 are found, 1 of 2, none of 1. Longer ones do not exist.
    expected = f2(*[(2 / 3 + 1 / 2 + 0) / 3] * 2)
    assert corpus_chrf(["abx"], ["abc"]).score == pytest.approx(100 * expected)


def test_chrf_ignores_case_if_asked():
    assert corpus_chrf(["Ein Hund."], ["ein hund."], lowercase=True).score == pytest.approx(100)
    assert corpus_chrf(["Ein Hund."], ["ein hund."]).score < 90


@pytest.mark.parametrize("sides", [(["a", "b"], ["a"]), ([], [])])
def test_chrf_refuses_unequal_lists(sides):
    with pytest.raises(ValueError, match=r"equal length, at least 1\. Received: "):
        corpus_chrf(*sides)


def test_chrf_brings_its_signature():
    score = corpus_chrf(["a b"], ["a b"])
    assert "nc:6" in score.signature
    assert score.signature in str(score)
