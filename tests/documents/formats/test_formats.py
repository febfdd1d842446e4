"""Every format: texts are translated, and what is not text comes back byte for byte."""

import csv
import html.parser
import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from aiayn_keras.documents.formats.document_files import Document
from aiayn_keras.documents.formats.units import Mark, protect
from aiayn_keras_light.document_formats import FORMATS, format_of
from tests.documents.formats.double import (
    CapitalsDouble,
    in_capitals,
    unchanged,
    without_foreign_letters,
    without_stand_ins,
)
from tests.documents.formats.samples import COLUMNS, SAMPLES, docx_sample

ROOT = Path(__file__).parents[3]
REAL = ["README.md", "docs/training.md", "docs/documents.md"]


@pytest.mark.parametrize("format", SAMPLES)
def test_text_is_translated_and_all_else_stays(format):
    document, expected = SAMPLES[format]
    assert in_capitals(document, format, COLUMNS) == expected
    unmoved = CapitalsDouble(change=unchanged)
    again = in_capitals(expected, format, COLUMNS, unmoved)
    assert again == expected


@pytest.mark.parametrize("format", SAMPLES)
@pytest.mark.parametrize("change", [without_foreign_letters, without_stand_ins])
def test_where_stand_ins_are_lost_marks_are_not(format, change):
    document, expected = SAMPLES[format]
    found = in_capitals(document, format, COLUMNS, CapitalsDouble(change=change))
    assert found == expected


def test_a_word_is_a_letter_then_a_number_and_then_cuts_its_sentence():
    double = CapitalsDouble(change=without_stand_ins)
    assert in_capitals("We like %s today.", "text", translate=double) == "WE LIKE %s TODAY."
    assert double.sentences == [
        "We like ヌ today.",
        "We like 7001 today.",
        "We like",
        "today.",
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("see /usr/local/bin/python3, please", ["/usr/local/bin/python3"]),
        ("see ~/notes or ./run.sh or ../a/b.", ["~/notes", "./run.sh", "../a/b"]),
        (r"see C:\Users\anna\a.txt or \\host\share.", [r"C:\Users\anna\a.txt", r"\\host\share"]),
        ("see notes.v2.txt, data.csv or Node.js.", ["notes.v2.txt", "data.csv", "Node.js"]),
        ("see docs.python.org/3/re.html.", ["docs.python.org/3/re.html"]),
        ("see www.x.de, http://x.de/a?b=c#d.", ["www.x.de", "http://x.de/a?b=c#d"]),
        ("ask anna@x.org, @anna about #tea", ["anna@x.org", "@anna", "#tea"]),
        ("he/she and/or 50 km/h, 3/4 of it, 24/7", []),
        ("a.m. and e.g. are short; so is U.S.A.", []),
        (
            "see HTTP://X.ORG/a_(b), (http://x.org/a) or x.com/[1].",
            ["HTTP://X.ORG/a_(b)", "http://x.org/a", "x.com/[1]"],
        ),
        ("photo.JPG, /tmp/ and #100days, %PATH%", ["photo.JPG", "/tmp/", "#100days", "%PATH%"]),
        (r'see "C:\Program Files\a b.txt" now', [r"C:\Program Files\a b.txt"]),
        ("good :) or bad :-( or ;-P, <3!", [":)", ":-(", ";-P", "<3"]),
        ("at 5 @ home # 7, c# or #1, he said: (no)", []),
        ("$5 and $442 and $1,000", ["$5"]),
        (
            "at 192.168.0.1, 10.0.0.0/8 or 127.0.0.1:8080.",
            ["192.168.0.1", "10.0.0.0/8", "127.0.0.1:8080"],
        ),
        ("fe80::1, ::1 and 00:1A:2b:3c:4d:5e", ["fe80::1", "::1", "00:1A:2b:3c:4d:5e"]),
        (
            "v2.1.3, v2, 2.1.3, 3.12.0rc1 and 1.0.0-beta.2.",
            ["v2.1.3", "v2", "2.1.3", "3.12.0rc1", "1.0.0-beta.2"],
        ),
        (
            "call +1 (555) 010-9999, +49 30 1234567 or +442071234567.",
            ["+1 (555) 010-9999", "+49 30 1234567", "+442071234567"],
        ),
        (
            "ISBN 978-3-16-148410-0, ISBN-10: 0-306-40615-2 or 978-0-306-40615-7",
            ["ISBN 978-3-16-148410-0", "ISBN-10: 0-306-40615-2", "978-0-306-40615-7"],
        ),
        ("see doi:10.1000/xyz123.", ["doi:10.1000/xyz123"]),
        (
            "3f2a9c1e-1234-4abc-9def-0123456789ab, 3f2a9c1 or sha256:deadbeef12",
            ["3f2a9c1e-1234-4abc-9def-0123456789ab", "3f2a9c1", "sha256:deadbeef12"],
        ),
        ("$1,299.99 at 10:30 or 10:30:45, 5 pm, €20, 50 %, 1.5, 31.12.2024, 1.000.000", []),
        ("+5 to +10, (555) 010-9999, 1234567, defaced, std::string, 24-7", []),
        ("the end.the next", []),
        (
            "to *|NAME|*, %%NAME%%, ##name##, <<name>> or <name>: [1] <b>",
            ["*|NAME|*", "%%NAME%%", "##name##", "<<name>>", "<name>", "[1]", "<b>"],
        ),
        ("Tom & Mary of AT&T, R&D, rock&roll", ["&", "AT&T", "R&D", "rock&roll"]),
        (
            "iOS, user_name, a_b() and fooBar(), on A4, in UTF-8, key A1B2-C3D4, OK, T-shirt",
            ["iOS", "user_name", "a_b()", "fooBar()", "A4", "UTF-8", "A1B2-C3D4"],
        ),
        (
            "pay DE89 3704 0044 0532 0130 00 with x7Gh2k, `npm i`, :name or :smile: at 1:30: ok",
            ["DE89 3704 0044 0532 0130 00", "x7Gh2k", "`npm i`", ":name", ":smile:"],
        ),
        (
            "no #INV-2024-001 of 2024-06-01, 1Z999AA10123456784 [x] a   [ ] b",
            ["#INV-2024-001", "2024-06-01", "1Z999AA10123456784", "[x]", "   ", "[ ]"],
        ),
        ("so **b c** and _i_, 2 ** 3, a_, _b, 5*6", ["**", "**", "_", "_"]),
        ("press Ctrl+Shift+F5 or Alt+Enter", ["Ctrl+Shift+F5", "Alt+Enter"]),
        ("Settings → Network, *** tea ***, buy » -> 5--6 --x", ["→", "***", "***", "»", "->"]),
    ],
)
def test_names_for_machines_are_not_translated(text, kept):
    marks = [part.raw for part in protect(text) if isinstance(part, Mark)]
    assert marks == kept
    assert "".join(getattr(part, "raw", part) for part in protect(text)) == text


