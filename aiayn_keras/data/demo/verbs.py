"""The verbs of the demo corpus, English and German, by the objects they take."""

from typing import NamedTuple


class Verb(NamedTuple):
    """A verb. German present forms go by agreement: ich, er/sie, wir/sie (the infinitive).

    `prefix` is the separable one (`an` of `ankommen`), `case` the one its object takes and
    `objects` the kind of noun that makes sense there.
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
