"""Subtitles: captions are translated, all else stays, and a damaged line is named."""

import io

import pytest

from aiayn_keras.documents.formats.document_files import Document
from tests.documents.formats.double import (
    CapitalsDouble,
    in_capitals,
    split_double,
    without_stand_ins,
)
from tests.documents.formats.samples import SAMPLES


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
    ("lines", "sentences"),
    [
        (["- Where is", "my tea?", "- At", "home."], ["Where is my tea?", "At home."]),
        (["TOM: I like", "tea", "MRS. X: So", "do I"], ["TOM: I like tea", "MRS.", "X: So do I"]),
        (["♪ La la", "la ♪"], ["La la la"]),
    ],
)
def test_a_speaker_may_have_several_lines(lines, sentences):
    double = CapitalsDouble()
    source = "\n".join(["1", TIMES, *lines, ""])
    assert len(in_capitals(source, "srt", translate=double).splitlines()) == len(lines) + 2
    assert double.sentences == sentences


def test_a_voice_begins_a_text():
    source = f"WEBVTT\n\n{VTT_TIMES}\n<v Tom>We like green tea a lot\n<v.loud Ann>No\n"
    expected = source.replace("We like green tea a lot", "WE LIKE GREEN TEA A LOT")
    assert in_capitals(source, "vtt") == expected.replace("No", "NO")


def test_lines_that_end_sentences_keep_their_places():
    for text in ("<i>Tea.\nThe cake was cold?</i>", "[door]\nGo home now.\n(sighs)"):
        source = f"1\n{TIMES}\n{text}\n"
        assert in_capitals(source, "srt") == source.upper().replace("I>", "i>")
    for begin, rest in (("I saw Mrs.", "Smith"), ("I was...", "here"), ("Tea", "is hot")):
        found = in_capitals(f"1\n{TIMES}\n{begin}\n{rest} by the old lake in winter.\n", "srt")
        assert found.splitlines()[2].startswith(f"{begin} {rest}".upper())


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("srt", f"\n\n1 \n{TIMES} X1:20\ntea \n\n\n2\n\n{TIMES}\ncake\n"),
        ("srt", f"1\n{TIMES}\n\n2\n{TIMES}\ntea\n\ncake\n\n3\n{TIMES}\n1984\n4\n{TIMES}\ntea"),
        ("srt", f"1\n{TIMES}\nA --> B\n\n2\n{TIMES}\n00:01:30\n"),
        ("vtt", f"WEBVTT\nKind: captions\n\n{VTT_TIMES} align:start\ntea\n \n\n{VTT_TIMES}\n \n"),
        (
            "vtt",
            f"WEBVTT\n\n{VTT_TIMES}\n{VTT_TIMES}\ntea\n{VTT_TIMES}\ncake\ntea\n\n{VTT_TIMES}\ntea",
        ),
        ("vtt", f"WEBVTT\n\nNOTE a --> b\n\nNOTE\nan arrow --> here\n\n{VTT_TIMES}\ntea\n"),
    ],
)
def test_unusual_subtitles_are_read_and_keep_their_lines(format, document):
    expected = document.replace("tea", "TEA").replace("cake", "CAKE")
    assert in_capitals(document, format) == expected


def test_sounds_and_references_of_captions():
    text = "<v.x Tom>Don&#39;t [door opens] &amp; go &lt;tea\n- (loud) no (or so)\n"
    source = f"WEBVTT\n\n{VTT_TIMES}\n{text}"
    double = CapitalsDouble()
    expected = source.upper().replace("V.X TOM", "v.x Tom").replace("&AMP;", "&amp;")
    found = in_capitals(source, "vtt", translate=double)
    assert found == expected.replace("&LT;", "&lt;")
    assert {"Don't", "door opens", "loud", "no (or so)"} <= set(double.sentences)


def test_line_breaks_of_ass_divide_words():
    source = f"1\n{TIMES}\nGo.\\NWe are\\nhere\\hnow. See C:\\New\\notes too\\N\\Nyes\n"
    found = in_capitals(source, "srt", translate=CapitalsDouble(change=without_stand_ins))
    text = "GO.\\NWE ARE\\nHERE\\hNOW. SEE C:\\New\\notes TOO\\N\\NYES"
    assert found == f"1\n{TIMES}\n{text}\n"


@pytest.mark.parametrize(
    ("translation", "lines"),
    [
        ("我要回家了，她在看书。", ["我要回家了，", "她在看书。"]),
        ("これはコンピューターです。", ["これはコン", "ピューターです。"]),
        ("See it.", ["See", "it."]),
        ("ดูหนังสือ", ["ดูหนังสือ"]),
    ],
)
def test_chinese_captions_have_as_many_lines(translation, lines):
    document = "1\n00:00:01,000 --> 00:00:04,000\nI am going home\nand she reads.\n"
    double = CapitalsDouble(order=lambda places: list(places)[:1], change=lambda word: translation)
    found = Document(document.encode(), "srt").translated(split_double, double).decode()
    assert found.splitlines()[2:] == lines
