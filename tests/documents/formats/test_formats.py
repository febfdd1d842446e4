"""Every format: texts are translated, and what is not text comes back byte for byte."""

import csv
import dataclasses
import html.parser
import io
import json
import shutil
import subprocess
import zipfile

import pytest

from aiayn_keras.documents.formats.document_files import Document
from aiayn_keras.documents.formats.units import Mark, protect
from aiayn_keras_light.document_formats import FORMATS, format_of
from tests.documents.formats.double import (
    CapitalsDouble,
    in_capitals,
    split_double,
    unchanged,
    without_foreign_letters,
    without_stand_ins,
)
from tests.documents.formats.samples import COLUMNS, SAMPLES, archive, docx_sample


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
        ("he/she and/or 3/4 of it, 24/7, 50-60 people in 2 bars, 5 kg, 1.80 m, 20 °C", []),
        ("a.m. and e.g. are short; so is U.S.A.", []),
        (
            "see HTTP://X.ORG/a_(b), (http://x.org/a) or x.com/[1].",
            ["HTTP://X.ORG/a_(b)", "http://x.org/a", "x.com/[1]"],
        ),
        ("photo.JPG, /tmp/ and #100days, %PATH%", ["photo.JPG", "/tmp/", "#100days", "%PATH%"]),
        (r'see "C:\Program Files\a b.txt" now', [r"C:\Program Files\a b.txt"]),
        ("good :) or bad :-( or ;-P, <3!", [":)", ":-(", ";-P", "<3"]),
        ("at 5 @ home # 7, c# or #1, he said: (no), (b) 5(a)", ["(b)", "(a)"]),
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
        ("$1,299.99 at 10:30 or 10:30:45, €20, 50 %, 1.5, 31.12.2024, 1.000.000", []),
        ("+5 to +10, 010-9999, 123456, defaced, 24-7", []),
        ("the end.the next", []),
        (
            "to *|NAME|*, %%NAME%%, ##name##, <<name>> or <name>: [1] <b>",
            ["*|NAME|*", "%%NAME%%", "##name##", "<<name>>", "<name>", "[1]", "<b>"],
        ),
        ("Tom & Mary of AT&T, R&D, rock&roll", ["AT&T", "R&D", "rock&roll"]),
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
        (
            "Settings → Network, *** tea ***, buy » -> 5--6 --x",
            ["→", "***", "***", "»", "->", "--x"],
        ),
        (
            "call (555) 010-9999, f() or a.b() of std::string with --help; -x, --exit",
            ["(555) 010-9999", "f()", "a.b()", "std::string", "--help", "-x, --exit"],
        ),
        (
            "at 50 km/h, 20 °C (68 °F), 2 x 500 mg, 45–50 km/h, 5 min, 5'10\", 1½ cups, 1234567",
            ["50 km/h", "68 °F", "2 x 500 mg", "45–50 km/h", "5'10\"", "1½", "1234567"],
        ),
        (
            "if x < 5 and a + b >= 3, then 10^6, CO₂, 1e-5, m^2; age > 30, 2 * 3 = 6; I <3 tea",
            ["x < 5", "a + b >= 3", "10^6", "CO₂", "1e-5", "m^2", ">", "2 * 3 = 6", "<3"],
        ),
        (
            "(^_^) T_T (╯°□°)╯︵ ┻━┻ hi ʕ•ᴥ•ʔ ok ^^; ¯\\_(ツ)_/¯ (no) (x2) (-33%) (#12) (10:30 AM)",
            [
                *("(^_^)", "T_T", "(╯°□°)╯︵ ┻━┻", "ʕ•ᴥ•ʔ", "^^;", "¯\\_(ツ)_/¯"),
                *("(x2)", "(-33%)", "(#12)", "(10:30 AM)"),
            ],
        ),
        (
            "port=8080, A_B=/opt, money=power, com.example.App, [worker-1], r/cats and/or $x^2 y$",
            ["port=8080", "A_B=/opt", "com.example.App", "[worker-1]", "r/cats", "$x^2 y$"],
        ),
        (
            "see \\cite{knuth}, ``x = 1`` or :param name: so",
            ["\\cite{knuth}", "``x = 1``", ":param name:"],
        ),
        ("1;Anna;tea for two; yes ;-) tl;dr", [";", ";", ";-)"]),
        ("a *b c* d, ~~e~~ 5*6*7, f* {g", ["*", "*", "~~", "~~", "*", "{"]),
        ("what the h*ck, an A* and 2**3, ab**c, so~~ x", ["h*ck", "*", "~~"]),
        ("[b]Hi[/b] [quote=Tom]yes[/quote]", ["[b]", "[/b]", "[quote=Tom]", "[/quote]"]),
        ("[10:30] <anna> hi", ["[10:30] <anna>"]),
        ("12/03/24, 18:05 - Anna: at 10:30 - yes", ["12/03/24, 18:05 -"]),
        ("ii) tea\n== Tea ==\nTea ..... 5\n-tea", ["ii)", "==", "==", "....."]),
        ("so\n```sh\npip install tea\n```\nyes", ["```sh\npip install tea\n```"]),
        ("// tea /* cake */", ["//", "/*", "*/"]),
        (
            "ask <@U123>, @a.b or <:smile:12> to /help or see /index.html, and/or so /",
            ["<@U123>", "@a.b", "<:smile:12>", "/help", "/index.html"],
        ),
        (
            "curl/8.0, no. 4711/24, on 3/6/2024 at 40°25'N, 3/4 or 25° *.txt **/*.md 50\\% ab[123]",
            ["curl/8.0", "4711/24", "40°25'N", "*.txt", "**/*.md", "50\\%", "ab[123]"],
        ),
        (
            "so\n$ ls -la | grep tea\n$5 off\nme@host:~$ cd ..",
            ["$ ls -la | grep tea", "$5", "me@host:~$ cd .."],
        ),
        ('id 1,Tom,"Tea, hot" of 1,000 ("so," he said), in May,June', [",", ",", ","]),
        (
            "at 5pm on 6–8 May for 12 €, 1 000 000, Henry VIII, 10 x 20 cm car¹",
            ["5pm", "1 000 000", "VIII", "10 x 20 cm", "¹"],
        ),
        (
            "A: tea\n% tea\nb. tea\nC) tea\n\\emph{so hot} ---so--- ~hot~ Tea / Cake Tea > Cake",
            [*("A:", "%", "b.", "C)", "\\emph{", "}", "---", "---", "~", "~", "/", ">")],
        ),
        ("Jun  3 12:00:01 host sshd[1]: so\n3 12:00:01 so", ["Jun  3 12:00:01 host sshd[1]:"]),
        (
            "II. Tea\n(IV) Tea, $3bn, $2M, $5/kg, $1 and $2",
            ["II.", "(IV)", "$3bn", "$2M", "$5/kg", "$1", "$2"],
        ),
        ('① tea ~ cake\n*a note __c d__ NAME="a b"', ["①", "~", "*", "__", "__", 'NAME="a b"']),
    ],
)
def test_names_for_machines_are_not_translated(text, kept):
    marks = [part.raw for part in protect(text) if isinstance(part, Mark)]
    assert marks == kept
    assert "".join(getattr(part, "raw", part) for part in protect(text)) == text