def test_a_letter_of_the_text_stands_for_nothing():
    double = CapitalsDouble()
    source = "ヌ likes メ, {a} and {b}: 7001."
    assert in_capitals(source, "text", translate=double) == "ヌ LIKES メ, {a} AND {b}: 7001."
    assert double.sentences == ["ヌ likes メ, ソ and ラ: 7001."]


def test_many_words_of_a_sentence_keep_their_order():
    source = " ".join(f"{{a{n}}} and" for n in range(40))
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    expected = " ".join(f"AND {{a{n}}}" for n in reversed(range(40)))
    assert in_capitals(source, "text", translate=backwards) == expected


def test_a_tag_goes_with_its_words():
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    document = "<p>We <i>like <b>green</b> tea</i> and <a href=x>cake</a> today</p>"
    assert in_capitals(document, "html", translate=backwards) == (
        "<p>TODAY <a href=x>CAKE</a> AND <i>TEA <b>GREEN</b> LIKE</i> WE</p>"
    )
    assert in_capitals("I like **green**, and `tea`", "md", translate=backwards) == (
        "`tea` AND **GREEN**, LIKE I"
    )


@pytest.mark.parametrize("change", [str.upper, without_stand_ins])
def test_footnotes_and_boxes_of_tasks_stay_where_they_are(change):
    document = "Old.[^1] Tea[^note x] too[^n2]\n\n[^1]: A house.\n\n- [x] call\n- [ ] buy [y] tea\n"
    expected = "OLD.[^1] TEA[^NOTE X] TOO[^n2]\n\n[^1]: A HOUSE.\n\n- [x] CALL\n- [ ] BUY [Y] TEA\n"
    assert in_capitals(document, "md", translate=CapitalsDouble(change=change)) == expected


def test_where_marked_words_part_the_texts_between_tags_are_translated_alone():
    def parting(places):
        return [*list(places)[1::2], *list(places)[::2]]

    double = CapitalsDouble(order=parting)
    document = "<p>We <i>like green</i> tea <b>n</b>ow</p>"
    found = in_capitals(document, "html", translate=double)
    assert found == "<p>WE <i>GREEN LIKE</i> TEA <b>n</b>OW</p>"
    assert {"We", "like green", "tea", "n", "ow"} <= set(double.sentences)


