import pytest

from aiayn_keras.training import corpus_chrf


def f2(precision, recall):
    return 5 * precision * recall / (4 * precision + recall)


def test_a_hand_computed_score():
    # n-grams of 1 to 3 characters: 2 of 3 are found, 1 of 2, none of 1. Longer ones do not exist.
    expected = f2(*[(2 / 3 + 1 / 2 + 0) / 3] * 2)
    assert corpus_chrf(["abx"], ["abc"]).score == pytest.approx(100 * expected)


def test_case_is_ignored_if_asked():
    assert corpus_chrf(["Ein Hund."], ["ein hund."], lowercase=True).score == pytest.approx(100)
    assert corpus_chrf(["Ein Hund."], ["ein hund."]).score < 90


@pytest.mark.parametrize("sides", [(["a", "b"], ["a"]), ([], [])])
def test_sides_of_other_lengths_are_refused(sides):
    with pytest.raises(ValueError, match=r"equal length, at least 1\. Received: "):
        corpus_chrf(*sides)


def test_the_signature_is_there():
    score = corpus_chrf(["a b"], ["a b"])
    assert "nc:6" in score.signature
    assert score.signature in str(score)
