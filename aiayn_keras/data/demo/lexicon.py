"""The words of the demo language, each with exactly one German translation."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun; `oblique` is its accusative and dative singular, for the n-declension."""

    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    oblique: str


class Pronoun(NamedTuple):
    """A pronoun or name, as a subject or object."""

    english: str
    english_object: str
    german: str
    accusative: str
    dative: str
    agreement: int


# Agreement of a verb with its subject.
_FIRST, THIRD, PLURAL = 0, 1, 2


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
_ADJECTIVES = {
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
ADJECTIVES_OF = {noun.english: _ADJECTIVES[kind] for kind in _ADJECTIVES for noun in NOUNS[kind]}

PRONOUNS = (
    Pronoun("I", "me", "ich", "mich", "mir", _FIRST),
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


class Verb(NamedTuple):
    """A verb, with its German present forms for ich, er/sie and wir/sie (the infinitive).

    `prefix` is a separable prefix (`an` in `ankommen`), `case` the case of the object, and
    `objects` the kind of nouns that make sense as objects.
    """

    english: str
    english_third: str
    english_past: str
    english_participle: str
    german: tuple[str, str, str]
    participle: str
    auxiliary: str
    prefix: str
    case: str
    objects: str


def _verbs(table, case="", objects="", auxiliary="haben"):
    """Rows: base, third person, past, participle; ich, er, infinitive (`prefix+`), participle."""
    verbs = []
    for row in table.strip().splitlines():
        *english, first, third, infinitive, participle = row.replace("|", " ").split()
        prefix, _, infinitive = infinitive.rpartition("+")
        english = [form.replace("_", " ") for form in english]
        german = (first, third, infinitive)
        verbs.append(Verb(*english, german, participle, auxiliary, prefix, case, objects))
    return verbs


INTRANSITIVE = _verbs(
    """
    sleep sleeps slept slept | schlafe schläft schlafen geschlafen
    work works worked worked | arbeite arbeitet arbeiten gearbeitet
    sing sings sang sung | singe singt singen gesungen
    dance dances danced danced | tanze tanzt tanzen getanzt
    wait waits waited waited | warte wartet warten gewartet
    laugh laughs laughed laughed | lache lacht lachen gelacht
    play plays played played | spiele spielt spielen gespielt
    """
) + _verbs("get_up gets_up got_up got_up | stehe steht auf+stehen aufgestanden", auxiliary="sein")
ARRIVING = _verbs(
    "arrive arrives arrived arrived | komme kommt an+kommen angekommen", auxiliary="sein"
)
MOTION = _verbs(
    """
    go goes went gone | gehe geht gehen gegangen
    drive drives drove driven | fahre fährt fahren gefahren
    run runs ran run | laufe läuft laufen gelaufen
    """,
    auxiliary="sein",
)
TRANSITIVE = (
    _verbs(
        """
        buy buys bought bought | kaufe kauft kaufen gekauft
        sell sells sold sold | verkaufe verkauft verkaufen verkauft
        need needs needed needed | brauche braucht brauchen gebraucht
        """,
        "accusative",
        "goods",
    )
    + _verbs("eat eats ate eaten | esse isst essen gegessen", "accusative", "food")
    + _verbs(
        """
        read reads read read | lese liest lesen gelesen
        write writes wrote written | schreibe schreibt schreiben geschrieben
        """,
        "accusative",
        "texts",
    )
    + _verbs(
        """
        see sees saw seen | sehe sieht sehen gesehen
        find finds found found | finde findet finden gefunden
        """,
        "accusative",
        "any",
    )
    + _verbs(
        """
        open opens opened opened | mache macht auf+machen aufgemacht
        close closes closed closed | mache macht zu+machen zugemacht
        """,
        "accusative",
        "doors",
    )
    + _verbs(
        """
        visit visits visited visited | besuche besucht besuchen besucht
        invite invites invited invited | lade lädt ein+laden eingeladen
        call calls called called | rufe ruft an+rufen angerufen
        """,
        "accusative",
        "people",
    )
    + _verbs(
        """
        look_for looks_for looked_for looked_for | suche sucht suchen gesucht
        love loves loved loved | liebe liebt lieben geliebt
        """,
        "accusative",
        "living",
    )
    + _verbs(
        """
        help helps helped helped | helfe hilft helfen geholfen
        thank thanks thanked thanked | danke dankt danken gedankt
        """,
        "dative",
        "people",
    )
)
GIVING = _verbs(
    """
    give gives gave given | gebe gibt geben gegeben
    show shows showed shown | zeige zeigt zeigen gezeigt
    bring brings brought brought | bringe bringt bringen gebracht
    """,
    "accusative",
    "goods",
)
THINKING = _verbs(
    """
    know knows knew known | weiß weiß wissen gewusst
    say says said said | sage sagt sagen gesagt
    hope hopes hoped hoped | hoffe hofft hoffen gehofft
    """
)

FORMS_OF_HABEN = ("habe", "hat", "haben")
FORMS_OF_SEIN = ("bin", "ist", "sind")
FORMS_OF_WERDEN = ("werde", "wird", "werden")
# English auxiliary and the German present forms. "want to" is a full verb in English.
MODALS = {
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "should": ("sollte", "sollte", "sollten"),
    "want to": ("will", "will", "wollen"),
}