def test_signs_beside_marks_are_not_translated():
    double = CapitalsDouble(change=without_stand_ins)
    found = in_capitals("We go (see `x`, `y`): now, or not.", "md", translate=double)
    assert found == "WE GO (SEE `x`, `y`): NOW, OR NOT."
    assert double.sentences[2:] == ["We go (see", "now, or not."]


def test_a_word_document_keeps_all_but_its_texts():
    docx = pytest.importorskip("docx")
    data = docx_sample()
    translated = in_capitals(data, "docx")
    document = docx.Document(io.BytesIO(translated))
    assert document.paragraphs[0].text == "MY HOUSE"
    assert document.paragraphs[0].style.name == "Heading 1"
    runs = [(run.text, run.bold) for run in document.paragraphs[1].runs]
    assert runs[:3] == [
        ("I LIKE ", None),
        ("GREEN", True),
        (" TEA. IT IS LATE & DARK.", None),
    ]
    assert document.paragraphs[2].text == "ONE LINE.\nSEE https://a.b/c_d NOW."
    assert [cell.text for cell in document.tables[0].rows[0].cells] == ["YES", "12"]
    assert document.sections[0].header.paragraphs[0].text == "A HEADER"
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(io.BytesIO(translated)) as new:
        assert new.testzip() is None
        assert new.namelist() == old.namelist()
        changed = {name for name in old.namelist() if old.read(name) != new.read(name)}
    assert changed == {"word/document.xml", "word/header1.xml"}


def test_marks_of_a_word_document_move_with_their_words():
    docx = pytest.importorskip("docx")
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    document = docx.Document(io.BytesIO(in_capitals(docx_sample(), "docx", None, backwards)))
    runs = [(run.text, run.bold) for run in document.paragraphs[1].runs]
    assert runs[:3] == [("TEA. ", None), ("GREEN", True), (" LIKE I DARK. & LATE IS IT", None)]


def test_subtitles_are_read_by_their_library():
    webvtt = pytest.importorskip("webvtt")
    for kind in ("srt", "vtt"):
        document = SAMPLES[kind][0]
        old, new = (
            webvtt.from_buffer(io.StringIO(text.replace("\r\n", "\n")), format=kind).captions
            for text in (document, in_capitals(document, kind))
        )
        assert [(each.start, each.end) for each in new] == [(each.start, each.end) for each in old]
        texts = [[each.text.upper().split() for each in found] for found in (old, new)]
        assert texts[0] == texts[1]


def test_times_within_a_caption_stay():
    caption = "WEBVTT\n\n00:01.000 --> 00:09.000\n"
    source = f"{caption}<c.x>Where is</c> <00:04.500>the <00:00:05.000>dog?\n"
    expected = f"{caption}<c.x>WHERE IS</c> <00:04.500>THE <00:00:05.000>DOG?\n"
    assert in_capitals(source, "vtt") == expected


TIMES = "00:00:01,000 --> 00:00:02,000"
VTT_TIMES = "00:01.000 --> 00:02.000"


@pytest.mark.parametrize(
    ("format", "document", "message"),
    [
        ("srt", "\n\ntea", r"line 3: .*number of the first caption, such as 1\. Received: 'tea'"),
        ("srt", "1\ntea", r"line 2: .*00:00:01,000 --> 00:00:02,500\. Received: 'tea'"),
        ("srt", "1\n00:00:01,000 -> 00:00:02,000\ntea", "line 2: .*Received: '00:00:01,000 -> "),
        ("srt", "1\n00:01,000 --> 00:02,000\ntea", "line 2: .*00:00:01,000 --> "),
        ("srt", f"1\n{TIMES}\ntea\n\n2\n00:00:61,000 --> 00:00:62,000\ntea", "line 6: .*:61,000"),
        ("srt", f"1\r\n{TIMES}\r\ntea\r\n\r\n{TIMES}\r\ntea", "line 5: .*must be above its times"),
        ("srt", f"1\n{TIMES}\ntea\n{TIMES}\ntea", "line 4: .*must be above its times"),
        ("srt", f"WEBVTT\n\n{VTT_TIMES}\ntea", "line 1: .*give --format vtt"),
        ("srt", "1", "line 1: .*below it must be times"),
        ("vtt", f"1\n{TIMES}\ntea", "line 1: .*must begin with WEBVTT. Received: '1'"),
        ("vtt", f"WEBVTT\n\n{TIMES}\ntea", r"line 3: .*00:00:01\.000 --> .*Received: '00:00:01,0"),
        ("vtt", f"WEBVTT\n\n{VTT_TIMES}\ntea\n\n00:03.000 => 00:04.000\ntea", "line 6: "),
        ("vtt", "WEBVTT\n\ntea", r"no line has times such as 00:00:01\.000"),
    ],
)
def test_a_damaged_line_of_subtitles_is_named(format, document, message):
    with pytest.raises(ValueError, match=message):
        Document(document.encode(), format)


