"""The grammar of the demo language: numbers, phrases and clauses in English and German.

In English, the verb is second and its objects follow. In German, the finite verb is second in a
main clause, first in a question and last in a subordinate clause, and the rest of the verb is at
the end: `hat ... gekauft`, `kann ... kaufen`, `kommt ... an`.
"""

import dataclasses

from aiayn_keras.data.demo.lexicon import (
    FORMS_OF_HABEN,
    FORMS_OF_SEIN,
    FORMS_OF_WERDEN,
    MODALS,
    PLURAL,
    POSSESSIVES,
    THIRD,
    Noun,
    Pronoun,
    Verb,
)

MAX_NUMBER = 999_999

_ENGLISH_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_ENGLISH_TENS = (
    *("", "", "twenty", "thirty", "forty", "fifty"),
    *("sixty", "seventy", "eighty", "ninety"),
)
_GERMAN_ONES = (
    *("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    *("zehn", "elf", "zwölf", "dreizehn", "vierzehn"),
    *("fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_GERMAN_TENS = (
    *("", "", "zwanzig", "dreißig", "vierzig", "fünfzig"),
    *("sechzig", "siebzig", "achtzig", "neunzig"),
)
# By case, then gender; "p" is the plural.
_ARTICLES = {
    "nominative": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
}
# Endings of ein, kein and the possessives.
_EIN_ENDINGS = {
    "nominative": {"m": "", "f": "e", "n": "", "p": "e"},
    "accusative": {"m": "en", "f": "e", "n": "", "p": "e"},
    "dative": {"m": "em", "f": "er", "n": "em", "p": "en"},
}
# Endings of an adjective after der/die/das, after ein/kein/mein, and without either (plural).
_WEAK_ENDINGS = {
    "nominative": {"m": "e", "f": "e", "n": "e", "p": "en"},
    "accusative": {"m": "en", "f": "e", "n": "e", "p": "en"},
    "dative": {"m": "en", "f": "en", "n": "en", "p": "en"},
}
_MIXED_ENDINGS = {
    "nominative": {"m": "er", "f": "e", "n": "es", "p": "en"},
    "accusative": {"m": "en", "f": "e", "n": "es", "p": "en"},
    "dative": {"m": "en", "f": "en", "n": "en", "p": "en"},
}
_STRONG_ENDINGS = {"nominative": {"p": "e"}, "accusative": {"p": "e"}, "dative": {"p": "en"}}
_EIN_STEMS = {"a": "ein", "no": "kein", **dict(POSSESSIVES)}
_CONTRACTIONS = {"in dem": "im", "in das": "ins"}
_PAST_OF_SEIN = ("war", "war", "waren")


def english_number(number: int) -> str:
    """Spells a whole number from 0 to 999,999 in English, with the British "and".

    Example:
    >>> english_number(42_705)
    'forty-two thousand seven hundred and five'
    """
    _check_number(number)
    if number < 20:
        return _ENGLISH_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _ENGLISH_TENS[tens] + (f"-{_ENGLISH_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        words = f"{_ENGLISH_ONES[hundreds]} hundred"
        return f"{words} and {english_number(rest)}" if rest else words
    thousands, rest = divmod(number, 1000)
    words = f"{english_number(thousands)} thousand"
    if not rest:
        return words
    return f"{words} {'and ' if rest < 100 else ''}{english_number(rest)}"


def german_number(number: int) -> str:
    """Spells a whole number from 0 to 999,999 as a single German word, with ones before tens.

    Example:
    >>> german_number(42_705)
    'zweiundvierzigtausendsiebenhundertfünf'
    """
    _check_number(number)
    if number < 20:
        return _GERMAN_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return (f"{_german_stem(ones)}und" if ones else "") + _GERMAN_TENS[tens]
    size, unit = (1000, "tausend") if number >= 1000 else (100, "hundert")
    count, rest = divmod(number, size)
    return _german_stem(count) + unit + (german_number(rest) if rest else "")


def _german_stem(number):
    """Spells a number as the first part of a longer word: `ein`, `einhundertein`, `zwei`."""
    word = german_number(number)
    return word.removesuffix("s") if number % 100 == 1 else word


def _check_number(number):
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"`number` must lie in [0, {MAX_NUMBER}]. Received: number={number}.")


def english_time(hour: int, minute: int) -> str:
    """Returns a time of day in spoken English.

    Args:
        hour: From 1 to 12.
        minute: A multiple of 5 from 0 to 55, but not 25 or 35.

    Example:
    >>> english_time(3, 0), english_time(3, 30), english_time(3, 45)
    ("three o'clock", 'half past three', 'a quarter to four')
    """
    _check_time(hour, minute)
    if minute == 0:
        return f"{english_number(hour)} o'clock"
    if minute <= 30:
        before = {15: "a quarter", 30: "half"}.get(minute) or english_number(minute)
        return f"{before} past {english_number(hour)}"
    before = "a quarter" if minute == 45 else english_number(60 - minute)
    return f"{before} to {english_number(hour % 12 + 1)}"


def german_time(hour: int, minute: int) -> str:
    """Returns a time of day in spoken German, in which half past three is "half four".

    Args:
        hour: From 1 to 12.
        minute: A multiple of 5 from 0 to 55, but not 25 or 35.

    Example:
    >>> german_time(3, 0), german_time(3, 30), german_time(3, 45)
    ('drei Uhr', 'halb vier', 'Viertel vor vier')
    """
    _check_time(hour, minute)
    following = german_number(hour % 12 + 1)
    if minute == 0:
        return f"{_german_stem(hour)} Uhr"
    if minute == 30:
        return f"halb {following}"
    if minute < 30:
        before = "Viertel" if minute == 15 else german_number(minute)
        return f"{before} nach {german_number(hour)}"
    before = "Viertel" if minute == 45 else german_number(60 - minute)
    return f"{before} vor {following}"


def _check_time(hour, minute):
    if not 1 <= hour <= 12 or minute not in (0, 5, 10, 15, 20, 30, 40, 45, 50, 55):
        raise ValueError(
            "`hour` must lie in [1, 12] and `minute` must be a multiple of 5, but not 25 or 35. "
            f"Received: hour={hour}, minute={minute}."
        )


@dataclasses.dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase, such as `the three old men` and `die drei alten Männer`.

    Args:
        noun: The noun.
        determiner: `"the"`, `"a"`, a possessive, or `""` (plural only).
        adjective: English word and German stem, or `None`.
        plural: Whether the noun is in the plural.
        count: A number before the noun, or `None`; a number requires the plural.
    """

    noun: Noun
    determiner: str = "the"
    adjective: tuple[str, str] | None = None
    plural: bool = False
    count: int | None = None

    @property
    def agreement(self) -> int:
        """The form of a verb with this subject."""
        return PLURAL if self.plural else THIRD

    @property
    def definite(self) -> bool:
        """True if German puts this before `nicht` and adverbs such as `oft`."""
        return self.determiner not in ("", "a")

    def english(self) -> str:
        """The phrase in English."""
        words = [english_number(self.count)] if self.count is not None else []
        words += [self.adjective[0]] if self.adjective else []
        words.append(self.noun.english_plural if self.plural else self.noun.english)
        determiner = self.determiner
        if determiner == "a" and words[0][0] in "aeiou":
            determiner = "an"
        return _join(determiner, *words)

    def german(self, case: str, negated: bool = False) -> str:
        """The phrase in German; `negated` turns `ein` or nothing into `kein`."""
        gender = "p" if self.plural else self.noun.gender
        determiner = "no" if negated and not self.definite else self.determiner
        if determiner == "the":
            article, endings = _ARTICLES[case][gender], _WEAK_ENDINGS
        elif determiner:
            article = _EIN_STEMS[determiner] + _EIN_ENDINGS[case][gender]
            endings = _MIXED_ENDINGS
        else:
            article, endings = "", _STRONG_ENDINGS
        count = german_number(self.count) if self.count is not None else ""
        adjective = self.adjective[1] + endings[case][gender] if self.adjective else ""
        return _join(article, count, adjective, self._german_noun(case))

    def _german_noun(self, case):
        if not self.plural:
            return self.noun.german if case == "nominative" else self.noun.oblique
        noun = self.noun.german_plural
        return noun + "n" if case == "dative" and noun[-1] not in "ns" else noun


def _english_object(phrase: NounPhrase | Pronoun) -> str:
    """A phrase or pronoun as an English object."""
    return phrase.english_object if isinstance(phrase, Pronoun) else phrase.english()


def _english_subject(phrase: NounPhrase | Pronoun) -> str:
    """A phrase or pronoun as an English subject."""
    return phrase.english if isinstance(phrase, Pronoun) else phrase.english()


def _german_phrase(phrase: NounPhrase | Pronoun, case: str, negated: bool = False) -> str:
    """A phrase or pronoun in German."""
    if not isinstance(phrase, Pronoun):
        return phrase.german(case, negated)
    forms = {"nominative": phrase.german, "accusative": phrase.accusative, "dative": phrase.dative}
    return forms[case]


def prepositional_phrase(preposition, phrase: NounPhrase | Pronoun) -> tuple[str, str]:
    """A preposition `(English, German, case)` with its phrase, in English and German."""
    english, german, case = preposition
    german = f"{german} {_german_phrase(phrase, case)}"
    for long, short in _CONTRACTIONS.items():
        if german.startswith(long + " "):
            german = short + german.removeprefix(long)
    return f"{english} {_english_object(phrase)}", german


@dataclasses.dataclass(slots=True)
class Clause:
    """The parts of a clause, from which sentences with different word order are built.

    Args:
        subject: The subject.
        verb: The verb, or `None` for "to be" with `predicate`.
        tense: `"present"`, `"past"` (German perfect, but `war`), `"perfect"`, `"future"`, or a
            modal verb of `MODALS`.
        indirect: The dative object of a verb of giving.
        direct: The object, in the case that the verb governs.
        predicate: Adjective after "to be": English, German.
        adverb: `often`, `already` and the like: English, German.
        time: Time: English, German.
        company: `with my brother`: English, German.
        place: Place or destination: English, German.
        negated: Whether the clause is negated.
    """

    subject: NounPhrase | Pronoun
    verb: Verb | None = None
    tense: str = "present"
    indirect: NounPhrase | Pronoun | None = None
    direct: NounPhrase | Pronoun | None = None
    predicate: tuple[str, str] | None = None
    adverb: tuple[str, str] = ("", "")
    time: tuple[str, str] = ("", "")
    company: tuple[str, str] = ("", "")
    place: tuple[str, str] = ("", "")
    negated: bool = False

    def english(self, order: str = "statement") -> str:
        """The clause in English, as a `"statement"` (or subordinate) or a `"question"`."""
        question = order == "question"
        auxiliary, main = self._english_verb(support=question or self.negated)
        subject = _english_subject(self.subject)
        start = (auxiliary, subject) if question else (subject, auxiliary)
        objects = [_english_object(phrase) for phrase in (self.indirect, self.direct) if phrase]
        negation = "not" if self.negated else ""
        tail = (self.company[0], self.place[0], self.time[0])
        return _join(*start, negation, self.adverb[0], main, *objects, *tail)

    def german(self, order: str = "statement") -> str:
        """The clause in German.

        Args:
            order: `"statement"` (verb second after the subject), `"question"` (verb first; also
                after a fronted adverbial) or `"subordinate"` (verb last).
        """
        subject = _german_phrase(self.subject, "nominative")
        finite, rest = self._german_verb()
        middle = self._german_middle()
        if order == "statement":
            return _join(subject, finite, *middle, rest)
        if order == "question":
            return _join(finite, subject, *middle, rest)
        if self.tense == "present" and self.verb:
            return _join(subject, *middle, rest + finite)
        return _join(subject, *middle, rest, finite)

    def _english_verb(self, support):
        """Returns the auxiliary (`do` if `support` requires it) and the main verb."""
        agreement, verb = self.subject.agreement, self.verb
        third = agreement == THIRD
        if verb is None:
            forms = ("am", "is", "are") if self.tense == "present" else ("was", "was", "were")
            return forms[agreement], self.predicate[0]
        if self.tense == "perfect":
            return ("has" if third else "have"), verb.english_participle
        if self.tense == "future":
            return "will", verb.english
        if self.tense == "past":
            return ("did", verb.english) if support else ("", verb.english_past)
        base, finite = verb.english, verb.english_third if third else verb.english
        if self.tense == "want to":
            base = f"want to {verb.english}"
            finite = f"wants to {verb.english}" if third else base
        elif self.tense != "present":
            return self.tense, base
        return (("does" if third else "do"), base) if support else ("", finite)

    def _german_verb(self):
        """Returns the finite verb, and the rest of the verb at the end of the clause."""
        agreement, verb = self.subject.agreement, self.verb
        if verb is None:
            forms = FORMS_OF_SEIN if self.tense == "present" else _PAST_OF_SEIN
            return forms[agreement], self.predicate[1]
        if self.tense == "present":
            return verb.german[agreement], verb.prefix
        if self.tense in ("past", "perfect"):
            forms = FORMS_OF_SEIN if verb.auxiliary == "sein" else FORMS_OF_HABEN
            return forms[agreement], verb.participle
        forms = FORMS_OF_WERDEN if self.tense == "future" else MODALS[self.tense]
        return forms[agreement], verb.prefix + verb.german[PLURAL]

    def _german_middle(self):
        """Returns the words between the parts of the verb, in the order of German grammar."""
        pronouns, definite, indefinite = [], [], []
        negation = "nicht" if self.negated else ""
        for phrase, case in ((self.indirect, "dative"), (self.direct, None)):
            if phrase is None:
                continue
            words = _german_phrase(phrase, case or self.verb.case, self.negated)
            if isinstance(phrase, Pronoun):
                pronouns.append(words)
            elif phrase.definite:
                definite.append(words)
            else:
                indefinite.append(words)
                negation = ""
        return (
            *pronouns,
            self.time[1],
            *definite,
            negation or self.adverb[1],
            *indefinite,
            self.company[1],
            self.place[1],
        )


def _join(*words):
    return " ".join(word for word in words if word)
