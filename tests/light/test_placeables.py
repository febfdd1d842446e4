"""Placeables stay as they are, and the text around them is translated."""

import re

import pytest

from aiayn_keras_light.lost_numbers import lost_numbers
from aiayn_keras_light.placeable_patterns import placeable_in_line
from aiayn_keras_light.placeables import (
    LETTERS,
    check_placeables,
    translate_emoji,
    translate_placeables,
)
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.text_parts import begin_alike
from aiayn_keras_light.translating import Hypothesis, as_translation
from tests.helpers import slow_but


class CapitalsDouble:
    """In the place of a model's `translate`: words in capitals.

    Args:
        change: Function of a text that gives the texts of its hypotheses, best first.
    """

    def __init__(self, change=lambda text: [text.upper()]):
        self.change, self.calls, self.counts = change, [], []

    def __call__(self, texts, progress):
        self.calls.append(list(texts))
        self.counts.append(progress)
        return [
            as_translation([Hypothesis(each, -1.0, -0.5, ("x",)) for each in self.change(text)])
            for text in texts
        ]


def without_foreign_letters(text):
    return [re.sub(f"[{LETTERS}]", "?", text).upper()]


def test_placeables_stay_and_the_rest_is_translated():
    double = CapitalsDouble()
    found = translate_placeables(
        ["see http://x.org/a?b=c, {name} :)", "no placeable", "ヌ or a@b.org"], double
    )
    assert [each.text for each in found] == [
        "SEE http://x.org/a?b=c, {name} :)",
        "NO PLACEABLE",
        "ヌ OR a@b.org",
    ]
    assert double.calls == [["see ヌ, メ ソ", "no placeable", "ヌ or メ"]]
    assert (found[0].score, found[0].normalized_score) == (-1.0, -0.5)


def test_the_model_reads_the_target_language_before_a_text_and_before_its_parts():
    double = CapitalsDouble(lambda text: [text.removeprefix("<2de> ").upper()])
    texts = ["<2de> see a@b.org", "see {name}", "<2de> so<br>hot", "<2de> 15", ""]
    found = translate_placeables(texts, double)
    assert [each.text for each in found] == ["SEE a@b.org", "SEE {name}", "SO<br>HOT", "15", ""]
    assert double.calls == [["<2de> see ヌ", "", "15"], ["<2de> so", "<2de> hot"], ["see ヌ", ""]]


@pytest.mark.parametrize("tag", [">>fra<< ", ">>cmn_Hans<< ", "<2pt_BR>", " <2de> "])
def test_target_languages_are_written_in_two_ways(tag):
    double = CapitalsDouble()
    translate_placeables([f"{tag}it rained"], double)
    assert double.calls == [[f"{tag}it rained"]]


def test_an_error_names_the_text_among_those_of_several_target_languages():
    def refuse(texts, _progress):
        if "<2de> bad" in texts:
            raise TextError("texts", texts.index("<2de> bad"), "is bad")
        return CapitalsDouble()(texts, None)

    with pytest.raises(TextError) as error:
        translate_placeables(["good", "<2de> good", "<2fr> good", "<2de> bad"], refuse)
    assert error.value.index == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("so hot ☀️☀️", "so hot"),
        (" 👍🏽  yes, {x}! 👨‍👩‍👧 🇪🇸\n", "yes, ヌ!"),
        ("♪ la la ♪", "la la"),
        ("© me", "me"),
        ("keys 1️⃣", "keys"),
        ("5️⃣ keys #️⃣", "keys"),
        ("flags 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴‍☠️", "flags"),
        ("go ‼️ ℹ️ ™", "go"),
        ("\uf0b7 a bullet of Word", "a bullet of Word"),
        ("it is 25°", "it is 25°"),
        ("❝I am here❞", "❝I am here❞"),
        ("Ⓗⓔⓛⓛⓞ my friend", "Ⓗⓔⓛⓛⓞ my friend"),
        ("> > how are you", "how are you"),
        ("RE: FW: tea", "tea"),
        ("RE[2]: tea", "tea"),
        ("re:tea", "re:tea"),
        ("- [ ] buy milk", "buy milk"),
        ("## (2) title", "title"),
        ("— who is it", "who is it"),
        ("-5 degrees", "-5 degrees"),
        ("2.) tea", "tea"),
        ("» tea", "tea"),
        ("A. Tea", "Tea"),
        ("Q: tea", "tea"),
        ("B) tea", "tea"),
        ("% tea", "tea"),
        ("1 - tea", "tea"),
        ("10 – 20 tea", "10 – 20 tea"),
        ("J. R. tea", "J. R. tea"),
        ("(so hot)", "so hot"),
        ("「so hot」", "so hot"),
        ("(so) hot", "hot"),
        ("2024-06-03T12:00:01.123Z tea", "tea"),
        ("12/24/23 8:00 PM", ""),
        ("// tea", "tea"),
        ("[10:30] <ANNA> hi", "hi"),
        ("12/03/24, 18:05 - tea", "tea"),
        ("2024-06-03 12:00:01,123 tea", "tea"),
        ("10:30 is too late", "10:30 is too late"),
        ("-milk", "-milk"),
        ("tea 😀 and cake", "tea 🎉 and cake"),
        ("tea of Teapot™ and cake", "tea of ヌ and cake"),
        ("tea ❤️👍🏽! and cake", "tea 😀! and cake"),
        ("  no emoji ", "  no emoji "),
        ("😀", ""),
        ("", ""),
    ],
)
def test_emoji_and_notes_at_the_ends_stay_as_they_are(text, words):
    double = CapitalsDouble()
    (found,) = translate_placeables([text], double)
    assert double.calls[0] == [words]
    assert found.text == text.upper().replace("{X}", "{x}").replace("TEAPOT", "Teapot")