def test_lines_of_speakers_and_songs_are_translated_alone():
    for sign in ("- ", ">> ", "♪ ", "<i>- "):
        double = CapitalsDouble()
        source = f"1\n{TIMES}\n{sign}Tea is\n{sign}hot today.\n"
        found = in_capitals(source, "srt", translate=double)
        assert found == f"1\n{TIMES}\n{sign}TEA IS\n{sign}HOT TODAY.\n"
        assert len(double.sentences) == 2


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("srt", f"\n\n1 \n{TIMES} X1:20\ntea \n\n\n2\n\n{TIMES}\ncake\n"),
        ("srt", f"1\n{TIMES}\n\n2\n{TIMES}\ntea\n\ncake\n\n3\n{TIMES}\n1984\n4\n{TIMES}\ntea"),
        ("srt", f"1\n{TIMES}\nA --> B\n\n2\n{TIMES}\n00:01:30\n"),
        ("vtt", f"WEBVTT\nKind: captions\n\n{VTT_TIMES} align:start\ntea\n \n\n{VTT_TIMES}\n \n"),
        ("vtt", f"WEBVTT\n\nNOTE a --> b\n\nNOTE\nan arrow --> here\n\n{VTT_TIMES}\ntea\n"),
    ],
)
def test_unusual_subtitles_are_read_and_keep_their_lines(format, document):
    expected = document.replace("tea", "TEA").replace("cake", "CAKE")
    assert in_capitals(document, format) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("Tea\n: A drink\n  of leaves.\n: Hot.\n", "TEA\n: A DRINK OF LEAVES.\n: HOT.\n"),
        ("Tea `x`\n\n:   A *drink*.\n\n    Hot.\n", "TEA `x`\n\n:   A *DRINK*.\n\n    HOT.\n"),
        ("> [!NOTE]\n> Tea is\n> hot.\n", "> [!NOTE]\n> TEA IS HOT.\n"),
        ("> [!tip]- Tea\n> Hot.\n", "> [!tip]- TEA\n> HOT.\n"),
        ("---\ntitle: Tea\n---\n\nTea\n---\n", "---\ntitle: Tea\n---\n\nTEA\n---\n"),
        ("Tea.[^a]\n\n[^a]: Hot.\n\n    Sweet.\n", "TEA.[^a]\n\n[^a]: HOT.\n\n    SWEET.\n"),
        ("[^a]: Hot\n[^b]: Sweet\n", "[^a]: HOT\n[^b]: SWEET\n"),
        (
            "| a | b \\| c |\n|---|:-:|\n| `x \\| y` | d \\|\\| e |\n",
            "| A | B \\| C |\n|---|:-:|\n| `x \\| y` | D \\|\\| E |\n",
        ),
        (
            "1. tea\n   - hot\n\n     > sweet\n     cake\n\n     ```\n     tea\n     ```\n",
            "1. TEA\n   - HOT\n\n     > SWEET CAKE\n\n     ```\n     tea\n     ```\n",
        ),
        ("<!-- tea -->\n\nTea <!-- x --> hot\n", "<!-- tea -->\n\nTEA <!-- x --> HOT\n"),
        ("<!-- tea\n\nhot -->\nTea\n", "<!-- tea\n\nhot -->\nTEA\n"),
        ("(a-name)=\n# Tea {#tea}\n\n% hot\n", "(a-name)=\n# TEA {#tea}\n\n% hot\n"),
        ("{: .a-class }\nTea\n\nCake\n{: .b}\n", "{: .a-class }\nTEA\n\nCAKE\n{: .b}\n"),
        ("a [tea](u){target=b} now\n", "A [TEA](u){target=b} NOW\n"),
        ("*[CPU]: the unit\n*[RAM]: memory\n", "*[CPU]: THE UNIT\n*[RAM]: MEMORY\n"),
        ("see C:\\Users\\a or \\b \\* x\n", "SEE C:\\Users\\a OR \\B \\* X\n"),
        ("so $a*b*c$ and\n$$\nx\n$$ it is\n", "SO $a*b*c$ AND $$\nx\n$$ IT IS\n"),
        ("\\begin{align}\na\n\\end{align}\n\ntea\n", "\\begin{align}\na\n\\end{align}\n\nTEA\n"),
        ("press <kbd>Tab</kbd> &nGtv; now\n", "PRESS <kbd>Tab</kbd> &nGtv; NOW\n"),
        ("Tea\nCoffee\n: Hot\n: Dark\n", "TEA\nCOFFEE\n: HOT\n: DARK\n"),
        ("{% hint %}\nTea\nis\n{% end %}\n", "{% hint %}\nTEA IS\n{% end %}\n"),
        ("import A from 'b';\n\ntea (*is*) hot\n", "import A from 'b';\n\nTEA (*IS*) HOT\n"),
        ("a ==hot *tea*== now ^name-1\n", "A ==HOT *TEA*== NOW ^name-1\n"),
        ("\\* a\n1986\\. Tea. See www.x.org.\n", "\\* A 1986. TEA. SEE www.x.org.\n"),
        ("tea\\! or \\! not\n", "TEA\\! OR \\! NOT\n"),
        ("Date: tea\nTitle: Tea\n\nTea\n", "Date: tea\nTitle: Tea\n\nTEA\n"),
        ("a :smile: [[Tea|hot]] o/r#7 at 10:30:45\n", "A :smile: [[Tea|hot]] o/r#7 AT 10:30:45\n"),
    ],
)
def test_markdown_keeps_all_but_its_texts(document, expected):
    assert in_capitals(document, "md") == expected
    found = in_capitals(document.replace("\n", "\r\n"), "md")
    assert found == expected.replace("\n", "\r\n")


