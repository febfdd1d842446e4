"""The nouns, adjectives and small words of the demo corpus, one German word for each."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun; `oblique` is the accusative and dative singular where it differs (n-declension)."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    oblique: str


class Pronoun(NamedTuple):
    """A pronoun or a name as subject or object."""

    english: str
    english_object: str
    german: str
    accusative: str
    dative: str
    agreement: int


# Agreement of a verb with its subject.
FIRST, THIRD, PLURAL = 0, 1, 2


def _nouns(table):
    nouns = []
    for line in table.strip().splitlines():
        fields = line.split()
        nouns.append(Noun(*fields, *([fields[2]] if len(fields) == 5 else [])))
    return nouns


NOUNS = {
    "people": _nouns(
        """
        man men Mann Männer m
        woman women Frau Frauen f
        child children Kind Kinder n
        boy boys Junge Jungen m Jungen
        girl girls Mädchen Mädchen n
        teacher teachers Lehrer Lehrer m
        doctor doctors Arzt Ärzte m
        friend friends Freund Freunde m
        mother mothers Mutter Mütter f
        brother brothers Bruder Brüder m
        sister sisters Schwester Schwestern f
        daughter daughters Tochter Töchter f
        """
    ),
    "animals": _nouns(
        """
        dog dogs Hund Hunde m
        cat cats Katze Katzen f
        horse horses Pferd Pferde n
        """
    ),
    "food": _nouns(
        """
        apple apples Apfel Äpfel m
        egg eggs Ei Eier n
        orange oranges Orange Orangen f
        cake cakes Kuchen Kuchen m
        potato potatoes Kartoffel Kartoffeln f
        """
    ),
    "texts": _nouns(
        """
        book books Buch Bücher n
        letter letters Brief Briefe m
        newspaper newspapers Zeitung Zeitungen f
        """
    ),
    "things": _nouns(
        """
        car cars Auto Autos n
        bicycle bicycles Fahrrad Fahrräder n
        table tables Tisch Tische m
        chair chairs Stuhl Stühle m
        lamp lamps Lampe Lampen f
        bag bags Tasche Taschen f
        hat hats Hut Hüte m
        flower flowers Blume Blumen f
        picture pictures Bild Bilder n
        key keys Schlüssel Schlüssel m
        """
    ),
    "doors": _nouns(
        """
        door doors Tür Türen f
        window windows Fenster Fenster n
        """
    ),
    "places": _nouns(
        """
        garden gardens Garten Gärten m
        kitchen kitchens Küche Küchen f
        house houses Haus Häuser n
        city cities Stadt Städte f
        school schools Schule Schulen f
        forest forests Wald Wälder m
        village villages Dorf Dörfer n
        hotel hotels Hotel Hotels n
        """
    ),
    "vehicles": _nouns(
        """
        train trains Zug Züge m
        bus buses Bus Busse m
        """
    ),
}
NOUNS["goods"] = NOUNS["food"] + NOUNS["texts"] + NOUNS["things"]
NOUNS["living"] = NOUNS["people"] + NOUNS["animals"]
NOUNS["any"] = NOUNS["living"] + NOUNS["goods"]

# English and the German stem that endings are added to.
ADJECTIVES = {
    "people": (("old", "alt"), ("young", "jung"), ("happy", "glücklich"), ("small", "klein")),
    "animals": (("old", "alt"), ("young", "jung"), ("black", "schwarz"), ("small", "klein")),
    "food": (("small", "klein"), ("big", "groß"), ("good", "gut"), ("cheap", "billig")),
    "texts": (("old", "alt"), ("new", "neu"), ("good", "gut"), ("long", "lang")),
    "things": (
        *(("old", "alt"), ("new", "neu"), ("red", "rot"), ("green", "grün"), ("blue", "blau")),
        *(("beautiful", "schön"), ("cheap", "billig"), ("big", "groß"), ("heavy", "schwer")),
    ),
    "doors": (("old", "alt"), ("new", "neu"), ("green", "grün"), ("heavy", "schwer")),
    "places": (("old", "alt"), ("new", "neu"), ("big", "groß"), ("beautiful", "schön")),
    "vehicles": (("old", "alt"), ("new", "neu"), ("red", "rot"), ("blue", "blau")),
}
ADJECTIVES_OF = {noun.english: ADJECTIVES[kind] for kind in ADJECTIVES for noun in NOUNS[kind]}

PRONOUNS = (
    Pronoun("I", "me", "ich", "mich", "mir", FIRST),
    Pronoun("he", "him", "er", "ihn", "ihm", THIRD),
    Pronoun("she", "her", "sie", "sie", "ihr", THIRD),
    Pronoun("we", "us", "wir", "uns", "uns", PLURAL),
    Pronoun("they", "them", "sie", "sie", "ihnen", PLURAL),
)
NAMES = tuple(
    Pronoun(name, name, name, name, name, THIRD) for name in ("Anna", "Peter", "Maria", "Paul")
)
POSSESSIVES = (("my", "mein"), ("our", "unser"), ("his", "sein"), ("their", "ihr"))

TIMES_PRESENT = (
    ("today", "heute"),
    ("every day", "jeden Tag"),
    ("on Monday", "am Montag"),
    ("on Sunday", "am Sonntag"),
    ("in the morning", "am Morgen"),
    ("in the evening", "am Abend"),
)
TIMES_PAST = (("yesterday", "gestern"), ("last week", "letzte Woche"))
TIMES_FUTURE = (("tomorrow", "morgen"), ("next week", "nächste Woche"))
FREQUENCIES = (("often", "oft"), ("always", "immer"), ("never", "nie"))
ALREADY = ("already", "schon")
QUESTION_WORDS = (("where", "wo"), ("when", "wann"), ("why", "warum"))
CONJUNCTIONS = (
    ("because", "weil"),
    ("although", "obwohl"),
    ("if", "wenn"),
    ("while", "während"),
    ("before", "bevor"),
)
CITIES = ("Berlin", "Hamburg", "Paris", "London")
# Prepositions: English, German, case.
PLACE_PREPOSITIONS = (
    ("in", "in", "dative"),
    ("behind", "hinter", "dative"),
    ("next to", "neben", "dative"),
)
GOAL_PREPOSITIONS = (("into", "in", "accusative"),)
COMPANY_PREPOSITIONS = (
    ("with", "mit", "dative"),
    ("for", "für", "accusative"),
    ("without", "ohne", "accusative"),
)
