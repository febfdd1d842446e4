import pytest

from aiayn_keras.data.checking import KINDS, check_pairs
from aiayn_keras.data.checking.corpus_check import essence_of
from aiayn_keras.data.checking.suspicious_pairs import (
    SideProfile,
    UsualLengths,
    character_faults,
    different_numbers,
    different_placeables,
    wrong_language,
)
from aiayn_keras.data.parallel_text import ParallelText, ReadPairs, read_pairs_and_bad_lines

ENGLISH = (
    "The children are playing in the garden behind the house.",
    "She has not answered my letter yet.",
    "We will meet again at the station tomorrow morning.",
    "Nobody knows where he bought this old car.",
    "It was raining when they left the village.",
    "My brother wants to learn how to cook.",
)
SPANISH = (
    "Los niños están jugando en el jardín detrás de la casa.",
    "Ella todavía no ha contestado mi carta.",
    "Nos encontraremos otra vez en la estación mañana por la mañana.",
    "Nadie sabe dónde compró este coche viejo.",
    "Estaba lloviendo cuando salieron del pueblo.",
    "Mi hermano quiere aprender a cocinar.",
)
GOOD = list(zip(ENGLISH, SPANISH, strict=True))


def as_read(pairs):
    text = ParallelText(*zip(*pairs, strict=True), name="t.tsv")
    return ReadPairs(text, tuple(range(1, len(text) + 1)), [], len(text))


def kinds_of(pair, **options):
    """The kinds of faults of a pair after six good ones."""
    checked = check_pairs(as_read([*GOOD, pair]), **options)
    assert {finding.line for finding in checked.findings} <= {len(GOOD) + 1}
    return [finding.kind for finding in checked.findings]


def test_good_pairs_have_no_faults():
    checked = check_pairs(as_read(GOOD))
    assert checked.findings == []
    assert checked.cleaned == GOOD
    assert [side.language for side in checked.sides] == ["en", "es"]
    assert [side.scripts for side in checked.sides] == [("Latn",), ("Latn",)]


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("empty", ("The dog sleeps.", "  ")),
        ("duplicate", GOOD[2]),
        ("near_duplicate", (ENGLISH[2].upper(), SPANISH[2].rstrip("."))),
        ("copy", ("Where is the train station?", "¿Where is the train station?")),
        ("language", (SPANISH[0][::1], "El perro de mi vecino ladra toda la noche.")),
        ("language", ("Los perros ladran toda la noche.", "The dogs bark all night long.")),
        ("script", ("The boy runs across the street.", "Мальчик бежит через дорогу.")),
        ("script", ("The bоy runs.", "El niño corre.")),  # a Cyrillic о
        ("ratio", ("The boy who lives next door runs across the street every day.", "El niño.")),
        ("numbers", ("He was born in 1945.", "Él nació en 1954.")),
        ("numbers", ("He was born in 1945.", "Él nació ese año.")),
        ("placeables", ("Write to tom@example.com.", "Escribe a tim@example.com.")),
        ("placeables", ("See https://example.com/a now.", "Ve ahora https://example.com/b.")),
        ("placeables", ("Hello, {name}, my friend.", "Hola, {nombre}, mi amigo.")),
        ("placeables", ("The boy runs to %s today.", "El niño corre hoy.")),
        ("markup", ("The <b>boy</b> runs.", "El niño corre.")),
        ("markup", ("The boy runs.", "{\\an8}El niño corre.")),
        ("mojibake", ("The boy runs.", "El niÃ±o corre.")),
        ("mojibake", ("The boy runs.", "El ni\ufffdo corre.")),
        ("entities", ("The boy&#39;s dog runs.", "El perro del niño corre.")),
        ("entities", ("The boy & quot ; runs.", "El niño corre.")),
        ("invisible", ("The\u200b boy runs.", "El niño corre.")),
        ("invisible", ("\ufeffThe boy runs.", "El niño corre.")),
    ],
)
def test_each_fault_has_its_name(kind, pair):
    assert kinds_of(pair) == [kind]
    assert kinds_of(pair, ignored=[kind]) in ([], ["language"])