def test_references_of_markdown_keep_their_names():
    source = "See [ref], [ref][] and [the ref][ref].\n\n[ref]: http://x.org\n"
    assert in_capitals(source, "md") == (
        "SEE [REF][ref], [REF][ref] AND [THE REF][ref].\n\n[ref]: http://x.org\n"
    )


def test_fences_of_colons_stay_around_their_text():
    source = "Tea.\n:::{note} A b\n:class: tip\n\nA *note*.\n:::\n\n::::\n- item\n::::\n"
    expected = "TEA.\n:::{note} A b\n:class: tip\n\nA *NOTE*.\n:::\n\n::::\n- ITEM\n::::\n"
    assert in_capitals(source, "md") == expected
    assert in_capitals(source.replace("\n", "\r\n"), "md") == expected.replace("\n", "\r\n")


def _catalogue(source, header=""):
    return f'msgid ""\nmsgstr "Language: es\\n{header}"\n\nmsgid "_Go"\nmsgstr ""\n\n' + (
        f'msgid "{source}"\nmsgstr ""\n'
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("&Open file", "&OPEN FILE"),
        ("Save &As…", "SAVE &AS…"),
        ("E&xit", "&EXIT"),
        ("Fo&rmat", "&FORMAT"),
        ("_Open", "_OPEN"),
        ("Copy lin_k", "_COPY LINK"),
        ("~Help", "~HELP"),
        ("%s &items\\n", "%s &ITEMS\\n"),
        ("&About {name}", "&ABOUT {name}"),
        ("R&D &costs", "R&D &COSTS"),
        ("Find && &Go", "FIND && &GO"),
        ("Tom & Mary", "TOM & MARY"),
        ("R&D", "R&D"),
        ("rock&roll now", "rock&roll NOW"),
        ("set the user_name here", "SET THE user_name HERE"),
        ("at http://x.org/?a=1&b=2", "AT http://x.org/?a=1&b=2"),
        ("&copy; 2024 me", "&copy; 2024 ME"),
        ("user_name", ""),
        ("en-US", ""),
    ],
)
def test_a_translation_has_the_accelerator_of_its_source(source, expected):
    found = in_capitals(_catalogue(source), "po")
    assert found == _catalogue(source).replace(
        f'"{source}"\nmsgstr ""', f'"{source}"\nmsgstr "{expected}"'
    ).replace('"_Go"\nmsgstr ""', '"_Go"\nmsgstr "_GO"')