def test_a_time_is_one_of_24_hours_then_a_number():
    double = CapitalsDouble()
    assert in_capitals("come at 5pm, 6 AM", "text", translate=double) == "COME AT 5pm, 6 AM"
    assert double.sentences == ["come at 17:45, 18:35"]
    double = CapitalsDouble(change=lambda word: word.upper().replace(":", "."))
    assert in_capitals("come at 5pm", "text", translate=double) == "COME AT 5pm"
    assert double.sentences == ["come at 17:45", "come at 7001"]


def test_numbers_have_a_space_before_their_units():
    double = CapitalsDouble()
    assert in_capitals("(5km) for 12€ {a}", "text", translate=double) == "(5 KM) FOR 12 € {a}"
    assert in_capitals("<p>5&euro; only</p>", "html") == "<p>5 &euro; ONLY</p>"


def test_marks_have_a_space_behind_them():
    read = in_capitals("It rained.We stayed,too!Why? <b>so</b>,but", "html")
    assert read == "IT RAINED. WE STAYED, TOO! WHY? <b>SO</b>,BUT"
    text = "12,Tom Tea,a cake\ntea,cake,milk\nWe saw Tom,Mary and Bob."
    assert in_capitals(text, "text") == text.upper().replace("TOM,MARY", "TOM, MARY")