def test_every_hypothesis_has_the_emoji_and_a_cut_text_too():
    double = CapitalsDouble(lambda text: [text.replace("ヌ", ""), "b"])
    found = translate_placeables(["a 😀", "lost {x} 😀"], double)
    assert [each.text for each in found[0].hypotheses] == ["a 😀", "b 😀"]
    assert found[1].text == "lost {x} 😀"


@pytest.mark.parametrize(
    "placeable",
    [
        *(
            "https://x.org",
            "HTTP://X",
            "www.x.org",
            "mailto:a",
            "a@b.org",
            "x.com",
            "@name",
            "#topic",
        ),
        *(
            "C:\\x",
            "\\\\a\\b",
            "/a/b",
            "/a/",
            "~/a",
            "../a",
            "./",
            "a.txt",
            "x.PDF",
            ":-)",
            "=D",
            "<3",
        ),
        *(
            "^_^",
            "^^",
            "xD",
            "XD",
            "{{a}}",
            "{name}",
            "%{a}",
            "${a}",
            "{% if a %}",
            "{# a #}",
            "%(a)s",
        ),
        *(
            "%s",
            "%1$d",
            "%m",
            "%B",
            "%Y",
            "%-I",
            "%name",
            "%#@files@",
            "%PATH%",
            "%%",
            "%1",
            "%n",
            "$HOME",
            "&amp;",
            "&#12;",
            "`a`",
            "<b>",
            "</b>",
        ),
        *(
            "192.168.0.1",
            "2001:db8::1",
            "::1",
            "aa-bb-cc-dd-ee-ff",
            "aa:bb:cc:dd:ee:ff",
            "v2",
            "1.2.3",
        ),
        *("+1 555 010 99", "ISBN 0306406152", "978-3-16-148410-0", "DE89 3704 0044 0532 0130 00"),
        *(
            "10.1000/a",
            "abcdefab-abcd-abcd-abcd-abcdefabcdef",
            "3f2a9c1",
            "md5:3f2a9c1d",
            "ABCDEF1",
        ),
        *(
            "sftp://x/a",
            "tel:+15550100",
            "http://x.org/a'b",
            "git@x.org:a/b.git",
            "t.o'hara@x.org",
            "tom@localhost",
            "localhost:80",
            "x.co.uk",
            "x.de",
            "bit.ly/aB",
            "C:/x/y",
            "src/a.c",
        ),
        *(
            "#INV-20",
            "#ñu",
            "$name",
            ":name",
            ":smile:",
            "__NAME__",
            "[NAME]",
            "{first name}",
            "*|NAME|*",
            "%%NAME%%",
            "<%= a %>",
            "<?php a ?>",
        ),
        *(
            "10⁶",
            "m²",
            "1½",
            "CO₂",
            "10^6",
            "0xFF",
            "1e-5",
            "1'234'567",
            "12345678",
            "4x4",
            "5'10\"",
            "5′ 10″",
        ),
        *(
            "user_name",
            "camelCase",
            "f()",
            "a::b",
            "a->b",
            "--help",
            "-v",
            "H2O",
            "UTF-8",
            "x7Gh2kLm",
            "Ctrl+S",
            "Ctrl + Alt + S",
            "R&D",
            "A+",
            "B + C",
            "5(1)(a)",
            "$x^2 + y$",
            "4111 1111 1111 1111",
            "US$3.50",
            "EUR 5",
            "1,000.50 USD",
        ),
        *(
            "[1]",
            "(5)",
            "[10:30]",
            "(10:30 AM)",
            "T_T",
            "o_O",
            "(:",
            "¯\\_(ツ)_/¯",
            "(^.^)",
            "->",
            "❤️",
        ),
        *(
            "(^_^)",
            "(╯°□°)╯︵ ┻━┻",
            "(◕‿◕)",
            "ʕ•ᴥ•ʔ",
            "^^;",
            "(555) 123-4567",
            "(-33%)",
            "(x2)",
            "(#123)",
        ),
        *(
            "350 ml",
            "60 km/h",
            "2 x 500 mg",
            "45–50 km/h",
            "x < 5",
            "3 x $4.50 = $13.50",
            "a + b >= 3",
            "port=8080",
        ),
        *(
            "A_B=/opt/x",
            "com.example.App",
            "a.b()",
            "[worker-1]",
            "r/cats",
            "``x = 1``",
            ":param name:",
        ),
        *("<@U123>", "<:smile:12>", "@a.b-c", "/help", "/index.html", "HTTP/1.1", "4711/24"),
        *("d**n", "h*ck", "f***", "sh***"),
        *("\\u00e9", "\\ud83d\\ude00"),
        *("40°25'N", "*.txt", "**/*.md", "50\\%", "ab[123]", 'NAME="a b"', "①"),
        *("-v, --verbose", "--name=x/y", "\\item", "\\cite{a}", ".. note::"),
        *(
            "1 000 000",
            "1\u202f000",
            "1.299,99 €",
            "$3.5M",
            "WWII",
            "£2bn",
            "CHF 20.-",
            "2x",
            "1080p",
            "5€/kg",
            "E=mc²",
        ),
        *("10 x 20 x 30 cm", "1.5m x 80cm", "1 1/2", "3h 20m", "20:00h", "15s"),
        *("VIII", "MMXXIV", "XXL", "S/M/L", "N/A", "f(x)", "O(n log n)", "Ctrl-C", "host01"),
        *('"GET /a b HTTP/1.1"', "[12/May/2024:10:32:11 +0000]", "caf%C3%A9"),
        "Fri, 3 May 2024 10:15:00 +0200",
        *("#a#bc", "n/a", "c/o", "tom[at]x.org", "/həˈloʊ/", "ᴛɪɴʏ", "tom(at)x.org"),
        *("C:\\My Files\\a (1)\\b.txt", "a.c:12:5", "java.io.IOException", ".@name"),
        *(
            '"Tom Hill" <t@b.org>',
            "[y/N]",
            "[Y]",
            "DD/MM/YYYY",
            "YYYY-MM-DD",
        ),
        *("text/html; charset=utf-8", "application/json", "Content-Type:", "rgb(255, 0, 0)"),
        *("com.x.App.main(App.java:42)", "⌘C", "⇧⌘P", "Esc", "'85", "’90s", "§ 5(2)", "§§ 3"),
        *("10 Hill Street", "221B Old Hill St.", "7:15, 7:45", "6-4, 7-6 (5)"),
        *("ISSN 1234-567X", "3-in-1", "i18n", "k8s", "100 ppm", "5 kΩ", "20 MB/s"),
        *("12' x 10'", '9" x 13"', "x^2^", "H~2~O", "Shift-Tab", "o.O", "Tea™", "US 9"),
        *(
            "J. R. R. Hill",
            "O'Hara",
            "C-",
            "[sic]",
            "[main]",
            "9.58s",
            "^o^",
            "L x W x H",
            "BTC/USD",
        ),
    ],
)
def test_every_kind_of_placeable_is_found(placeable):
    double = CapitalsDouble()
    (found,) = translate_placeables([f"see {placeable}"], double)
    assert found.text == f"SEE {placeable}"
    assert placeable not in double.calls[0][0]