def test_an_accelerator_is_before_the_same_letter_or_the_first_one():
    def translated(source, translation, format="po"):
        double = CapitalsDouble(change=lambda word: translation)
        document = _catalogue(source) if format == "po" else json.dumps([source, "\u00e9 a"])
        return in_capitals(document, format, translate=double)

    assert 'msgstr "guardar &Como"' in translated("&Copy", "guardar Como")
    assert 'msgstr "¿&abrir?"' in translated("&Open", "¿abrir?")
    assert 'msgstr "&Tom & Jerry"' in translated("Fo&rmat", "&Tom & Jerry")
    assert 'msgstr "12"' in translated("&Ten", "12")
    assert '["&\\u00c9l", ' in translated("&He", "Él", "json")


def test_a_catalogue_declares_its_marker():
    header = "X-Accelerator-Marker: %s\\n"
    found = in_capitals(_catalogue("Go i~t", header % "~"), "po")
    assert 'msgstr "~GO IT"' in found
    assert 'msgid "_Go"\nmsgstr ""' in found  # now an identifier
    assert 'msgstr "GO I~T"' in in_capitals(_catalogue("Go i~t"), "po")


@pytest.mark.parametrize("line", ['msgid "Hi', 'msgid Hi"', '"Hi" x', "msgid"])
def test_a_damaged_line_of_a_catalogue_is_named(line):
    with pytest.raises(ValueError, match=r"not a valid \.po catalogue"):
        in_capitals(f'msgid "a"\nmsgstr ""\n\n{line}\nmsgstr ""\n', "po")


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
def test_msgfmt_takes_the_catalogue(tmp_path):
    path = tmp_path / "x.po"
    translate = CapitalsDouble(change=lambda word: f"¡{word}!")
    path.write_text(in_capitals(SAMPLES["po"][0], "po", translate=translate), "utf-8")
    command = ["msgfmt", "--check-format", "--output-file", tmp_path / "x.mo", path]
    subprocess.run(command, check=True)


def test_tables_and_json_are_read_by_python():
    comma = CapitalsDouble(change=lambda word: f'"{word},')
    for kind, delimiter, row in (("csv", ",", 2), ("tsv", "\t", 1)):
        document = SAMPLES[kind][0]
        found = in_capitals(document, kind, COLUMNS, comma)
        old, new = (
            list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
            for text in (document, found)
        )
        assert [row[:1] for row in new] == [row[:1] for row in old]
        assert new[row][1].startswith('"')
    found = json.loads(in_capitals(SAMPLES["json"][0], "json", translate=comma))
    assert found["a"][0] == '"tea, ""x",'
    assert list(found) == ["hello", "n", "a"]


class _Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))

    def handle_endtag(self, tag):
        self.found.append(tag)


def test_html_keeps_its_tags_whatever_is_written():
    document = SAMPLES["html"][0]
    signs = CapitalsDouble(change=lambda word: f"<{word}&")
    found = in_capitals(document, "html", translate=signs)
    assert _Tags(found).found == _Tags(document).found


def test_html_keeps_its_encoding():
    document = '<meta charset="iso-8859-1"><p>café &eacute;</p>'.encode("latin-1")
    double = CapitalsDouble(change=lambda word: f"{word}Ωé")
    found = in_capitals(document, "html", translate=double)
    assert (
        found
        == b'<meta charset="iso-8859-1"><p>caf&eacute;&#937;&eacute; &eacute;&#937;&eacute;</p>'
    )


def _structure(markdown):
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [
        (token.type, token.tag, token.info, token.content if token.type == "fence" else "")
        for token in tokens
    ]


@pytest.mark.parametrize("name", REAL)
def test_a_real_page_keeps_its_structure(name):
    pytest.importorskip("mdit_py_plugins")
    page = (ROOT / name).read_text("utf-8")
    found = in_capitals(page, "md")
    assert _structure(found) == _structure(page)
    unmoved = in_capitals(page, "md", translate=CapitalsDouble(change=unchanged))
    assert unmoved.split() == page.split()


def test_markdown_that_looks_like_marks_is_escaped():
    double = CapitalsDouble(change=lambda word: {"one": "1.", "two": "*x*"}.get(word, word))
    assert in_capitals("one two", "md", translate=double) == "1\\. \\*x\\*"


def test_columns_are_named_or_numbered():
    table = "a;b\nx;y\n"
    assert in_capitals(table, "csv", ["b"]) == "a;b\nx;Y\n"
    assert in_capitals(table, "csv", ["1"]) == "A;b\nX;y\n"
    for columns, message in ((None, "needs --columns"), (["c"], "no column 'c'"), (["3"], "'3'")):
        with pytest.raises(ValueError, match=message):
            Document(table.encode(), "csv", columns)


