import re
from collections import Counter
from unicodedata import name

import numpy as np
import pytest

from aiayn_keras.data import ParallelText, augment
from aiayn_keras.data.added_text import draw_name
from aiayn_keras.data.augmentation import warn_of_unused_shares
from aiayn_keras.models.text_normalization import normalizer

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
    ("source", "joined"),
    [
        ("他说：“我走。”", "他说：“我走。”他说：“我走。”"),
        ("वह पढ़ती है।", "वह पढ़ती है। वह पढ़ती है।"),
        ("هل تأتي؟", "هل تأتي؟ هل تأتي؟"),
    ],
)
def test_the_marks_of_other_scripts_end_sentences_too(source, joined):
    text = ParallelText([source] * 2, ["Yes."] * 2)
    assert augment(text, joined=1.0)[0] == (joined, "Yes. Yes.")


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (("I see.", "Ya veo."), ("I see", "Ya veo")),
        (("Who?", "¿Quién?"), ("Who", "¿Quién?")),
        (("What?!", "¡¿Qué?!"), ("What", "¡¿Qué?!")),
        (("I see.", "¡Ya veo!"), ("I see.", "¡Ya veo!")),
        (("Well...", "Bueno..."), ("Well...", "Bueno...")),
        (("我回家。", "I go home."), ("我回家", "I go home")),
        (("मैं घर जाता हूँ।", "I go home."), ("मैं घर जाता हूँ", "I go home")),
        (("هل تأتي؟", "Do you come?"), ("هل تأتي", "Do you come?")),
        (("你来吗？！", "Do you come?!"), ("你来吗", "Do you come?!")),
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
        ({"joined": 0.5, "variants": 0}, "`variants` must be at least 1"),
    ],
)
def test_impossible_shares_and_seeds_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        augment(TEXT, **options)


def test_an_empty_text_stays_empty():
    assert len(augment(ParallelText([], []), joined=0.5)) == 0


SENTENCES = [
    ("Tom paid 300 dollars at 10:30.", "Tom pagó 300 dólares a las 10:30."),
    ("I have 1 dog.", "Tengo 1 perro."),
    ("The year was 1990.", "Era mil novecientos noventa."),
    ("Where is Boston, Mary?", "¿Dónde está Boston, María?"),
    ("Don't come back.", "No vuelvas."),
]
MIXED = ParallelText(*zip(*SENTENCES, strict=True))


def test_numbers_are_exchanged_on_both_sides_and_only_where_they_agree():
    added = list(augment(MIXED, numbers=1.0, seed=3))[len(SENTENCES) :]
    assert len(added) == len(SENTENCES)
    for source, target in added:
        numbers = re.findall(r"\d+", source)
        assert sorted(numbers) == sorted(re.findall(r"\d+", target))
        # A time keeps its form.
        paid = re.fullmatch(r"Tom paid (\S.*) dollars at \d\d:\d\d\.", source)
        assert source == "I have 1 dog." or paid  # any other number needs the plural
        if paid:
            assert f" {paid[1]} " in target


def test_numbers_with_marks_are_exchanged_too():
    text = ParallelText(["We saw 20 ships."] * 1000, ["Vimos 20 barcos."] * 1000)
    added = list(augment(text, numbers=1.0))[1000:]
    numbers, forms = set(), set()
    for source, target in added:
        number = re.fullmatch(r"We saw (.*) ships\.", source)[1]
        assert target == f"Vimos {number} barcos."
        numbers.add(number)
        forms.add(re.sub(r"\d", "9", number))
    assert {"9", "99", "99999", "999.99", "99:99", "999-9999", "99,999", "+99 999 999 999"} < forms
    assert {"9,999.99", "999,999.99", "999,999", "9,999,999", "-9", "-99"} < forms
    # Amounts are often round, and a group may begin with a zero.
    for pattern in (r"\d+,000", r"\d+,0[1-9]\d", r"\d+\.00", r"\d+:0\d"):
        assert any(re.fullmatch(pattern, number) for number in numbers), pattern
    assert not any(re.match(r"[-+]?0", number) for number in numbers)


