"""Random sentences of the demo language, in English and German."""

import random

from aiayn_keras.data.demo import lexicon
from aiayn_keras.data.demo.grammar import (
    MAX_NUMBER,
    Clause,
    NounPhrase,
    english_number,
    english_time,
    german_number,
    german_time,
    prepositional_phrase,
)
from aiayn_keras.data.demo.lexicon import ADJECTIVES_OF, NOUNS
from aiayn_keras.data.parallel_text import SPLITS, ParallelText, split_of
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.text_files import MAX_LINES

# Share of all sentences held out for validation, and the same share for test.
_HELD_OUT = 0.05
_POSSESSIVES = tuple(english for english, _ in lexicon.POSSESSIVES)
_MINUTES = (0, 0, 5, 10, 15, 15, 20, 30, 30, 40, 45, 45, 50, 55)
_TIMES = {
    "present": lexicon.TIMES_PRESENT,
    "past": lexicon.TIMES_PAST + lexicon.TIMES_PRESENT[2:],
    "future": lexicon.TIMES_FUTURE + lexicon.TIMES_PRESENT[2:],
}


def generate_demo_pairs(count: int, seed: int = 0, split: str = "train") -> ParallelText:
    """Generates English sentences and their German translations.

    There are short main clauses, questions, subordinate clauses with the verb at the end, numbers
    up to 999,999, times of day, and three genders and three cases, with about 160 lemmas. The
    German sentence is determined by the English one: each source has exactly one correct
    translation, so a model can reach nearly 100 BLEU. There are more than 10^9 different sentences.

    A hash of the English sentence determines its split, independently of the seed, so no sentence
    is ever in two splits. All sources of a call are different, and the pairs for a smaller `count`
    are the first pairs for a larger one.

    Args:
        count: Number of pairs.
        seed: Seed of the sentences.
        split: `"train"`, `"validation"` or `"test"`.

    Returns:
        A `ParallelText` of `count` pairs.

    Raises:
        TypeError: If `count` is not an integer.
        ValueError: If `count` is negative or above 10 million, or `split` is unknown.

    Example:
    >>> generate_demo_pairs(3, seed=1)
    ParallelText(name='demo-train', pairs=3)
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {', '.join(SPLITS)}. Received: split={split!r}.")
    count = check_integer("count", count, 0, MAX_LINES)
    writer = SentenceWriter(f"aiayn_keras demo {seed} {split}")
    pairs = {}
    while len(pairs) < count:
        english, german = writer.sentence()
        if split_of(english, _HELD_OUT) == split:
            pairs[english] = german
    return ParallelText(pairs.keys(), pairs.values(), name=f"demo-{split}")


class SentenceWriter:
    """Generates random sentence pairs, the same ones on every machine for the same seed.

    Args:
        seed: Any seed that `random.Random` accepts.
    """

    def __init__(self, seed):
        # Only `random()` is guaranteed to return the same numbers in every Python version.
        self._random = random.Random(seed).random
        kinds = (
            (self._statement, 38),
            (self._question, 12),
            (self._subordinate, 20),
            (self._that_clause, 10),
            (self._coordination, 6),
            (self._price, 5),
            (self._quantity, 4),
            (self._age, 2),
            (self._bare_number, 2),
            (self._clock, 1),
        )
        self._kinds = [kind for kind, weight in kinds for _ in range(weight)]

    def sentence(self) -> tuple[str, str]:
        """Returns an English sentence and its German translation."""
        english, german, stop = self._pick(self._kinds)()
        return english[0].upper() + english[1:] + stop, german[0].upper() + german[1:] + stop

    def _pick(self, choices):
        return choices[int(self._random() * len(choices))]

    def _chance(self, probability):
        return self._random() < probability

    # === Phrases ===

    def _number(self, largest):
        """Draws a number of at least 2, equally often in [10, 100) and [100, 1000)."""
        if self._chance(0.5):
            largest = min(largest, 100)
        return min(int(2 * (largest / 2) ** self._random()), largest)

    def _count(self, largest):
        """Draws a number that takes a plural noun in both languages, unlike 101 or 2,101."""
        number = self._number(largest)
        return number + 1 if number % 100 == 1 else number

    def _noun_phrase(self, kind, counted=0.08, definite=False):
        noun = self._pick(NOUNS[kind])
        adjective = self._pick(ADJECTIVES_OF[noun.english]) if self._chance(0.3) else None
        if not definite and self._chance(counted):
            return NounPhrase(noun, "", adjective, plural=True, count=self._count(999))
        plural = self._chance(0.25)
        draw = self._random()
        if definite or draw < 0.5:
            determiner = "the"
        elif draw < 0.75:
            determiner = "" if plural else "a"
        else:
            determiner = self._pick(_POSSESSIVES)
        return NounPhrase(noun, determiner, adjective, plural)

    def _subject(self, kind="people"):
        draw = self._random()
        if draw < 0.3:
            return self._pick(lexicon.PRONOUNS)
        if draw < 0.45:
            return self._pick(lexicon.NAMES)
        return self._noun_phrase(kind, counted=0.03)

    def _object(self, kind, subject):
        if kind in ("people", "living") and self._chance(0.35):
            phrase = self._pick(lexicon.PRONOUNS + lexicon.NAMES)
            # "I see me" and "we help me" are not English.
            both = {phrase.english, getattr(subject, "english", "")}
            if len(both) == 2 and both != {"I", "we"}:
                return phrase
        return self._noun_phrase(kind)

    def _time(self, tense):
        if self._chance(0.25):
            hour, minute = 1 + int(self._random() * 12), self._pick(_MINUTES)
            return f"at {english_time(hour, minute)}", f"um {german_time(hour, minute)}"
        return self._pick(_TIMES.get(tense, lexicon.TIMES_PRESENT))

    def _place(self):
        if self._chance(0.2):
            city = self._pick(lexicon.CITIES)
            return f"in {city}", f"in {city}"
        place = self._noun_phrase("places", counted=0)
        return prepositional_phrase(self._pick(lexicon.PLACE_PREPOSITIONS), place)

    def _goal(self):
        if self._chance(0.3):
            city = self._pick(lexicon.CITIES)
            return f"to {city}", f"nach {city}"
        place = self._noun_phrase("places", counted=0)
        return prepositional_phrase(self._pick(lexicon.GOAL_PREPOSITIONS), place)

    # === Clauses ===

    def _tense(self):
        draw = self._random()
        if draw < 0.4:
            return "present"
        if draw < 0.65:
            return "past"
        if draw < 0.73:
            return "perfect"
        return "future" if draw < 0.82 else self._pick(tuple(lexicon.MODALS))

    def _clause(self, tense=None, timed=True, deniable=True):
        """Draws a clause, which may contain a time if `timed` and a negation if `deniable`."""
        tense = tense or self._tense()
        draw = self._random()
        if draw < 0.12 and tense in ("present", "past"):
            clause = self._being(tense)
        elif draw < 0.55:
            verb = self._pick(lexicon.TRANSITIVE)
            clause = Clause(self._subject(), verb, tense)
            clause.direct = self._object(verb.objects, clause.subject)
        elif draw < 0.67:
            verb = self._pick(lexicon.GIVING)
            clause = Clause(self._subject(), verb, tense, direct=self._noun_phrase("goods"))
            clause.indirect = self._object("people", clause.subject)
        elif draw < 0.82:
            clause = Clause(self._subject("living"), self._pick(lexicon.INTRANSITIVE), tense)
        elif draw < 0.94:
            clause = Clause(self._subject("living"), self._pick(lexicon.MOTION), tense)
            clause.place = self._goal()
        else:
            arriving = self._noun_phrase("vehicles", definite=True)
            clause = Clause(arriving, lexicon.ARRIVING[0], tense)
        self._decorate(clause, timed, deniable)
        return clause

    def _being(self, tense):
        kind = self._pick(("people", "goods", "places"))
        subject = self._noun_phrase(kind, counted=0, definite=True)
        predicate = self._pick(ADJECTIVES_OF[subject.noun.english])
        if subject.adjective:
            subject = NounPhrase(subject.noun, "the", None, subject.plural)
        return Clause(subject, tense=tense, predicate=predicate)

    def _decorate(self, clause, timed, deniable):
        """Adds a time, a place, a frequency, company or a negation."""
        verb, tense = clause.verb, clause.tense
        if tense == "past" and verb and verb.english_past == verb.english:
            # In "they read", the English tense is ambiguous, so the German one is undetermined.
            clause.tense = tense = "perfect"
        if tense == "perfect":
            clause.adverb = lexicon.ALREADY
            return
        if timed and verb and self._chance(0.4):
            clause.time = self._time(tense)
        if verb and verb.english != "arrive":
            if clause.direct is None and self._chance(0.25):
                preposition = self._pick(lexicon.COMPANY_PREPOSITIONS)
                company = self._object("people", clause.subject)
                clause.company = prepositional_phrase(preposition, company)
            if clause.indirect is None and not clause.place[0] and self._chance(0.3):
                clause.place = self._place()
        counted = getattr(clause.direct, "count", None) is not None
        deniable = deniable and tense in ("present", "past", "future")
        if deniable and not counted and not clause.indirect and self._chance(0.12):
            clause.negated = True
        elif tense in ("present", "past") and not clause.time[0] and self._chance(0.15):
            clause.adverb = self._pick(lexicon.FREQUENCIES)

    # === Sentences: English, German, closing mark ===

    def _statement(self):
        clause = self._clause()
        if clause.time[0] and self._chance(0.45):
            (english, german), clause.time = clause.time, ("", "")
        elif clause.place[0].startswith(("in ", "behind", "next")) and self._chance(0.3):
            (english, german), clause.place = clause.place, ("", "")
        else:
            return clause.english(), clause.german(), "."
        return f"{english} {clause.english()}", f"{german} {clause.german('question')}", "."

    def _question(self):
        clause = self._clause()
        english, german = clause.english("question"), clause.german("question")
        plain = not clause.time[0] and not clause.place[0] and clause.tense != "perfect"
        if plain and clause.verb and self._chance(0.5):
            word = self._pick(lexicon.QUESTION_WORDS)
            return f"{word[0]} {english}", f"{word[1]} {german}", "?"
        return english, german, "?"

    def _subordinate(self):
        conjunction, german_conjunction = self._pick(lexicon.CONJUNCTIONS)
        tense = "past" if conjunction != "if" and self._chance(0.35) else "present"
        main = self._clause(tense, timed=False)
        side = self._clause(tense, deniable=conjunction not in ("before", "while"))
        english = f"{conjunction} {side.english()}"
        german = f"{german_conjunction} {side.german('subordinate')}"
        if self._chance(0.35):
            return f"{english}, {main.english()}", f"{german}, {main.german('question')}", "."
        return f"{main.english()} {english}", f"{main.german()}, {german}", "."

    def _that_clause(self):
        tense = "past" if self._chance(0.3) else "present"
        thinking = Clause(self._subject(), self._pick(lexicon.THINKING), tense)
        side = self._clause()
        german = f"{thinking.german()}, dass {side.german('subordinate')}"
        return f"{thinking.english()} that {side.english()}", german, "."

    def _coordination(self):
        first, second = self._clause(timed=False), self._clause(timed=False)
        english, german = self._pick((("and", " und"), ("but", ", aber")))
        return (
            f"{first.english()} {english} {second.english()}",
            f"{first.german()}{german} {second.german()}",
            ".",
        )

    def _price(self):
        goods = self._noun_phrase(self._pick(("goods", "vehicles", "places")), 0, definite=True)
        number = self._count(MAX_NUMBER)
        english, german = ("cost", "kosten") if goods.plural else ("costs", "kostet")
        return (
            f"{goods.english()} {english} {english_number(number)} euros",
            f"{goods.german('nominative')} {german} {german_number(number)} Euro",
            ".",
        )

    def _quantity(self):
        noun = self._pick(NOUNS["any"])
        counted = NounPhrase(noun, "", None, plural=True, count=self._count(MAX_NUMBER))
        place = self._place()
        return (
            f"there are {counted.english()} {place[0]}",
            f"es gibt {counted.german('accusative')} {place[1]}",
            ".",
        )

    def _age(self):
        person = self._pick(NOUNS["people"])
        subject = NounPhrase(person, self._pick(("the", *_POSSESSIVES)))
        years = 18 + int(self._random() * 82)
        return (
            f"{subject.english()} is {english_number(years)} years old",
            f"{subject.german('nominative')} ist {german_number(years)} Jahre alt",
            ".",
        )

    def _bare_number(self):
        number = self._number(MAX_NUMBER + 2) - 2
        return (
            f"the number is {english_number(number)}",
            f"die Zahl ist {german_number(number)}",
            ".",
        )

    def _clock(self):
        hour, minute = 1 + int(self._random() * 12), self._pick(_MINUTES)
        return f"it is {english_time(hour, minute)}", f"es ist {german_time(hour, minute)}", "."