@pytest.mark.parametrize(
    "value",
    [
        *("user_name", "MAX_SIZE", "camelCaseWord", "UserName", "menu.file.open", "col-md-6"),
        *("en-US", "pt_BR", "zh-Hans-CN", "3f2a9c1e-1234-4abc-9def-0123456789ab", "a3f5c9d1"),
        *("#fff", "#00FF7f", "rgba(0, 1, 2, 0.5)", "12px", "image/png", "text/html;charset=utf-8"),
        *("2024-01-31T10:00:00.5Z", "P1DT2H", "dd/MM/yyyy", "^18.2.0", "SKU-1234", "@a/b", "true"),
        *("dGhpcyBpcyBhIHRlc3Q9PQ==", "src/img/logo", "user:read"),
    ],
)
def test_identifiers_are_not_translated(value):
    document = json.dumps({"text": value, "other": [value, "tea"]})
    assert in_capitals(document, "json") == document.replace('"tea"', '"TEA"')
    table = f'text\n"{value}"\n"tea"\n'
    assert in_capitals(table, "csv", ["text"]) == table.replace('"tea"', '"TEA"')


@pytest.mark.parametrize(
    "value",
    [
        *("Save", "kitchen", "OK", "FAQ", "check-in", "state-of-the-art", "T-shirt", "Sign-in"),
        *("and/or", "a.m.", "24-hour", "don't", "Name:", "en", "added", "facade", "naïve", "Hmm"),
    ],
)
def test_words_are_translated(value):
    document = json.dumps({"text": value}, ensure_ascii=False)
    assert in_capitals(document, "json") == document.replace(value, value.upper())


def test_keys_tell_that_a_value_is_a_code():
    source = '{"lang": "en", "@type": "Person", "$schema": "x y", "languages": ["en", "English"]}'
    assert in_capitals(source, "json") == source.replace("English", "ENGLISH")
    source = '{"icon": "fa-solid", "productId": "chair", "id": "A chair", "idea": "chair"}'
    assert in_capitals(source, "json") == source.replace("A chair", "A CHAIR").replace(
        '"idea": "chair"', '"idea": "CHAIR"'
    )


def test_plurals_of_a_user_interface_keep_their_syntax():
    source = (
        '{"a": "{n, plural, =0 {no tea} one {# cup of {name}} other {# cups}}, {n, number} it"}'
    )
    expected = (
        '{"a": "{n, plural, =0 {NO TEA} one {# CUP OF {name}} other {# CUPS}}, {n, number} IT"}'
    )
    assert in_capitals(source, "json") == expected
    source = '{"a": "I <1>am</1> <0/> $t(a.b) @:c.d %{e} $F$ {first name}"}'
    expected = '{"a": "I <1>AM</1> <0/> $t(a.b) @:c.d %{e} $F$ {first name}"}'
    assert in_capitals(source, "json") == expected


@pytest.mark.parametrize(
    "cell",
    [
        *(
            "=SUM(A1:A3)",
            '=IF(A1>0;""yes"";""no"")',
            "= A1",
            "+A1",
            "-B2*C2",
            "@SUM(A1:B2)",
            "@cell",
        ),
        *("+SUM(a1)", "='My sheet'!A1", "+Sheet1!$A$1"),
    ],
)
def test_formulas_of_a_table_stay(cell):
    table = f'text,note\n"{cell}",tea\n"tea",tea\n'
    assert in_capitals(table, "csv", ["text"]) == table.replace('"tea"', '"TEA"')


@pytest.mark.parametrize("cell", ["- tea", "+ tea", "-tea", "+1 for tea", "=== tea ==="])
def test_cells_that_begin_with_a_sign_are_text(cell):
    found = in_capitals(f"text\n{cell}\n", "csv", ["text"])
    assert found == f"text\n{cell.upper()}\n"


def test_words_in_brackets_are_placeholders_in_capitals_but_not_in_subtitles():
    assert in_capitals("Dear [NAME] or [first name],", "text") == "DEAR [NAME] OR [FIRST NAME],"
    source = f"1\n{TIMES}\n[Music] [MUSIC] tea\n"
    double = CapitalsDouble(change=str.lower)
    assert in_capitals(source, "srt", translate=double) == source.lower()
    source = '[gallery ids="1,2"] tea [caption x=y]is[/caption] now Ctrl+Shift+S'
    expected = '[gallery ids="1,2"] TEA [caption x=y]IS[/caption] NOW Ctrl+Shift+S'
    assert in_capitals(source, "text") == expected