def test_numbers_that_the_sides_write_differently_are_not_exchanged():
    """A model would learn to turn one separator and copy the other: `3.000.50`."""
    pairs = [("It costs 3,000 yen.", "Cuesta 3.000 yenes."), ("It is 2.5 km.", "Son 2,5 km.")]
    for pair in pairs:
        alone = ParallelText(*zip(pair, strict=True))
        assert list(augment(alone, numbers=1.0)) == [pair]
    alike = ParallelText(["It costs 3,000 yen."], ["Cuesta 3,000 yenes."])
    _, (source, target) = augment(alike, numbers=1.0)
    number = re.fullmatch(r"It costs (\d,\d{3}) yen\.", source)[1]
    assert target == f"Cuesta {number} yenes."


def test_variants_differ_and_the_first_is_the_text_of_one_variant():
    shares = {"joined": 0.3, "typing_errors": 0.5, "copied": 0.2}
    once, twice = (list(augment(TEXT, **shares, variants=n, seed=5)) for n in (1, 2))
    assert twice[: len(once)] == once
    assert twice[len(once) :] != once
    assert len(augment(TEXT, variants=3)) == len(TEXT)  # there is nothing to vary


def test_names_are_exchanged_on_both_sides():
    added = list(augment(MIXED, names=1.0, seed=3))[len(SENTENCES) :]
    assert len(added) == len(SENTENCES)
    for source, target in added:
        name = re.fullmatch("(.*) paid 300 .*|Where is (.*), Mary.", source)
        name = name[1] or name[2]
        assert name not in ("Tom", "Boston")
        assert target in (f"{name} pagó 300 dólares a las 10:30.", f"¿Dónde está {name}, María?")


def test_names_have_letters_of_many_languages():
    random = np.random.default_rng(0)
    letters = {letter for _ in range(500) for letter in draw_name(random).lower()}
    accented = {
        letter for letter in letters if "LATIN" in name(letter) and " WITH " in name(letter)
    }
    assert len(accented) > 30


def test_without_a_number_or_a_name_nothing_is_added():
    text = ParallelText(["We sing."], ["Cantamos."])
    assert list(augment(text, numbers=1.0, names=1.0)) == [("We sing.", "Cantamos.")]


def test_capitals_are_those_of_both_sides_and_titles_of_the_source():
    assert augment(MIXED, upper_cased=1.0)[4] == ("DON'T COME BACK.", "NO VUELVAS.")
    assert augment(MIXED, title_cased=1.0)[4] == ("Don't Come Back.", "No vuelvas.")


def test_quotation_marks_of_all_kinds_become_those_of_a_typewriter():
    text = ParallelText(["Don't go."] * 100, ["No vayas."] * 100)
    pairs = set(augment(text, quoted=1.0))
    assert {target for _, target in pairs} == {'"No vayas."'}
    sources = {source for source, _ in pairs}
    assert {'"Don\'t go."', "'Don't go.'", "“Don't go.”", "«Don't go.»"} < sources
    assert all(source[1:-1] == "Don't go." for source in sources)


def test_what_is_copied_stands_at_the_same_place_on_both_sides():
    text = ParallelText(["Come back."] * 300, ["Vuelve."] * 300)
    found = set()
    for source, target in augment(text, copied=1.0):
        match = re.fullmatch(r"(.*?) ?Come back(\.?) ?(.*)", source)
        before, mark, after = match.groups()
        assert bool(before) != bool(after)
        assert target == " ".join(filter(None, (before, f"Vuelve{mark}", after)))
        found.add(before or after)
    assert len(found) > 250
    normalize = normalizer("clean_nfkc")
    assert all(normalize(copied) == copied for copied in found)


