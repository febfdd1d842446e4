from collections import Counter

import pytest

from aiayn_keras.data import ParallelText, augment

PAIRS = [(f"Sentence {n}.", f"Frase {n}.") for n in range(400)]
TEXT = ParallelText(*zip(*PAIRS, strict=True), name="numbers")


def sentences(side):
    return [f"{part}." for text in side for part in text.rstrip(".").split(". ")]


def test_without_shares_the_text_is_as_it_was():
    assert augment(TEXT) is TEXT


def test_joined_texts_hold_every_pair_once_and_side_by_side():
    joined = augment(TEXT, joined=0.5)
    assert len(joined) < len(TEXT)
    pairs = zip(sentences(joined.sources), sentences(joined.targets), strict=True)
    assert Counter(pairs) == Counter(PAIRS)


def test_joined_texts_have_two_to_four_sentences():
    sizes = Counter(source.count(".") for source in augment(TEXT, joined=1.0).sources)
    # The last text may have one sentence, if no other is left.
    assert {2, 3, 4} <= set(sizes) <= {1, 2, 3, 4}
    assert sizes[1] <= 1


@pytest.mark.parametrize("pair", [("no mark", "Con punto."), ("Has one.", "sin marca")])
def test_a_pair_without_final_mark_is_never_joined(pair):
    sources, targets = zip(*[pair] * 50, strict=True)
    joined = augment(ParallelText(sources, targets), joined=1.0)
    assert list(joined) == [pair] * 50


def test_a_mark_may_stand_before_closing_quotes():
    quotes = ['He said "No!"', "Dijo «¡No!»"]
    assert augment(ParallelText(*([text] * 2 for text in quotes)), joined=1.0)[0] == (
        " ".join([quotes[0]] * 2),
        " ".join([quotes[1]] * 2),
    )


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("I see.", "Ya veo."), ("I see", "Ya veo")),
        (("Who?", "¿Quién?"), ("Who", "¿Quién?")),
        (("What?!", "¡¿Qué?!"), ("What", "¡¿Qué?!")),
        (("I see.", "¡Ya veo!"), ("I see.", "¡Ya veo!")),
        (("Well...", "Bueno..."), ("Well...", "Bueno...")),
    ],
)
def test_the_final_mark_goes(pair, expected):
    text = ParallelText([pair[0]], [pair[1]])
    assert augment(text, unpunctuated=1.0)[0] == expected


def test_only_the_source_is_lower_cased():
    assert augment(TEXT, lower_cased=1.0)[3] == ("sentence 3.", "Frase 3.")


def test_shares_are_kept_and_the_seed_decides():
    one, same, other = (augment(TEXT, lower_cased=0.25, seed=seed) for seed in (1, 1, 2))
    assert 70 < sum(source[0] == "s" for source in one.sources) < 130
    assert one.sources == same.sources != other.sources


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joined": 1.5}, "`joined` must be at least 0 and at most 1"),
        ({"lower_cased": -0.1}, "`lower_cased` must be at least 0"),
        ({"unpunctuated": float("nan")}, "`unpunctuated` must be at least 0"),
        ({"joined": 0.5, "seed": -1}, "`seed` must be at least 0"),
    ],
)
def test_impossible_shares_and_seeds_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        augment(TEXT, **options)


def test_an_empty_text_stays_empty():
    assert len(augment(ParallelText([], []), joined=0.5)) == 0
