"""A document of each format, and what it becomes where all words are written in capitals."""

import io
import zipfile

HTML = """<!DOCTYPE html>
<html lang="en"><head><title>My house</title><script>var a = "tea";</script></head>
<body class="x">
<p id=one>I like <b>green</b> tea &mdash; and
  <a href="http://a.b/?x=1&amp;y=2" title="a cup">cake</a>.<br>It is "late" &amp; dark.</p>
<p translate="no">No tea.</p><pre>print(tea)</pre><!-- a comment -->
<ul><li>Open <code>main.py</code> now.<li>12 &copy; 2024</ul>
</body></html>
"""
HTML_IN_CAPITALS = """<!DOCTYPE html>
<html lang="en"><head><title>MY HOUSE</title><script>var a = "tea";</script></head>
<body class="x">
<p id=one>I LIKE <b>GREEN</b> TEA &mdash; AND <a href="http://a.b/?x=1&amp;y=2" \
title="a cup">CAKE</a>.<br>IT IS "LATE" &amp; DARK.</p>
<p translate="no">No tea.</p><pre>print(tea)</pre><!-- a comment -->
<ul><li>OPEN <code>main.py</code> NOW.<li>12 &copy; 2024</ul>
</body></html>
"""

MARKDOWN = """---
title: tea
---
# My *own* house

> I like **green** tea, and [my sister](http://a.b/c "title")
> works. Run `make all` now.\\
> Two \\* three &amp; <b>four</b> {ref}`label`, $x_1$ ![i](p.png).

- one
  1. See <https://a.b/c> or me@example.com.

| name | a \\| b |
|:-----|------:|
| tea  | 12 |

```python
print("tea")
```

<p align="center">Some <i>words</i></p>
"""
MARKDOWN_IN_CAPITALS = """---
title: tea
---
# MY *OWN* HOUSE

> I LIKE **GREEN** TEA, AND [MY SISTER](http://a.b/c "title") WORKS. RUN `make all` NOW.\\
> TWO \\* THREE &amp; <b>FOUR</b> {ref}`label`, $x_1$ ![i](p.png).

- ONE
  1. SEE <https://a.b/c> OR me@example.com.

| NAME | A \\| B |
|:-----|------:|
| TEA  | 12 |

```python
print("tea")
```

<p align="center">SOME <i>WORDS</i></p>
"""

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>I like tea.</i>\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}My sister works in\r\na house.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n- Tea?\r\n- <i>Yes</i>, %s.\r\n"
)
SRT_IN_CAPITALS = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>I LIKE TEA.</i>\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n{\\an8}MY SISTER WORKS\r\nIN A HOUSE.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n- TEA?\r\n- <i>YES</i>, %s.\r\n"
)
VTT = (
    "WEBVTT - tea\n\nNOTE tea\n\nSTYLE\n::cue { color: red }\n\ncue one\n"
    "00:01.000 --> 00:02.000 line:0\n<v Bob>I like <c.green>green</c> tea.\n"
)
VTT_IN_CAPITALS = (
    VTT.replace("I like", "I LIKE").replace(">green<", ">GREEN<").replace(" tea.\n", " TEA.\n")
)
PO = """# A comment
msgid ""
msgstr ""
"Project-Id-Version: x\\n"
"Language: es\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: main.c:3
#, c-format
msgid "You have %d \\"new\\" messages from %s, 50%% of all.\\n"
msgstr ""

msgctxt "fruit"
msgid "one apple"
msgid_plural "%(n)d apples"
msgstr[0] ""
msgstr[1] ""

msgid "Yes"
msgstr "Sí"

msgid ""
"I like tea.\\n"
"Hello {name}."
msgstr ""

#~ msgid "old"
#~ msgstr ""
"""
PO_IN_CAPITALS = (
    PO.replace(
        's, 50%% of all.\\n"\nmsgstr ""',
        's, 50%% of all.\\n"\nmsgstr "YOU HAVE %d \\"NEW\\" MESSAGES FROM %s, 50%% OF ALL.\\n"',
    )
    .replace('msgstr[0] ""', 'msgstr[0] "ONE APPLE"')
    .replace('msgstr[1] ""', 'msgstr[1] "%(n)d APPLES"')
    .replace(
        '"Hello {name}."\nmsgstr ""',
        '"Hello {name}."\nmsgstr ""\n"I LIKE TEA.\\n"\n"HELLO {name}."',
    )
)
CSV = 'id,text,note\r\n1,"tea, ""hot"" and\nsweet",tea\r\n2,cake,"x"\r\n\r\n'
CSV_IN_CAPITALS = 'id,text,note\r\n1,"TEA, ""HOT"" AND\nSWEET",tea\r\n2,CAKE,"x"\r\n\r\n'
TSV = "id\ttext\n1\tI like tea.\n"
TSV_IN_CAPITALS = "id\ttext\n1\tI LIKE TEA.\n"
JSON = '{"hello": "Hello,\\n{name}!", "n": 1.50e1,\n "a": ["tea \\"x\\"", {"b" : "See https://a.b/c"}]}'
JSON_IN_CAPITALS = '{"hello": "HELLO,\\n{name}!", "n": 1.50e1,\n "a": ["TEA \\"X\\"", {"b" : "SEE https://a.b/c"}]}'
TEXT = "tea\t12\tI like tea.\n| a | b |\n> See https://a.b/c_d, or %s.\n"
TEXT_IN_CAPITALS = "TEA\t12\tI LIKE TEA.\n| A | B |\n> SEE https://a.b/c_d, OR %s.\n"

SAMPLES = {
    "text": (TEXT, TEXT_IN_CAPITALS),
    "html": (HTML, HTML_IN_CAPITALS),
    "md": (MARKDOWN, MARKDOWN_IN_CAPITALS),
    "srt": (SRT, SRT_IN_CAPITALS),
    "vtt": (VTT, VTT_IN_CAPITALS),
    "po": (PO, PO_IN_CAPITALS),
    "csv": (CSV, CSV_IN_CAPITALS),
    "tsv": (TSV, TSV_IN_CAPITALS),
    "json": (JSON, JSON_IN_CAPITALS),
}
COLUMNS = ["text"]


def docx_sample():
    """Bytes of a document with a heading, runs, a table, a header, a line break and a link."""
    import docx

    document = docx.Document()
    document.add_heading("My house", 1)
    paragraph = document.add_paragraph("I like ")
    paragraph.add_run("green").bold = True
    for text in (" tea. ", "It is", " late & dark."):
        paragraph.add_run(text)
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Yes", "12"
    document.sections[0].header.paragraphs[0].text = "A header"
    paragraph = document.add_paragraph("One line.")
    paragraph.runs[0].add_break()
    paragraph.add_run("See https://a.b/c_d now.")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def archive(**files):
    """Bytes of a ZIP archive of files by name, with `__` for `/`; the same at any time of day."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{name.replace('__', '/')}.xml")
            file.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return written.getvalue()