def test_entities_of_letters_in_a_word_are_letters():
    assert in_capitals("Caf&eacute; isn&#39;t &amp;", "text") == "CAFÉ ISN'T &amp;"


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


def test_only_sentences_with_tags_are_asked_for_alignments():
    asked = []

    def translate(sentences, align):
        asked.append((align, list(sentences)))
        return double(sentences, align)

    double = CapitalsDouble()
    source = "We like tea.\nThey <b>want</b> <name>.<br>Go."
    found = in_capitals(source, "text", translate=translate)
    assert found == "WE LIKE TEA.\nTHEY <b>WANT</b> <name>.<br>GO."
    assert [each for each in asked if each[1]] == [
        (True, ["They want ヌ."]),
        (False, ["We like tea.", "Go."]),
    ]


class _ScoresDouble(CapitalsDouble):
    """Loses the word `PC`, with another score than for other sentences."""

    def __init__(self, score_without, score_of_word=-3.0):
        super().__init__(change=lambda word: "x" if word == "PC" else word.upper())
        self.score_without, self.score_of_word = score_without, score_of_word

    def _translate(self, sentence, align):
        score = -2.0 if "PC" in sentence else self.score_without
        score = self.score_of_word if sentence == "pc" else score
        return dataclasses.replace(super()._translate(sentence, align), normalized_score=score)


@pytest.mark.parametrize(
    ("double", "word"),
    [
        (_ScoresDouble(-1.0), "PC"),
        (_ScoresDouble(-1.8), "x"),
        (_ScoresDouble(-1.0, score_of_word=-1.0), "x"),
    ],
    ids=["much more probable", "hardly more probable", "known to the model"],
)
def test_an_acronym_in_a_sentence_with_tags_is_kept(double, word):
    found = in_capitals("my <b>PC</b> is off today", "html", translate=double)
    assert found == f"MY <b>{word}</b> IS OFF TODAY"


def test_points_of_unions_are_not_read_beside_tags():
    document = "<p>we <b>love</b> the E.U. <i>a lot</i>, not the U.K.</p>"
    expected = "<p>WE <b>LOVE</b> THE EU <i>A LOT</i>, NOT THE UK.</p>"
    assert in_capitals(document, "html") == expected


def test_an_ellipsis_at_the_end_of_a_sentence_with_tags_stays():
    double = CapitalsDouble(change=lambda word: word.replace("...", ".").upper())
    assert in_capitals("I <b>know</b> it...", "html", translate=double) == "I <b>KNOW</b> IT..."
    assert in_capitals("I <b>know</b> it...", "html") == "I <b>KNOW</b> IT..."


def test_punctuation_behind_a_tag_stays_behind_it():
    document = '<p>See <a>"Tea"</a>. Or <a>what?</a>, or <b>(here)</b>: <i>now!</i></p>'
    expected = '<p>SEE <a>"TEA"</a>. OR <a>WHAT?</a>, OR <b>(HERE)</b>: <i>NOW!</i></p>'
    assert in_capitals(document, "html") == expected


def test_an_amount_in_a_sentence_with_tags_keeps_its_separators():
    def with_points(word):  # as a model would that has not read amounts with groups
        return word.replace(",", ".").upper()

    double = CapitalsDouble(change=with_points)
    text = (
        "<p>The <b>bill</b> was <i>$1,234.56</i> on 3/4.</p> <p>Now <b>€1</b>,234.56 are due.</p>"
    )
    found = in_capitals(text, "html", translate=double)
    assert found == (
        "<p>THE <b>BILL</b> WAS <i>$1,234.56</i> ON 3/4.</p> <p>NOW <b>€1</b>,234.56 ARE DUE.</p>"
    )
    assert "The bill was ヌ on 3/4." in double.sentences


def test_where_marked_words_part_the_texts_between_tags_are_translated_alone():
    def parting(places):
        return [*list(places)[1::2], *list(places)[::2]]

    double = CapitalsDouble(order=parting)
    document = "<p>We <i>like green</i> tea <b>n</b>ow</p>"
    found = in_capitals(document, "html", translate=double)
    assert found == "<p>WE <i>GREEN LIKE</i> TEA <b>n</b>OW</p>"
    assert {"We", "like green", "tea", "n", "ow"} <= set(double.sentences)


