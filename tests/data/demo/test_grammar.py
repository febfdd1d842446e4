import dataclasses

import pytest

from aiayn_keras.data.demo.grammar import Clause, NounPhrase, prepositional_phrase
from aiayn_keras.data.demo.lexicon import (
    ARRIVING,
    GIVING,
    INTRANSITIVE,
    MOTION,
    NAMES,
    NOUNS,
    PRONOUNS,
    TRANSITIVE,
)

NOUN = {noun.english: noun for nouns in NOUNS.values() for noun in nouns}
VERB = {verb.english: verb for verb in (*TRANSITIVE, *GIVING, *INTRANSITIVE, *MOTION, *ARRIVING)}
ME, HE, SHE, WE, THEY = PRONOUNS
ANNA = NAMES[0]


def phrase(text, count=None):
    """`"the old:alt man"`: determiner (`-` for none), adjectives, noun (`*` for the plural)."""
    determiner, *adjective, noun = text.split()
    adjective = tuple(adjective[0].split(":")) if adjective else None
    plural = noun.endswith("*")
    determiner = "" if determiner == "-" else determiner
    return NounPhrase(NOUN[noun.rstrip("*")], determiner, adjective, plural, count)


PHRASES = [
    ("the man", "the man", "der Mann", "den Mann", "dem Mann"),
    ("the woman", "the woman", "die Frau", "die Frau", "der Frau"),
    ("the child", "the child", "das Kind", "das Kind", "dem Kind"),
    ("the children", "the children", "die Kinder", "die Kinder", "den Kindern"),
    ("a boy", "a boy", "ein Junge", "einen Jungen", "einem Jungen"),
    (
        "the red:rot hat",
        "the red hat",
        "der rote Hut",
        "den roten Hut",
        "dem roten Hut",
    ),
    ("a red:rot hat", "a red hat", "ein roter Hut", "einen roten Hut", "einem roten Hut"),
    (
        "a red:rot flower",
        "a red flower",
        "eine rote Blume",
        "eine rote Blume",
        "einer roten Blume",
    ),
    ("a red:rot car", "a red car", "ein rotes Auto", "ein rotes Auto", "einem roten Auto"),
    ("- old:alt men", "old men", "alte Männer", "alte Männer", "alten Männern"),
    (
        "our old:alt horses",
        "our old horses",
        "unsere alten Pferde",
        "unsere alten Pferde",
        "unseren alten Pferden",
    ),
    ("my teacher", "my teacher", "mein Lehrer", "meinen Lehrer", "meinem Lehrer"),
    ("their apple", "their apple", "ihr Apfel", "ihren Apfel", "ihrem Apfel"),
    ("- cars", "cars", "Autos", "Autos", "Autos"),
    ("the gardens", "the gardens", "die Gärten", "die Gärten", "den Gärten"),
]
PLURALS = {noun.english_plural: noun.english for noun in NOUN.values()}


@pytest.mark.parametrize(("text", "english", "nominative", "accusative", "dative"), PHRASES)
def test_phrase_is_declined_as_by_hand(text, english, nominative, accusative, dative):
    *start, noun = text.split()
    noun = PLURALS[noun] + "*" if noun in PLURALS else noun
    words = phrase(" ".join([*start, noun]))
    assert words.english() == english
    assert words.german("nominative") == nominative
    assert words.german("accusative") == accusative
    assert words.german("dative") == dative


def test_article_sounds_right_before_a_vowel():
    assert phrase("a apple").english() == "an apple"
    assert phrase("a old:alt car").english() == "an old car"
    assert phrase("a red:rot apple").english() == "a red apple"


def test_count_stands_before_a_strong_adjective():
    words = phrase("- old:alt book*", count=305)
    assert words.english() == "three hundred and five old books"
    assert words.german("dative") == "dreihundertfünf alten Büchern"


def test_preposition_melts_into_its_article():
    garden = phrase("the garden")
    assert prepositional_phrase(("in", "in", "dative"), garden)[1] == "im Garten"
    assert prepositional_phrase(("into", "in", "accusative"), garden)[1] == "in den Garten"
    house = phrase("the old:alt house")
    assert prepositional_phrase(("into", "in", "accusative"), house)[1] == "ins alte Haus"
    school = phrase("the school")
    assert prepositional_phrase(("in", "in", "dative"), school)[1] == "in der Schule"


TODAY, YESTERDAY = ("today", "heute"), ("yesterday", "gestern")
OFTEN, ALREADY = ("often", "oft"), ("already", "schon")
IN_BERLIN = ("in Berlin", "in Berlin")