def test_a_typing_error_changes_one_word_of_the_source():
    changed = {
        source
        for source, target in augment(
            ParallelText(["I sing."] * 200, ["x"] * 200), typing_errors=1.0
        )
    }
    assert {"I isng.", "I siing.", "I sin.", "I sung."} & changed
    assert all(re.fullmatch(r"I \w{3,5}\.", source) for source in changed)
    assert len(changed) > 8
    assert augment(ParallelText(["I am."], ["x"]), typing_errors=1.0)[0] == ("I am.", "x")


def test_shorthand_is_written_in_the_source_alone():
    pairs = ["Are you coming tomorrow?"] * 50, ["¿Vienes mañana?"] * 50
    changed = augment(ParallelText(*pairs), shorthand=1.0)
    assert set(changed.targets) == {"¿Vienes mañana?"}
    assert {"r u coming tmrw?", "are you coming tomorrow"} <= set(changed.sources)


def test_phrases_are_added_in_lower_case_and_with_a_capital():
    pairs = [("The cat.", "Le chat."), ("The dog.", "Le chien.")] * 30
    text = ParallelText(*zip(*pairs, strict=True))
    added = list(augment(text, phrases=0.5, unpunctuated=0.0))[len(text) :]
    assert len(added) == 30
    both = {("cat", "chat"), ("Cat", "Chat"), ("the dog", "le chien"), ("The dog", "Le chien")}
    assert both <= set(added)


def test_a_text_without_repeated_words_gets_no_phrases():
    assert list(augment(ParallelText(["a b"], ["c d"]), phrases=0.9)) == [("a b", "c d")]


def test_a_new_share_changes_nothing_that_others_draw():
    shares = {"joined": 0.5, "lower_cased": 0.5, "unpunctuated": 0.5}
    text = ParallelText([f"Sentence {i}." for i in range(50)], [f"Frase {i}." for i in range(50)])
    plain = list(augment(text, **shares, seed=7))
    both = list(augment(text, **shares, upper_cased=0.2, seed=7))
    assert [source.lower() for source, _ in both] == [source.lower() for source, _ in plain]
    assert both != plain


def test_phrases_of_a_text_without_spaces_are_missing_aloud(caplog):
    text = ParallelText(["我爱你"] * 4, ["I love you"] * 4, name="love.tsv")
    assert list(augment(text, phrases=0.9)) == list(text)
    assert "love.tsv: `phrases` adds nothing" in caplog.text


@pytest.mark.parametrize(
    ("pair", "unused"),
    [
        (
            ("我们在家", "we are at home"),
            "joined lower_cased unpunctuated upper_cased title_cased numbers names",
        ),
        (("I am Tom, 15 today.", "Ich bin Tom, heute 15."), ""),
        (("ja.", "yes."), "lower_cased typing_errors numbers names"),
    ],
)
def test_a_change_for_which_no_pair_is_fit_is_named(pair, unused, caplog):
    """It had no effect without a word."""
    text = ParallelText(*([side] * 3 for side in pair), name="a.tsv")
    names = "joined lower_cased unpunctuated upper_cased title_cased typing_errors numbers names"
    warn_of_unused_shares(text, **dict.fromkeys(names.split(), 0.5), copied=0.5, variants=2)
    assert {record.args[1] for record in caplog.records} == set(unused.split())
    for share in names.split():
        assert (list(augment(text, **{share: 1.0})) == list(text)) == (share in unused.split())


@pytest.mark.parametrize(
    ("source", "warns"), [("Der See ist kalt.", True), ("The lake is cold.", False)]
)
def test_english_shorthand_for_other_languages_is_noticed(source, warns, caplog):
    """`Der See` became `der c`, without a word."""
    text = ParallelText([source] * 100, ["x"] * 100, name="a.tsv")
    warn_of_unused_shares(text, shorthand=0.5)
    assert ("only 0 of 100 sources have a frequent English word" in caplog.text) == warns