def test_tags_in_a_word_go_around_the_word():
    found = in_capitals("<p><b>H</b>ello, it is <i>Anna</i>'s!</p><p>x<b>y</b> is</p>", "html")
    assert found == "<p><b>HELLO</b>, IT IS <i>ANNA'S</i>!</p><p>x<b>y</b> IS</p>"


def test_marks_of_lists_stay_in_a_text():
    double = CapitalsDouble(change=lambda word: word.upper().replace("\u2015", "-"))
    text = "\u2015 Hot tea\no\tCold tea\n1- Green tea\n"
    assert in_capitals(text, "text", None, double) == "\u2015 HOT TEA\no\tCOLD TEA\n1- GREEN TEA\n"
    assert double.sentences == ["Hot tea", "Cold tea", "Green tea"]


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


_WORD_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:v="v"'
)


def _paragraph_in_capitals(runs, double=None):
    """The XML of a paragraph of Word, translated."""
    document = f"<w:document {_WORD_NAMES}><w:body><w:p>{runs}</w:p></w:body></w:document>"
    translated = in_capitals(archive(word__document=document), "docx", translate=double)
    with zipfile.ZipFile(io.BytesIO(translated)) as file:
        written = file.read("word/document.xml").decode().replace(' xml:space="preserve"', "")
    return written[written.index("<w:p>") + 5 : written.index("</w:p>")]


@pytest.mark.parametrize(
    "sign",
    [
        "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>",
        '<w:r><w:sym w:font="Wingdings" w:char="F0E0"/></w:r>',
        "<w:r><w:pict><v:shape/></w:pict></w:r>",
        "<w:r><w:object><v:shape/></w:object></w:r>",
    ],
)
def test_formulas_and_pictures_of_word_stay_between_their_words(sign):
    runs = f"<w:r><w:t>Let </w:t></w:r>{sign}<w:r><w:t> be cold tea.</w:t></w:r>"
    expected = runs.replace("Let", "LET").replace("be cold tea", "BE COLD TEA")
    assert _paragraph_in_capitals(runs) == expected


def _run(text, properties=""):
    properties = properties and f"<w:rPr>{properties}</w:rPr>"
    return f"<w:r>{properties}<w:t>{text}</w:t></w:r>"


def test_words_at_the_ends_of_a_paragraph_of_word_move_with_their_look():
    runs = _run("Tea", "<w:b/>") + _run(" is hot and ") + _run("sweet", "<w:i/>")
    unmoved = _run("TEA", "<w:b/>") + _run(" IS HOT AND ") + _run("SWEET", "<w:i/>")
    assert _paragraph_in_capitals(runs) == unmoved
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    moved = _run("SWEET", "<w:i/>") + _run(" AND HOT IS ") + _run("TEA", "<w:b/>") + _run("")
    empty = "<w:r><w:rPr><w:b/></w:rPr></w:r>" + _run("")
    assert _paragraph_in_capitals(runs, backwards) == empty + moved.removesuffix(_run(""))
    assert backwards.sentences == ["Tea is hot and sweet"]


def test_a_space_with_a_look_of_its_own_does_not_divide_a_sentence_of_word():
    double = CapitalsDouble()
    runs = _run("Hot", "<w:b/>") + _run(" ") + _run("tea", "<w:b/>") + _run(" ", "<w:i/>")
    _paragraph_in_capitals(runs + _run("is sweet"), double)
    assert double.sentences == ["Hot tea is sweet"]


def test_indices_of_word_belong_to_their_symbols():
    double = CapitalsDouble()
    index = '<w:vertAlign w:val="subscript"/>'
    runs = _run("We drink H") + _run("2", index) + _run("O here")
    expected = _run("WE DRINK H") + _run("2", index) + _run("O HERE")
    assert _paragraph_in_capitals(runs, double) == expected
    assert double.sentences == ["We drink ヌ here"]