@pytest.mark.parametrize("unit", ["kg", "cm", "ft", "lbs", "oz", "mph", "tsp", "tbsp"])
def test_units_that_languages_write_differently_are_translated(unit):
    double = CapitalsDouble()
    translate_placeables([f"see 6 {unit}"], double)
    assert double.calls[0] == [f"see 6 {unit}"]


def test_a_text_of_placeables_alone_is_its_own_translation():
    double = CapitalsDouble(lambda text: [text.upper(), text.lower()])
    source = "  www.x.org, a@b.org! 12 :)"
    (found,) = translate_placeables([source], double)
    assert [each.text for each in found.hypotheses] == [source, source]
    assert double.calls == [[""]]


def test_where_a_letter_is_lost_or_repeated_the_text_is_cut_at_its_placeables():
    def change(text):
        return [text.replace("ヌ", "").upper() if "lose" in text else text.replace("ソ", "ソソ")]

    double = CapitalsDouble(change)
    texts = ["keep a@b.org", "lose (a@b.org), or 12 {x}!", "a@b.org {b} {c}, or more."]
    counts = []
    found = translate_placeables(texts, double, counts.append)
    assert [each.text for each in found] == ["keep a@b.org", "LOSE (a@b.org), or 12 {x}!", texts[2]]
    assert double.calls[1] == ["lose", "or 12", "or more."]
    assert double.counts == [counts.append, None]  # each text counts once
    assert found[1].score == -2.0
    assert found[1].tokens == ("x", "x")


def test_of_several_hypotheses_those_that_keep_all_stay():
    double = CapitalsDouble(lambda text: ["none", text.upper(), text.lower()])
    (found,) = translate_placeables(["See a@b.org"], double)
    assert [each.text for each in found.hypotheses] == ["SEE a@b.org", "See a@b.org"]
    assert found.text == "SEE a@b.org"


def test_more_placeables_than_letters_cut_the_text():
    text = "See " + " or ".join(f"{{a{n}}}" for n in range(len(LETTERS) + 2)) + "."
    double = CapitalsDouble()
    (found,) = translate_placeables([text], double)
    assert found.text == text.replace("See", "SEE").replace(" or ", " OR ")
    assert double.calls[0] == [""]


def test_brackets_and_quotation_marks_stay_with_what_is_alone_in_them():
    double = CapitalsDouble()
    (found,) = translate_placeables(
        ["ask Tom <t@b.org>, see (http://x.org/a_(b)) or 'a.txt'"], double
    )
    assert found.text == "ASK TOM <t@b.org>, SEE (http://x.org/a_(b)) OR 'a.txt'"
    assert double.calls == [["ask Tom ヌ, see メ or ソ"]]


def test_code_and_tags_of_a_line_stay():
    double = CapitalsDouble()
    (found,) = translate_placeables(["run `ls -la /tmp`, or <name>."], double)
    assert found.text == "RUN `ls -la /tmp`, OR <name>."
    assert double.calls == [["run ヌ, or メ."]]


@pytest.mark.parametrize(
    "text",
    ["don`t go, it`s late", "``so'' he said ``no''", "$5, 10:30 (or so)", "50 %off, 5 % a day"],
)
def test_other_signs_are_text(text):
    double = CapitalsDouble()
    (found,) = translate_placeables([text], double)
    assert (found.text, double.calls) == (text.upper(), [[text]])


@pytest.mark.parametrize(
    "text",
    [
        *("we <b>go</b> now", "we {{#if x}}go{{/if}} now", "we **go** now", "we _go_, now"),
        *("we [go] now", "[b]we[/b] [url=x.org]go[/url] now", "| we | go | now |", "we*go\\n now"),
        *("we<br>go&nbsp;now", "we{x}go {y}now", "{n, plural, one {we} other {go}} now"),
        *("we<!-- no -->go 😀now", "\x1b[1mwe\x1b[0mgo {now", "1;we;go;now", "we /* go */ now"),
        *('1,"we","go","now"', "we ~ go --- now"),
        *("\\textbf{we} \\emph{go} now", "\\section*{we} go ~now~", "we / go > now"),
        "---we--- go ===now===",
        *("'''we''' go **now", '"""we""" go | now'),
    ],
)
def test_a_text_is_cut_at_pairs_and_markup_and_what_stands_beside_a_letter(text):
    double = CapitalsDouble(lambda text: [text.capitalize()])
    (found,) = translate_placeables([text], double)
    assert found.text == text
    assert double.calls == [[""], ["we", "go", "now"]]


