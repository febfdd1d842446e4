import re

import pytest

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.data.demo.sentences import SentenceWriter

COUNT = 20_000

EXPECTED = [
    ("The mother was young.", "Die Mutter war jung."),
    ("When do we thank a friend?", "Wann danken wir einem Freund?"),
    ("Has my boy already seen the bag?", "Hat mein Junge die Tasche schon gesehen?"),
]


@pytest.fixture(name="train", scope="module")
def training_text():
    return generate_demo_pairs(COUNT, seed=1)


@pytest.fixture(name="written", scope="module")
def many_sentences():
    writer = SentenceWriter(3)
    return [writer.sentence() for _ in range(30_000)]


def test_a_source_has_one_translation(written):
    translations = {}
    for english, german in written:
        assert translations.setdefault(english, german) == german


def test_past_is_only_written_where_english_shows_it(written):
    # "They read the book" may be present or past.
    read = [english for english, german in written if "gelesen" in german]
    assert len(read) > 50
    assert all("already" in english for english in read)


def test_sources_of_a_split_are_distinct(train):
    assert len(set(train.sources)) == len(train) == COUNT


def test_no_sentence_is_in_two_splits(train):
    validation = generate_demo_pairs(1000, seed=1, split="validation")
    # Another seed writes other sentences, of the same split.
    test = generate_demo_pairs(1000, seed=2, split="test")
    assert set(train.sources).isdisjoint(validation.sources)
    assert set(train.sources).isdisjoint(test.sources)
    assert set(validation.sources).isdisjoint(test.sources)


def test_sentences_do_not_run_out(written):
    # 30,000 draws give at least 27,000 sentences: few of them come up twice.
    assert len(set(written)) > 27_000
    long = [english for english, _ in written if len(english.split()) > 8]
    assert len(set(long)) > 0.999 * len(long)


def test_same_seed_gives_the_same_text_and_fewer_pairs_its_beginning(train):
    assert generate_demo_pairs(50, seed=1) == train[:50]
    assert generate_demo_pairs(50, seed=2) != train[:50]


def test_text_is_the_same_on_every_machine():
    assert list(generate_demo_pairs(3, seed=0)) == EXPECTED


def test_sentences_are_mostly_5_to_20_words_and_a_quarter_has_a_number(train):
    lengths = [len(source.split()) for source in train.sources]
    assert sum(5 <= length <= 20 for length in lengths) > 0.85 * COUNT
    assert max(lengths) <= 40
    number = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten)\b|teen|ty\b|half|past")
    assert 0.2 * COUNT < sum(bool(number.search(source)) for source in train.sources) < 0.32 * COUNT


def test_sentences_are_written_as_sentences(train):
    for english, german in train:
        assert english[0].isupper()
        assert german[0].isupper()
        assert english[-1] == german[-1]
        assert english[-1] in ".?"
        assert "  " not in english + german
        assert not re.search(r" [,.?]|[,.?]\S|\ba [aeiou]|\ban [^aeiou]", english)
        assert not re.search(r" [,.?]", german)


def test_all_constructions_occur(train):
    german = "\n".join(train.targets)
    for construction in (
        r", weil .* (hat|ist|sind|haben)\.",
        r", dass ",
        r"^Obwohl .*, ",
        r", wenn ",
        r"[Ww]ährend ",
        r"[Bb]evor ",
        r"^Gestern hat ",
        r" um halb ",
        r" Viertel vor ",
        r"tausend.*hundert.*und",
        r" zugemacht\.",
        r" an\.$",
        r"ankommt",
        r" keinen ",
        r" einem ",
        r"^Im ",
    ):
        assert re.search(construction, german, re.MULTILINE), construction


def test_no_source_sees_itself(train):
    for source in train.sources:
        assert not re.search(r"\bI \w+ (me|us)\b|\b[Ww]e \w+ (me|us)\b", source)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0, "dev"), "Received: split='dev'"),
        ((-1,), "Received: count=-1"),
        ((10**10,), "at most 10000000"),
    ],
)
def test_wrong_argument_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        generate_demo_pairs(*arguments)