@pytest.mark.parametrize("tag", ["<w:noBreakHyphen/>", "<w:noBreakHyphen></w:noBreakHyphen>"])
def test_a_hyphen_of_word_belongs_to_its_word(tag):
    runs = f"<w:r><w:t>A non</w:t>{tag}<w:t>stop train</w:t></w:r>"
    assert _paragraph_in_capitals(runs) == "<w:r><w:t>A NON-STOP TRAIN</w:t><w:t></w:t></w:r>"


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (_run("ot tea"), _run("l TÉ")),
        (_run("ot ") + _run("tea", "<w:b/>"), _run("l ") + _run("TÉ", "<w:b/>")),
    ],
)
def test_a_big_first_letter_of_word_belongs_to_its_word(rest, expected):
    frame = '<w:pPr><w:framePr w:dropCap="drop"/></w:pPr>'
    double = CapitalsDouble(change=lambda word: {"Hot": "el", "tea": "TÉ"}.get(word, word.upper()))
    document = (
        f"<w:document {_WORD_NAMES}><w:body><w:p>{frame}{_run('H')}</w:p><w:p>{rest}</w:p>"
        f"<w:p>{_run('So')}</w:p></w:body></w:document>"
    )
    translated = in_capitals(archive(word__document=document), "docx", translate=double)
    with zipfile.ZipFile(io.BytesIO(translated)) as file:
        written = file.read("word/document.xml").decode().replace(' xml:space="preserve"', "")
    wanted = document.replace(_run("H"), _run("e")).replace(rest, expected)
    assert written == wanted.replace(_run("So"), _run("SO"))
    assert double.sentences == ["Hot tea", "So"]


def test_the_numbered_parts_of_a_document_from_sharepoint_are_read():
    body = f"<w:document {_WORD_NAMES}><w:body><w:p>{_run('tea')}</w:p></w:body></w:document>"
    data = archive(word__document2=body, word__comments3=body, word__styles=body)
    translated = in_capitals(data, "docx")
    with zipfile.ZipFile(io.BytesIO(translated)) as file:
        written = {name: "TEA" in file.read(name).decode() for name in file.namelist()}
    assert written == {
        "word/document2.xml": True,
        "word/comments3.xml": True,
        "word/styles.xml": False,
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", '<w:lang w:val="en-US"/>'),
        ('<w:lang w:val="en-US"></w:lang><w:b/>', '<w:b/><w:lang w:val="en-GB"/><w:noProof/>'),
        ("", '<w:rFonts w:hint="eastAsia"/>'),
        ('<w:rFonts w:ascii="A"/>', '<w:rFonts w:hint="eastAsia" w:ascii="A"/>'),
    ],
)
def test_languages_of_a_word_document_do_not_divide_a_sentence(one, other):
    runs = "<w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r><w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r>"
    double = CapitalsDouble()
    found = _paragraph_in_capitals(runs.format(one, "A cup ", other, "of tea"), double)
    assert found == runs.format(one, "A CUP OF TEA", other, "")
    assert double.sentences == ["A cup of tea"]


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


def test_a_catalogue_in_a_different_charset_is_refused():
    header = "Content-Type: text/plain; charset={}\\n"
    for charset in ("UTF-8", "utf-8", "CHARSET"):
        assert "TEA" in in_capitals(_catalogue("Tea", header.format(charset)), "po")
    with pytest.raises(ValueError, match="charset is ISO-8859-1: convert it to UTF-8"):
        in_capitals(_catalogue("Tea", header.format("ISO-8859-1")), "po")


def test_spaces_before_an_empty_translation_are_read():
    found = in_capitals('msgid  "Two teas"\nmsgstr  ""\n', "po")
    assert found == 'msgid  "Two teas"\nmsgstr  "TWO TEAS"\n'


def test_the_only_form_of_a_language_without_plurals_is_the_plural():
    entry = 'msgid "One tea"\nmsgid_plural "%d teas"\nmsgstr[0] ""\n'
    assert in_capitals(entry, "po") == entry.replace('""', '"%d TEAS"')
    found = in_capitals(f'{entry}msgstr[1] ""\n', "po")
    assert found.endswith('msgstr[0] "ONE TEA"\nmsgstr[1] "%d TEAS"\n')


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


@pytest.mark.parametrize(
    "mark",
    ["{% if a < b && c %}", "{{ x | default('a & b') }}", "<%= tea %>", "https://a.b/?x=1&y=2"],
)
def test_html_keeps_bare_signs_of_templates_and_addresses(mark):
    assert in_capitals(f"<p>Tea {mark} now</p>", "html") == f"<p>TEA {mark} NOW</p>"
    mark = html.escape(mark, quote=False)
    assert in_capitals(f"<p>Tea {mark} now</p>", "html") == f"<p>TEA {mark} NOW</p>"