def test_a_command_behind_a_prompt_stays():
    double = CapitalsDouble()
    texts = ["$ ls -la | grep tea > out", "me@host:~$ cd ..", "$5 is a lot"]
    found = translate_placeables(texts, double)
    assert [each.text for each in found] == [*texts[:2], "$5 IS A LOT"]


def test_roman_numbers_of_a_list_stay():
    double = CapitalsDouble()
    found = translate_placeables(["ii) tea", "(iv) cake", "I. tea", "mix. it"], double)
    assert [each.text for each in found] == ["ii) TEA", "(iv) CAKE", "I. TEA", "MIX. IT"]


def test_leaders_and_headings_stay():
    double = CapitalsDouble()
    texts = ["tea ....... 5", "== tea time ==", "tea.... and cake", "```python", "tl;dr tea"]
    found = translate_placeables(texts, double)
    assert [each.text for each in found] == [
        "TEA ....... 5",
        "== TEA TIME ==",
        "TEA.... AND CAKE",
        "```python",
        "TL;DR TEA",
    ]
    assert double.calls == [
        ["", "", "", "", "tl;dr tea"],
        ["tea time"],
        ["tea", "tea.", "and cake"],
    ]


def test_placeables_side_by_side_are_one_with_the_digits_around():
    double = CapitalsDouble()
    texts = ["it is %d%% full", "50%% off", "see <t@b.org>, or <https://x.org/*>", "~5 < 6 = 7"]
    found = translate_placeables(texts, double)
    assert [each.text for each in found[:3]] == [
        "IT IS %d%% FULL",
        "50%% OFF",
        "SEE <t@b.org>, OR <https://x.org/*>",
    ]
    assert double.calls == [["it is ヌ full", "ヌ off", "see ヌ, or メ", ""]]
    assert found[3].text == texts[3]


def test_entities_of_letters_in_a_word_are_letters():
    double = CapitalsDouble()
    found = translate_placeables(["Caf&eacute; isn&#39;t Fish &amp; Co", "R&amp;D"], double)
    assert [each.text for each in found] == ["CAFÉ ISN'T FISH &amp; CO", "R&amp;D"]
    assert double.calls == [["Café isn't Fish ヌ Co", ""]]


def test_emoji_alone_are_kept_for_documents():
    double = CapitalsDouble()
    found = translate_emoji(["a 😀", "{b} ❤️ c", "d"], lambda texts: double(texts, None))
    assert [each.text for each in found] == ["A 😀", "{B} ❤️ C", "D"]
    assert double.calls == [["a", "{b} 😀 c", "d"], ["{b} c"]]


def test_times_with_the_half_of_the_day_are_times_of_24_hours_to_the_model():
    double = CapitalsDouble()
    texts = ["at 5pm", "from 9 am to 5:30 pm.", "open 9am–5pm", "um 5 am Markt", "10:30"]
    found = translate_placeables(texts, double)
    assert double.calls == [
        ["at 17:45", "from 17:45 to 18:35.", "open 17:45", "um 5 am Markt", "10:30"]
    ]
    assert [each.text for each in found] == [
        "AT 5pm",
        "FROM 9 am TO 5:30 pm.",
        "OPEN 9am–5pm",
        "UM 5 AM MARKT",
        "10:30",
    ]


def test_where_a_time_is_written_differently_a_letter_stands_for_it():
    double = CapitalsDouble(lambda text: [text.upper().replace(":", ".")])
    (found,) = translate_placeables(["at 5pm"], double)
    assert double.calls == [["at 17:45"], ["at ヌ"]]
    assert found.text == "AT 5pm"


@pytest.mark.parametrize(
    ("text", "found"),
    [("Wet floor", "Tea"), ("- Wet floor", "- Tea"), ("wet floor", "tea"), ("PC", "tea")],
)
def test_a_text_with_a_first_capital_has_a_translation_with_one(text, found):
    double = CapitalsDouble(lambda _: ["tea", "other"])
    (translation,) = translate_placeables([text], double)
    assert translation.text == found
    assert translation.hypotheses[1].text.istitle() == (found.strip("- ") == "Tea")


@pytest.mark.parametrize("word", ["iPhone", "user_name", "a.txt"])
def test_a_word_that_stays_has_no_other_capitals(word):
    double = CapitalsDouble(lambda text: [" ".join(text.lower().split()[::-1])])
    (translation,) = translate_placeables([f"Wet {word}"], double)
    assert translation.text == f"{word} wet"


@pytest.mark.parametrize(
    "text",
    ["See a.txt, b.txt", "Boston, MA 02108", "230 V, 50 Hz and so on", "I like it, 😀 please."],
)
def test_a_comma_before_a_code_is_not_a_colon(text):
    double = CapitalsDouble(lambda text: [text.replace(",", ":")])
    assert [each.text for each in translate_placeables([text], double)] == [text]


@pytest.mark.parametrize("text", ["He says, 5 people came.", "Dear Ann, come."])
def test_a_comma_before_another_word_may_be_a_colon(text):
    double = CapitalsDouble(lambda text: [text.replace(",", ":")])
    (translation,) = translate_placeables([text], double)
    assert translation.text == text.replace(",", ":")


@pytest.mark.parametrize("sign", "›→•·»")
def test_a_line_is_cut_at_signs_between_its_parts(sign):
    double = CapitalsDouble()
    (translation,) = translate_placeables([f"Home {sign} Red shoes"], double)
    assert translation.text == f"HOME {sign} RED SHOES"
    assert double.calls[1] == ["Home", "Red shoes"]


def test_a_line_is_cut_at_its_tabs():
    double = CapitalsDouble()
    assert translate_placeables(["name\tage\t"], double)[0].text == "NAME\tAGE\t"
    assert double.calls[1] == ["name", "age"]