def test_sentences_of_the_test_text_are_leaks():
    pair = ("The boy runs.", "El niño corre.")
    test = as_read([("A girl.", "Una niña."), ("the boy RUNS", "Corre el niño.")])
    (finding,) = check_pairs(as_read([*GOOD, pair]), {"test": test}).findings
    assert (finding.kind, finding.line) == ("leak", 7)
    assert finding.reason == "its source is in the test text, line 2"


def test_the_kinds_are_those_of_the_findings(tmp_path):
    tested = {"unreadable", "leak"}
    for mark in test_each_fault_has_its_name.pytestmark:
        tested |= {kind for kind, _ in mark.args[1]}
    assert tested == set(KINDS)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("It&#39;s &lt;b&gt;new&lt;/b&gt;.", "It's new."),
        ("R&amp;amp;D", "R&D"),
        ("Tom &amp; Mary", "Tom & Mary"),
        ("one<br/>two", "one two"),
        ("cafÃ©", "café"),
        ("sep\u00ada\u200brate", "separate"),
        ("a line\u2028break", "a line break"),
    ],
)
def test_characters_are_mended(dirty, clean):
    mended, faults = character_faults(dirty)
    assert mended == clean
    assert all(is_mended for _, is_mended in faults.values())


@pytest.mark.parametrize(
    "text",
    [
        "I <3 you & 2 < 3 > 1; R&D; AT&T",
        "¿Qué? «Así», dijo él — “tal vez”…",
        "Straße, Ærø, naïve, Łódź, œuvre, 5 €",
        "می\u200cخواهم",  # Persian needs its joiner
        "क्\u200dष",
        "👨\u200d👩\u200d👧 🏳️\u200d🌈",
        "\u200fשלום (a)\u200f",
        "[sic] and (c) and {x}",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert character_faults(text) == (text, {})


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("He paid 1,500 dollars.", "Pagó 1.500 dólares."),
        ("It is 3.5 km.", "Son 3,5 km."),
        ("at 2:30 p.m.", "a las 14:30"),
        ("I have 3 cats.", "Tengo tres gatos."),
        ("in the 1990s", "en los años 90"),
        ("1 000 000 people", "un millón de personas"),
        ("٣ كتب", "3 books"),
        ("call 555 1234", "llama al 5551234"),
        ("20 of 30", "30, 20"),
    ],
)
def test_the_same_numbers_may_be_written_differently(source, target):
    assert different_numbers(source, target) is None


def test_huge_numbers_are_compared():
    assert different_numbers("9" * 5_000, "9" * 5_000) is None
    assert different_numbers("9" * 5_000, "8" * 5_000) is not None
    assert different_numbers("9" * 5_000, "x") is not None