def test_html_keeps_its_encoding():
    document = '<meta charset="iso-8859-1"><p>café &eacute;</p>'.encode("latin-1")
    double = CapitalsDouble(change=lambda word: f"{word}Ωé")
    found = in_capitals(document, "html", translate=double)
    assert (
        found
        == b'<meta charset="iso-8859-1"><p>caf&eacute;&#937;&eacute; &eacute;&#937;&eacute;</p>'
    )


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


def test_what_flutter_says_about_a_text_is_not_translated():
    about = '{"description": "a word", "placeholders": {"a": {"type": "String"}}}'
    source = f'{{"tea": "tea {{a}}", "@tea": {about}, "x": {{"@tea": {{"a": "b"}}}}, "y": "z"}}'
    expected = f'{{"tea": "TEA {{a}}", "@tea": {about}, "x": {{"@tea": {{"a": "B"}}}}, "y": "Z"}}'
    assert in_capitals(source, "json") == expected


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
    source = "1\n00:00:01,000 --> 00:00:02,000\n[Music] [MUSIC] tea\n"
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
    source = "<p>the H<sub>2</sub>O of x<sup>n</sup> and E=mc<sup>2</sup> <a id=x></a> is</p>"
    expected = "<p>THE H<sub>2</sub>O OF x<sup>n</sup> AND E=mc<sup>2</sup> <a id=x></a> IS</p>"
    assert in_capitals(source, "html", translate=double) == expected
    assert double.sentences[0] == "the ヌ of メ and ソ  is"


@pytest.mark.parametrize(
    "source", ["we{x}go {y}now", "①we &amp;go ==now==", "we&nbsp;go &quot;now"]
)
def test_a_text_is_cut_at_words_of_marks_beside_letters(source):
    double = CapitalsDouble()
    assert in_capitals(source, "text", translate=double).lower() == source
    assert double.sentences[-3:] == ["we", "go", "now"]


def test_signs_before_a_number_stay():
    double = CapitalsDouble()
    assert in_capitals("so ~5 be <18 a", "text", translate=double) == "SO ~5 BE <18 A"
    assert double.sentences == ["so ヌ be メ a"]


def test_brackets_around_words_are_a_pair_of_marks():
    backwards = CapitalsDouble(order=lambda places: list(places)[::-1])
    found = in_capitals("Dear [first name] x", "text", translate=backwards)
    assert found == "X [NAME FIRST] DEAR"
    assert in_capitals("a] b [c] d [e", "text") == "A] B [C] D [E"


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
    for name in ("a.pdf", "b.odt", "c.xlsx", "d.docm", "app_en.arb", "e.ftl"):
        with pytest.raises(ValueError, match=f"{name}: the format .* is not supported"):
            format_of(name)
    assert format_of("a.en.gz") is format_of("b.txt.gz") is None
    with pytest.raises(ValueError, match=r"^a/b.json.gz: .*unpack it.*--format lines"):
        format_of("a/b.json.gz")
    with pytest.raises(ValueError, match=r"b.odt: the format .odt is not supported"):
        format_of("b.odt.gz")
    with pytest.raises(ValueError, match="`format` must be one of text, srt"):
        Document(b"", "pdf")
    assert {*SAMPLES, "docx"} == set(FORMATS)


def test_placeables_end_where_chinese_begins():
    double = CapitalsDouble()
    document = Document("<p>见https://a.com/x。好，{x}的</p>".encode(), "html")
    document.translated(split_double, double)
    assert double.sentences == ["见ヌ。好，メ的"]


def test_chinese_sentences_come_apart_in_other_languages():
    def split(texts):
        return [
            (["", "", ""], ["一。", "二。"]) if text == "一。二。" else ([text], [])
            for text in texts
        ]

    double = CapitalsDouble(change={"一。": "One.", "二。": "Two."}.get)
    document = Document("<p>一。二。</p>".encode(), "html")
    assert document.translated(split, double) == b"<p>One. Two.</p>"


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("md", "我要回\n家，\n她看 书。See\nit.\n"),
        ("html", "<p>我要回\n  家，\n她看 书。See\nit.</p>"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\n我要回\n家，\n她看 书。See\nit.\n"),
        ("vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n我要回\n家，\n她看 书。See\nit.\n"),
    ],
)
def test_a_line_break_in_chinese_is_no_space(format, document):
    double = CapitalsDouble()
    Document(document.encode(), format).translated(split_double, double)
    assert double.sentences == ["我要回家，她看 书。See it."]