def test_a_second_quotation_mark_does_not_cut_a_line():
    double = CapitalsDouble()
    translate_placeables(["the word « chat » is short"], double)
    assert double.calls == [["the word « chat » is short"]]


def test_items_of_a_list_begin_as_in_the_text():
    double = CapitalsDouble(lambda text: [text.lower()])
    (found,) = translate_placeables(["1. Tea 2. Cake 3. Milk b) More"], double)
    assert found.text == "1. Tea 2. Cake 3. Milk b) More"


def test_a_name_before_an_address_stays_in_the_head_of_a_mail():
    double = CapitalsDouble()
    texts = ["From: Tom Hill <t@b.org>, O. Y. Hill <o@b.org>", "Contact Us <o@b.org>"]
    found = translate_placeables(texts, double)
    assert [each.text for each in found] == [
        "FROM: Tom Hill <t@b.org>, O. Y. Hill <o@b.org>",
        "CONTACT US <o@b.org>",
    ]


def test_parts_between_signs_begin_as_in_the_text():
    double = CapitalsDouble(lambda text: [text.lower()])
    found = translate_placeables(["Home > Shoes / red", "Go to <b>Tom</b>'s"], double)
    assert [each.text for each in found] == ["Home > Shoes / red", "Go to <b>tom</b>'s"]


@pytest.mark.parametrize(
    "lead",
    ["II. ", "(IV) ", "VI) ", "Re : ", "TR : ", "1.2.3) ", "1- ", "o\t", "\u2012 ", "\u2015 "],
)
def test_numbers_of_chapters_and_french_subjects_stay_before_a_text(lead):
    double = CapitalsDouble()
    assert translate_placeables([f"{lead}Tea"], double)[0].text == f"{lead}TEA"
    assert double.calls[0] == ["Tea"]


@pytest.mark.parametrize("lead", ["1.1 ", "2.3.1 ", "3.2. "])
def test_numbers_of_headings_stay_before_a_capital(lead):
    double = CapitalsDouble()
    assert translate_placeables([f"{lead}Tea"], double)[0].text == f"{lead}TEA"
    assert double.calls[0] == ["Tea"]


@pytest.mark.parametrize(
    ("source", "translation", "lost"),
    [
        ("order 4711", "pedido", {"4711"}),
        ("order 4711", "pedido 471", {"4711"}),
        ("1,000,000 and 12.50", "1.000.000 y 12,50", set()),
        ("1,000,000", "1.000,000", {"1,000,000"}),
        ("1,000,000", "1,000,000 o 1.000,000", set()),
        ("12,000,000", "12000000", set()),
        ("1 000 000", "1000000", set()),
        ("$1,234.56", "1.234,56 o 1,234.56 dólares", set()),
        ("1.234,56 €", "1234,56 €", set()),
        ("$1,234.56", "1 234,56 $ ou 1'234.56", set()),
        ("$1,234,567.89", "1\u202f234\u202f567,89 $", set()),
        ("$1,234.56", "۱٬۲۳۴٫۵۶ دلار", set()),
        ("1 234,56 €", "€1,234.56", set()),
        ("1 234,56 €", "€1.234.56", {"1 234"}),
        ("1 234,56 €", "€123.456", {"1 234", "56"}),
        ("$1,234.56", "1.234.56 dólares", {"1,234"}),
        ("1,234,567.89", "1,234.567.89", {"1,234,567"}),
        ("$1,234.56", "123.456 dólares", {"1,234", "56"}),
        ("1,234.567 and 7", "1.234.567 y 7", {"1,234.567"}),
        ("version 1.234.56", "versión 1.234.56", set()),
        ("on 2023-08-08", "el 2023-08-08-08", {"2023"}),
        ("on 08/12/2023", "el 08/12/2023", set()),
        ("5,87,631 rupees", "5,87.631 rupias", {"5"}),
        ("5,87,631 rupees", "5.87.631 rupias", set()),
        ("1 000 000", "1000", {"1 000 000"}),
        ("10 200 g packs", "10 paquetes de 200 g", set()),
        ("at 10:30 on 12/05", "12-05, 10.30", set()),
        ("room 12", "اتاق ۱۲", set()),
        ("5 dogs at 2:30", "cinco perros a las dos y media", set()),
        ("in the 19th century", "en el siglo XIX", set()),
        ("im 20. Jahrhundert", "au XXe siècle", set()),
        ("the 10th century", "el siglo X", set()),
        ("in the 19th century", "en el siglo XX", {"19"}),
        ("12 mixed cases", "MIX Ximena XIIa", {"12"}),
        ("songs of the 1980s", "canciones de los 80", set()),
        ("songs of the 1980's", "canciones de los 80", set()),
        ("songs of the 1980s", "canciones de los 90", {"1980"}),
        ("in 1980", "en el 80", {"1980"}),
        ("no number", "ninguno", set()),
    ],
)
def test_a_number_is_lost_where_its_digits_are(source, translation, lost):
    assert lost_numbers(source, translation) == lost


def test_sizes_between_spaces_are_one_placeable():
    double = CapitalsDouble()
    (found,) = translate_placeables(["shirts in S / M / XXL"], double)
    assert (double.calls, found.text) == ([["shirts in ヌ"]], "SHIRTS IN S / M / XXL")


def test_an_amount_is_translated_again_with_all_of_its_parts():
    double = CapitalsDouble(lambda text: [re.sub(r"(?<=\d)[ ,]", "", text).upper()])
    (found,) = translate_placeables(["at 1 234,56 € each"], double)
    assert (double.calls[1:], found.text) == ([["at ヌ € each"]], "AT 1 234,56 € EACH")