def test_a_table_of_excel_names_its_separator():
    table = 'sep=;\r\nid; text\r\n1;"tea, hot"\r\n'
    assert in_capitals(table, "csv", ["text"]) == table.replace("tea, hot", "TEA, HOT")
    assert in_capitals(table.replace(";", "\t"), "tsv", ["2"]) == (
        table.replace(";", "\t").replace("tea, hot", "TEA, HOT").replace("text", "TEXT")
    )


def test_a_cell_that_its_commas_divide_is_named():
    with pytest.raises(ValueError, match="row 2: it has 2 cells, and the first row has one"):
        Document(b"text\ntea, hot\n", "csv", ["text"])


def test_signs_around_words_that_stay_are_not_lost():
    double = CapitalsDouble(change=without_stand_ins)
    source = 'See "a.txt" (v2) <a@b.org> ({x}) %s.'
    assert in_capitals(source, "text", translate=double).replace("SEE", "See") == source
    double = CapitalsDouble()
    source = "see ([#1](u), `a`) **`b`** [c `d`](u) now"
    expected = "SEE ([#1](u), `a`) **`b`** [C `d`](u) NOW"
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    assert in_capitals("tea (**is** hot)", "md", translate=backwards) == "HOT) (**IS** TEA"
    assert in_capitals('tea ("*is*") hot', "md", translate=backwards) == 'HOT ("*IS*") TEA'
    assert in_capitals(source, "md", translate=double) == expected
    assert double.sentences == ["see (ヌ, メ) ソ c ラ now"]


def test_indices_belong_to_their_symbols():
    double = CapitalsDouble()
    source = "<p>the H<sub>2</sub>O of x<sup>n</sup> and tea<sup>1</sup> <a id=x></a>is</p>"
    expected = "<p>THE H<sub>2</sub>O OF x<sup>n</sup> AND TEA<sup>1</sup> <a id=x></a>IS</p>"
    assert in_capitals(source, "html", translate=double) == expected
    assert double.sentences[0] == "the ヌ of メ and teaソ is"


def test_brackets_around_words_are_a_pair_of_marks():
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    found = in_capitals("Dear [first name] x", "text", translate=backwards)
    assert found == "X [NAME FIRST] DEAR"
    assert in_capitals("a] b [c] d [e", "text") == "A] B [C] D [E"


def test_sounds_and_references_of_captions():
    text = "<v.x Tom>Don&#39;t [door opens] &amp; go &lt;tea\n- (loud) no (or so)\n"
    source = f"WEBVTT\n\n{VTT_TIMES}\n{text}"
    double = CapitalsDouble()
    expected = source.upper().replace("V.X TOM", "v.x Tom").replace("&AMP;", "&amp;")
    found = in_capitals(source, "vtt", translate=double)
    assert found == expected.replace("&LT;", "&lt;")
    assert {"Don't", "door opens", "loud", "no (or so)"} <= set(double.sentences)


def test_references_to_spaces_at_the_ends_of_a_text_stay():
    source = "<p>&nbsp;tea&#39;s hot &#8202;&zwnj;&nbsp;</p>"
    assert in_capitals(source, "html") == source.replace("tea", "TEA").replace("s hot", "S HOT")


def test_a_label_keeps_its_ending():
    double = CapitalsDouble()
    assert 'msgstr "&OPEN FILE…"' in in_capitals(_catalogue("&Open file…"), "po", translate=double)
    assert "Open file" in double.sentences
    source = '{"a": "Name:", "b": "Wait ...", "c": "Don&#39;t"}'
    double = CapitalsDouble()
    found = in_capitals(source, "json", translate=double)
    assert found == '{"a": "NAME:", "b": "WAIT ...", "c": "DON\'T"}'
    assert double.sentences == ["Name", "Wait", "Don't"]


def test_an_entry_without_words_is_its_own_translation():
    assert 'msgstr "%s"' in in_capitals(_catalogue("%s"), "po")


def test_an_error_of_a_table_names_its_line():
    with pytest.raises(ValueError, match="line 3: not a valid table: ';' expected"):
        Document(b'sep=;\nid;text\n1;"tea" x\n', "csv", ["text"])


def test_formats_are_known_by_their_endings():
    assert format_of("a/B.HTML") == "html"
    assert format_of("a.en") is None
    for name in ("a.pdf", "b.odt", "c.xlsx", "d.docm"):
        with pytest.raises(ValueError, match=f"{name}: the format .* is not supported"):
            format_of(name)
    with pytest.raises(ValueError, match="`format` must be one of text, srt"):
        Document(b"", "pdf")
    assert {*SAMPLES, "docx"} == set(FORMATS)
