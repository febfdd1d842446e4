"""The kitchen text of notebook 20: its splits, and the agreement of its German pronouns."""

import pytest

from tutorials.kitchen import kitchen_pairs


def test_training_and_test_sentences_are_all_different():
    train, test = kitchen_pairs(train_size=1_500, test_size=100)
    sources = [*train.sources, *test.sources]
    assert (len(train), len(test), len(set(sources))) == (1_500, 100, 1_600)


def test_a_seed_determines_the_sentences():
    first, second, other = (kitchen_pairs(20, 5, seed)[0].sources for seed in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (
            "Chop the garlic and fry it in oil for ten minutes.",
            "Hacke den Knoblauch und brate ihn zehn Minuten in Öl.",
        ),
        ("Wash the onions before you boil them.", "Wasche die Zwiebeln, bevor du sie kochst."),
        ("Slice the meat before you steam it.", "Schneide das Fleisch, bevor du es dünstest."),
    ],
)
def test_pronouns_agree_with_their_nouns(source, target):
    train, test = kitchen_pairs(train_size=3_000, test_size=96)
    translations = dict(
        zip((*train.sources, *test.sources), (*train.targets, *test.targets), strict=True)
    )
    assert translations[source] == target


def test_more_sentences_than_the_patterns_have_are_refused():
    with pytest.raises(ValueError, match="larger than population"):
        kitchen_pairs(train_size=5_000)