def test_a_lost_number_is_translated_again_as_a_letter():
    double = CapitalsDouble(lambda text: [re.sub(r"\d", "", text).upper()])
    found = translate_placeables(["the 21st of 5, $12.50!", "of 5"], double)
    assert double.calls == [["the 21st of 5, $12.50!", "of 5"], ["the ヌ of 5, メ!"]]
    assert [each.text for each in found] == ["THE 21st OF , $12.50!", "OF "]


def test_where_the_letter_is_lost_too_the_text_is_cut_at_its_number():
    double = CapitalsDouble(lambda text: [re.sub(rf"[\d{LETTERS}]", "", text).upper()])
    (found,) = translate_placeables(["order 4711 now"], double)
    assert double.calls == [["order 4711 now"], ["order ヌ now"], ["order", "now"]]
    assert found.text == "ORDER 4711 NOW"


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("was £20, now £15", "era 20, ahora 15", "WAS £20, NOW £15"),
        ("was £20, now £15", "era 20, ahora 15 libras", "era 20, ahora 15 libras"),
        ("it costs $5", "cuesta 5", "IT COSTS $5"),
        ("it costs $5", "cuesta USD 5", "cuesta USD 5"),
        ("it costs 1,000 €", "cuesta 1.000", "IT COSTS 1,000 €"),
        ("it costs $20", "要20元", "要20元"),
        ("in 5 days", "en 5", "en 5"),
    ],
)
def test_prices_whose_currency_is_lost_are_translated_again_as_letters(text, answer, expected):
    double = CapitalsDouble(lambda read: [answer if read == text else read.upper()])
    (found,) = translate_placeables([text], double)
    assert found.text == expected


@pytest.mark.parametrize("code", ["C:\\> dir", "C:\\Users\\anna>cd docs", "$ ls -la"])
def test_commands_behind_a_prompt_stay(code):
    assert translate_placeables([code], CapitalsDouble())[0].text == code


@pytest.mark.parametrize("code", ['print("Hello, world!")', "logger.warn('it is')", 'say("")'])
def test_calls_with_a_text_stay(code):
    (found,) = translate_placeables([f"use {code} here"], CapitalsDouble())
    assert found.text == f"USE {code} HERE"


def test_a_slash_before_a_word_stays_and_the_word_is_translated():
    double = CapitalsDouble()
    (found,) = translate_placeables(["pay $5/month now, 80 km/h"], double)
    assert found.text == "PAY $5/MONTH NOW, 80 km/h"
    assert double.calls[-1] == ["pay $5", "month now"]


@pytest.mark.parametrize(
    "kept", ["P.O. Box 123", "PO Box 4711", "5ft 10in", "6 ft 2", "5 ft. 10 in."]
)
def test_boxes_and_heights_stay(kept):
    (found,) = translate_placeables([f"see {kept} now"], CapitalsDouble())
    assert found.text == f"SEE {kept} NOW"


def test_numbers_within_words_are_not_looked_for_again():
    double = CapitalsDouble(lambda text: [re.sub(r"\d", "", text).upper()])
    (found,) = translate_placeables(["a é12 b"], double)
    assert (found.text, double.calls) == ("A É B", [["a é12 b"]])


def test_ranges_keep_their_dashes():
    double = CapitalsDouble(lambda text: [re.sub("[–—]", "-", text.upper()), "1-2"])
    (found,) = translate_placeables(["6–8 hours, 1890—1950, 5-7 – yes"], double)
    assert [each.text for each in found.hypotheses] == ["6–8 HOURS, 1890—1950, 5-7 - YES", "1-2"]


def test_numbers_behind_commas_keep_their_spaces():
    double = CapitalsDouble(lambda text: [text.upper().replace(", ", ",")])
    found = translate_placeables(["in 2019, 25 so, 30 and 1,5", "a, b"], double)
    assert [each.text for each in found] == ["IN 2019, 25 SO, 30 AND 1,5", "A,B"]


def test_words_of_servers_are_words_unless_an_address_is_behind_them():
    double = CapitalsDouble()
    (found,) = translate_placeables(['"GET out," he said'], double)
    assert found.text == '"GET OUT," HE SAID'


def test_a_note_behind_a_word_is_not_of_its_letters():
    double = CapitalsDouble()
    (found,) = translate_placeables(["the car¹ is"], double)
    assert (found.text, double.calls) == ("THE CAR¹ IS", [[""], ["the car", "is"]])


def test_signs_for_words_are_words():
    double = CapitalsDouble()
    texts = ["Tom & Mary are @ home", "AT&T & Co"]
    found = translate_placeables(texts, double)
    assert double.calls == [["Tom & Mary are @ home", "ヌ & Co"]]
    assert found[0].text == "TOM & MARY ARE @ HOME"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A) tea B) cake, C) milk", ["tea", "cake", "milk"]),
        ("i) tea ii) cake 3) milk", ["tea", "cake", "milk"]),
        ("1. tea 2. Cake 3. milk", ["tea", "Cake", "milk"]),
        ("so: 1. tea 2. Cake", ["so", "tea", "Cake"]),
        ("[ ] tea [x] cake", ["tea", "cake"]),
        ("☐ tea ☑ cake", ["tea", "cake"]),
        ("tea,cake,milk", ["tea", "cake", "milk"]),
        ("re: Re: Fwd: tea", ["tea"]),
        ("Topic: Re: tea", ["Topic", "tea"]),
        ("Size: 5 Unit price: 3", ["Size: 5", "Unit price: 3"]),
        ("T: 12 M: tea", ["tea"]),
        ("Name: Tom Size: 5 kg Age: 3", ["Name: Tom", "Size: 5 kg", "Age: 3"]),
        ("&Tea &Cake", ["Tea", "Cake"]),
        ("take a) or b).", ["take", "or"]),
        ("1- tea 2- cake", ["tea", "cake"]),
        ("so 1: tea 2: cake", ["so", "tea", "cake"]),
        ("(!) tea", ["tea"]),
        ("Tea | A | B", ["Tea"]),
        ("Row A, plan A", ["Row ヌ, plan メ"]),
        ("Date: __/__/____, ../../....", ["Date"]),
        ("==tea==, cake", ["tea", "cake"]),
        ("DEBUG:root:tea", ["tea"]),
    ],
)
def test_a_line_is_cut_at_items_labels_and_accelerators(text, parts):
    double = CapitalsDouble(lambda text: [text])
    (found,) = translate_placeables([text], double)
    assert found.text == text
    asked = [part for call in double.calls for part in call if part]
    assert asked == parts


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Figure 2: The tea",
            "I have 2. You have 3.",
            "I ate 1. you ate 3. he",
            "At 5 Anna wrote: tea",
            "a &b",
            "He & She",
        ),
        *('I said "I am 5" and', "the 'top 5' are", "the '10 best' are", "“I am 5” is", 'say "5".'),
        *("10 Hard Drive tea", "2 Red Hill Streets", "plan B is"),
        *("Der 2. und 3. Platz", "der 1. Preis, der 2. Preis ist", "am 1. oder 2. Mai"),
        *("1. Mai 2024", "1. März bis 2. April", "1. ja 2. kerros", "den 1. och 2. maj"),
        *("2. Klasse bitte", "21. Jahrhundert", "10. klasse er stor"),
    ],
)
def test_a_sentence_is_not_cut_at_what_looks_like_an_item(text):
    double = CapitalsDouble(lambda text: [text])
    (found,) = translate_placeables([text], double)
    assert (found.text, double.calls[0]) == (text, [text])