CLAUSES = [
    (
        Clause(phrase("the man"), VERB["buy"], direct=phrase("a old:alt car"), time=TODAY),
        "the man buys an old car today",
        "der Mann kauft heute ein altes Auto",
        "der Mann heute ein altes Auto kauft",
    ),
    (
        Clause(phrase("the woman*"), VERB["get up"], time=TODAY),
        "the women get up today",
        "die Frauen stehen heute auf",
        "die Frauen heute aufstehen",
    ),
    (
        Clause(phrase("the train"), VERB["arrive"], "past", time=YESTERDAY),
        "the train arrived yesterday",
        "der Zug ist gestern angekommen",
        "der Zug gestern angekommen ist",
    ),
    (
        Clause(SHE, VERB["call"], "must", direct=HE),
        "she must call him",
        "sie muss ihn anrufen",
        "sie ihn anrufen muss",
    ),
    (
        Clause(ME, VERB["help"], direct=phrase("my brother")),
        "I help my brother",
        "ich helfe meinem Bruder",
        "ich meinem Bruder helfe",
    ),
    (
        Clause(WE, VERB["give"], "future", phrase("the child"), phrase("a apple")),
        "we will give the child an apple",
        "wir werden dem Kind einen Apfel geben",
        "wir dem Kind einen Apfel geben werden",
    ),
    (
        Clause(HE, VERB["show"], indirect=SHE, direct=phrase("the picture"), time=TODAY),
        "he shows her the picture today",
        "er zeigt ihr heute das Bild",
        "er ihr heute das Bild zeigt",
    ),
    (
        Clause(ANNA, VERB["read"], "perfect", direct=phrase("the letter"), adverb=ALREADY),
        "Anna has already read the letter",
        "Anna hat den Brief schon gelesen",
        "Anna den Brief schon gelesen hat",
    ),
    (
        Clause(THEY, VERB["eat"], direct=phrase("- egg*"), adverb=OFTEN),
        "they often eat eggs",
        "sie essen oft Eier",
        "sie oft Eier essen",
    ),
    (
        Clause(HE, VERB["find"], direct=phrase("a key"), negated=True),
        "he does not find a key",
        "er findet keinen Schlüssel",
        "er keinen Schlüssel findet",
    ),
    (
        Clause(HE, VERB["find"], "past", direct=phrase("his key"), negated=True),
        "he did not find his key",
        "er hat seinen Schlüssel nicht gefunden",
        "er seinen Schlüssel nicht gefunden hat",
    ),
    (
        Clause(SHE, VERB["work"], "want to"),
        "she wants to work",
        "sie will arbeiten",
        "sie arbeiten will",
    ),
    (
        Clause(ME, VERB["sleep"], negated=True, place=IN_BERLIN),
        "I do not sleep in Berlin",
        "ich schlafe nicht in Berlin",
        "ich nicht in Berlin schlafe",
    ),
    (
        Clause(phrase("the car*"), predicate=("red", "rot")),
        "the cars are red",
        "die Autos sind rot",
        "die Autos rot sind",
    ),
    (
        Clause(phrase("the girl"), tense="past", predicate=("happy", "glücklich"), adverb=OFTEN),
        "the girl was often happy",
        "das Mädchen war oft glücklich",
        "das Mädchen oft glücklich war",
    ),
    (
        Clause(phrase("- dog*", 2), VERB["run"], "past", place=("into a house", "in ein Haus")),
        "two dogs ran into a house",
        "zwei Hunde sind in ein Haus gelaufen",
        "zwei Hunde in ein Haus gelaufen sind",
    ),
    (
        Clause(WE, VERB["invite"], direct=phrase("the young:jung doctor")),
        "we invite the young doctor",
        "wir laden den jungen Arzt ein",
        "wir den jungen Arzt einladen",
    ),
    (
        Clause(ANNA, VERB["dance"], "can", company=("with her", "mit ihr"), place=IN_BERLIN),
        "Anna can dance with her in Berlin",
        "Anna kann mit ihr in Berlin tanzen",
        "Anna mit ihr in Berlin tanzen kann",
    ),
]


@pytest.mark.parametrize(("clause", "english", "german", "subordinate"), CLAUSES)
def test_clause_is_translated_as_by_hand(clause, english, german, subordinate):
    assert clause.english() == english
    assert clause.german() == german
    assert clause.german("subordinate") == subordinate


QUESTIONS = [
    (0, "does the man buy an old car today", "kauft der Mann heute ein altes Auto"),
    (2, "did the train arrive yesterday", "ist der Zug gestern angekommen"),
    (3, "must she call him", "muss sie ihn anrufen"),
    (7, "has Anna already read the letter", "hat Anna den Brief schon gelesen"),
    (9, "does he not find a key", "findet er keinen Schlüssel"),
    (11, "does she want to work", "will sie arbeiten"),
    (13, "are the cars red", "sind die Autos rot"),
]


@pytest.mark.parametrize(("number", "english", "german"), QUESTIONS)
def test_question_puts_the_finite_verb_first(number, english, german):
    clause = CLAUSES[number][0]
    assert clause.english("question") == english
    assert clause.german("question") == german


def test_clause_is_not_changed_by_writing_it():
    clause = CLAUSES[5][0]
    before = dataclasses.replace(clause)
    clause.english("question")
    clause.german("subordinate")
    assert clause == before