def test_lengths_are_compared_with_the_usual_ratio():
    pairs = [("x" * n, "y" * (n // 3)) for n in range(30, 90)]  # as from English to Chinese
    usual = UsualLengths(pairs)
    assert all(usual.fault(*pair) is None for pair in pairs)
    assert (
        usual.fault("x" * 60, "y" * 60) == "the target is 2.4 times as long as usual"
    )  # 69.5 / 29.5
    assert "the source is" in usual.fault("x" * 90, "y" * 4)


def test_accents_and_vowel_signs_make_different_sentences():
    assert essence_of("¡Hablo!") != essence_of("Habló")
    assert essence_of("कि") != essence_of("का")
    assert essence_of("?!") == "?!"


def test_japanese_may_mix_its_scripts():
    texts = ["私は学生です。", "コーヒーを飲みます。", "東京に住んでいます。", "これは本です。"]
    profile = SideProfile(texts)
    assert profile.language == "ja"
    assert all(profile.wrong_script(text) is None for text in [*texts, "カタカナ", "漢字"])
    assert profile.wrong_script("Привет, как дела") is not None


def test_a_given_language_is_used():
    sides = SideProfile(SPANISH, "en"), SideProfile(SPANISH)
    assert sides[0].language == "en"
    assert wrong_language(sides, (SPANISH[0], SPANISH[0])) == "the source is in es, not en"
    with pytest.raises(ValueError, match=r"must be one of .*Received: 'english'"):
        SideProfile(SPANISH, "english")


def test_text_without_a_language_is_not_judged():
    profile = SideProfile(["(NP XX XX )NP", "12 34", "(S (NP XX )NP )S"] * 3)
    assert wrong_language((profile, profile), ("12", "34")) is None


def test_unreadable_lines_keep_the_numbers_of_the_others(tmp_path):
    rows = ["\t".join(pair).encode() for pair in GOOD]
    rows[1:1] = [b"no tab", b"\xff\tx"]
    rows.append(rows[0])
    (tmp_path / "a.tsv").write_bytes(b"\n".join(rows))
    checked = check_pairs(read_pairs_and_bad_lines(tmp_path / "a.tsv"))
    assert [(each.line, each.kind) for each in checked.findings] == [
        (2, "unreadable"),
        (3, "unreadable"),
        (9, "duplicate"),
    ]
    assert checked.findings[2].reason == "the same as line 1"
    assert checked.counts() == {"unreadable": 2, "duplicate": 1}
    assert (checked.num_lines, checked.num_faulty(), len(checked.cleaned)) == (9, 3, 6)


def test_mended_pairs_are_found_to_repeat_others():
    pair = (ENGLISH[0].replace("The", "<i>The</i>"), SPANISH[0])
    checked = check_pairs(as_read([*GOOD, pair]))
    assert [finding.kind for finding in checked.findings] == ["markup", "duplicate"]
    assert checked.cleaned == GOOD
    assert checked.num_mended() == 0


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="Received: 'typos'"):
        check_pairs(as_read(GOOD), ignored=["typos"])


def test_hebrew_may_have_points():
    pointed = ["הוּא הוֹלֵךְ הַבַּיְתָה.", "הִיא קוֹרֵאת סֵפֶר.", "אֲנִי אוֹכֵל לֶחֶם."]
    profile = SideProfile([*pointed, "אני הולך הביתה."])
    assert profile.margin_of_other("אני הולך הביתה.")[1] < 5
    assert SideProfile(pointed, "he").margin_of_other(pointed[0])[1] < 5


def test_addresses_end_where_chinese_begins():
    assert different_placeables("请看https://a.com/x。谢谢", "See https://a.com/x. Thanks.") is None


@pytest.mark.parametrize("tags", [("<2es>", "<2de>"), (">>spa<<", ">>deu<<")])
def test_targets_are_compared_with_those_of_the_same_tag(tags):
    """Of a text for two languages, all targets in the rarer one were taken for wrong."""
    german = (
        "Die Kinder spielen im Garten hinter dem Haus.",
        "Sie hat meinen Brief noch nicht beantwortet.",
        "Wir treffen uns morgen früh wieder am Bahnhof.",
        "Niemand weiß, wo er dieses alte Auto gekauft hat.",
    )
    pairs = [
        (f"{tag} {source}", target)
        for tag, targets in zip(tags, (SPANISH, german), strict=True)
        for source, target in zip(ENGLISH, targets, strict=False)
    ]
    pairs += [(f"{tags[0]} The eight boys found 3 coins.", "Los ocho chicos hallaron 3 monedas.")]
    checked = check_pairs(as_read(pairs))
    assert (checked.findings, checked.cleaned) == ([], pairs)
    assert {tag: side.language for tag, side in checked.tagged.items()} == dict(
        zip(tags, ("es", "de"), strict=True)
    )
    wrong = [(f"{tags[1]} {ENGLISH[5]}", SPANISH[5]), (f"{tags[0]} {ENGLISH[5]}", ENGLISH[5])]
    found = check_pairs(as_read([*pairs, *wrong])).findings
    assert [(each.line, each.kind) for each in found] == [(12, "language"), (13, "copy")]