@pytest.mark.parametrize("lead", ["- ", "> ", "1. ", "* [ ] "])
def test_an_ordinal_behind_a_bullet_is_kept(lead):
    double = CapitalsDouble()
    (found,) = translate_placeables([f"{lead}2. Mai ist frei."], double)
    assert (found.text, double.calls) == (f"{lead}2. MAI IST FREI.", [["2. Mai ist frei."]])


@pytest.mark.parametrize("text", ["the plan (like plan B) is", "so (see item 2) is"])
def test_the_end_of_brackets_is_not_an_item(text):
    assert placeable_in_line().search(text) is None


def test_the_code_of_a_place_stays():
    double = CapitalsDouble()
    (found,) = translate_placeables(["Boston, MA 02108-1234"], double)
    assert (found.text, double.calls[0]) == ("BOSTON, MA 02108-1234", ["Boston, ヌ"])


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ('a 55" set', "a ヌ set"),
        ("a 10' set, and 5′", "a ヌ set, and メ"),
        ('it is 15.6".', "it is ヌ."),
        ('he said "it is 5" and "6" of 7" too', 'he said "it is 5" and "6" of ヌ too'),
    ],
)
def test_feet_and_inches_stay(text, asked):
    double = CapitalsDouble(lambda text: [text])
    (found,) = translate_placeables([text], double)
    assert (found.text, double.calls[0]) == (text, [asked])


@pytest.mark.parametrize(
    "lead",
    [
        *("2024-05-01T10:00:00Z ERROR", "2024-05-01 10:00:00,123 INFO [main]", "[main]"),
        *("10:00:00.123 [main] WARN com.example.App -", "[warn]", "W/System:", "D/App( 12):"),
        *("<30>May  1 10:00:00 host app[1]:", "INFO -", "TODO(anna):", "feat(ui)!:", "§ 5(2)"),
        *("java.io.IOException:", "refactor:"),
    ],
)
def test_what_programs_write_before_a_text_stays(lead):
    double = CapitalsDouble()
    (found,) = translate_placeables([f"{lead} The tea"], double)
    assert (found.text, double.calls[0]) == (f"{lead} THE TEA", ["The tea"])


@pytest.mark.parametrize("text", ["FATAL ACCIDENT", "WARNING: Keep out", "INFO DESK", "docs: tea"])
def test_words_of_signs_are_not_those_of_programs(text):
    double = CapitalsDouble()
    translate_placeables([text], double)
    assert double.calls[0] == [text]


@pytest.mark.parametrize("text", ["A → B", "| A | B |", "A / B / C", "A", " B. "])
def test_a_line_of_single_capitals_is_its_own_translation(text):
    double = CapitalsDouble(lambda text: ["lost"])
    (found,) = translate_placeables([text], double)
    assert found.text == text


def test_a_single_capital_becomes_a_word_with_one_capital():
    double = CapitalsDouble(lambda text: ["UN" if text == "A" else text])
    (found,) = translate_placeables(["A *big* car"], double)
    assert found.text == "Un *big* car"


def test_letters_of_a_list_within_a_line_stay():
    double = CapitalsDouble()
    texts = ["Pay: a) tea, (ii) so, (b) cake", "See (a) or (iv), the file", "a. so", "e. g. so"]
    texts += ["[ ] so [x] no ( ) cake", "- so. - NO."]
    found = translate_placeables(texts, double)
    assert [each.text for each in found] == [
        "PAY: a) TEA, (ii) SO, (b) CAKE",
        "SEE (a) OR (iv), THE FILE",
        "a. SO",
        "E. G. SO",
        "[ ] SO [x] NO ( ) CAKE",
        "- SO. - NO.",
    ]
    assert double.calls == [
        ["", "See ヌ or メ, the file", "so", "e. g. so", "", ""],
        ["Pay", "tea", "so", "cake", "so", "no", "cake", "so.", "NO."],
    ]


def test_a_second_point_in_a_line_stays():
    double = CapitalsDouble()
    (found,) = translate_placeables(["1) go. 2) stay (see 3) now"], double)
    assert found.text == "1) GO. 2) STAY (SEE 3) NOW"
    assert double.calls == [[""], ["go.", "stay", "now"], ["see 3"]]


@pytest.mark.parametrize(
    ("text", "parts", "wanted"),
    [
        ("2 teas + 1 cake", ["2 teas", "1 cake"], "2 TEAS + 1 CAKE"),
        ("Q: So? A: No! B: Yes", ["So?", "No!", "Yes"], "Q: SO? A: NO! B: YES"),
    ],
)
def test_a_line_is_cut_at_plus_signs_and_letters_of_answers(text, parts, wanted):
    double = CapitalsDouble()
    (found,) = translate_placeables([text], double)
    assert found.text == wanted
    assert double.calls[-1] == parts


def test_a_sentence_of_a_document_does_not_depend_on_those_beside_it():
    alone, beside = CapitalsDouble(), CapitalsDouble()
    translate_emoji(["(so hot)"], lambda texts: alone(texts, None))
    translate_emoji(["(so hot)", "é"], lambda texts: beside(texts, None))
    assert alone.calls[0][0] == beside.calls[0][0] == "so hot"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("请看https://example.com/a。谢谢", "请看ヌ。谢谢"),
        ("邮箱是a@b.com，请联系", "邮箱是ヌ，请联系"),
        ("请访问www.example.com查看", "请访问ヌ查看"),
        ("版本v2.1.3发布了", "版本ヌ发布了"),
        ("打开C:\\文件\\测试.txt", "打开ヌ"),
        ("コマンドはCtrl+Sです", "コマンドはヌです"),
        ("ดูhttps://a.comครับ", "ดูヌครับ"),
        ("请输入{name}的名字", "请输入ヌ的名字"),
        ("看3点300米", "看3点300米"),
        ("价格$3.5M左右", "价格ヌ左右"),
        ("谢谢@anna_b提醒", "谢谢ヌ提醒"),
        ("http://例え.jp/パス と", "ヌ と"),
    ],
)
def test_placeables_end_where_chinese_begins(text, asked):
    """`请看https://example.com/a。谢谢` was `请看https://` with a placeable of the rest."""
    double = CapitalsDouble()
    assert translate_placeables([text], double)[0].text == text
    assert double.calls[0] == [asked]


@pytest.mark.parametrize("text", ["2024年12月31日", "有15万人"])
def test_numbers_beside_chinese_are_not_looked_for_again(text):
    double = CapitalsDouble(lambda text: ["December 31, 2024"])
    translate_placeables([text], double)
    assert double.calls == [[text]]


def test_parts_of_a_chinese_line_come_apart_in_other_languages():
    names = {"请看": ["see"], "谢谢": ["thanks"]}
    double = CapitalsDouble(lambda text: names.get(text, ["?"]))
    (found,) = translate_placeables(["请看v2.1.3谢谢"], double)
    assert found.text == "see v2.1.3 thanks"


def test_an_error_names_the_place_of_its_text():
    def refuse(text):
        if text == "ask":
            raise TextError("texts", 0, "it is bad.")
        return without_foreign_letters(text)

    with pytest.raises(TextError, match=r"`texts\[1\]`: it is bad\.") as caught:
        translate_placeables(["fine", "ask a@b.org"], CapitalsDouble(refuse))
    assert caught.value.index == 1


@pytest.mark.parametrize("texts", ["one text", [3], ["a\ud800"], None])
def test_anything_but_texts_is_refused(texts):
    with pytest.raises((ValueError, TypeError), match="texts"):
        translate_placeables(texts, CapitalsDouble())


def test_options_about_wordpieces_are_refused():
    check_placeables("keep", prefixes=None)
    check_placeables("translate", prefixes=["a"])
    with pytest.raises(ValueError, match='`placeables="keep"` cannot be combined with `prefixes`'):
        check_placeables("keep", constraint=None, prefixes=["a"])
    with pytest.raises(ValueError, match="Received: placeables='drop'"):
        check_placeables("drop")
    with pytest.raises(ValueError, match="Received: placeables=True"):
        check_placeables(True)


REPEATED = (
    ".",
    "....",
    "[",
    "[a",
    "1/",
    "a/",
    "r/",
    'a="',
    "- -a",
    "1 + ",
    "12:30 ",
    "¯",
    "(°",
    "'",
    '"',
    "9am - ",
    "1 x ",
    "\\emph{",
    "[1/Jan/2024:",
    "a%41",
    "S/",
    "(ab",
    "a,B ",
    "2x ",
    "A) a ",
    "1. a ",
    "C:\\a b",
    "A A <",
    'a("a", ',
    "10 Aa ",
)
"""Of beginnings of placeables, those that a pattern could try again at each place."""


@pytest.mark.timeout(60)  # each would take minutes if its time grew with the square of its length
@pytest.mark.parametrize("part", slow_but(["....", "1 + ", "(°"], REPEATED))
def test_a_long_line_of_beginnings_is_read_once(part):
    line = part * (150_000 // len(part))
    (found,) = translate_placeables(
        [line],
        lambda texts, _: [as_translation([Hypothesis(text, -1.0, -0.5, ("x",))]) for text in texts],
    )
    assert found.text.split() == line.split()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["99, ", "1 000 "])
def test_numbers_of_a_long_line_are_compared_once(part):
    line = part * (150_000 // len(part))
    double = CapitalsDouble(lambda text: [re.sub(r"\d", "", text)])
    (found,) = translate_placeables([f"see {line}"], double)
    assert found.text


def test_a_text_whose_first_words_are_lost_before_a_heart_is_cut_there():
    double = CapitalsDouble(lambda text: [text.removeprefix("I ").lower()])
    found = translate_placeables(["I ❤ tea", "My ❤ cat", "❤ tea", "I 🍕 too"], double)
    assert [each.text for each in found] == ["I ❤ tea", "My ❤ cat", "❤ tea", "🍕 too"]


def test_a_turkish_capital_i_becomes_a_plain_small_one():
    assert begin_alike("the good", "İyi") == "iyi"
