"""Markdown: texts are translated, and its marks and structure stay."""

from pathlib import Path

import pytest

from tests.documents.formats.double import (
    CapitalsDouble,
    in_capitals,
    unchanged,
    without_stand_ins,
)

ROOT = Path(__file__).parents[3]


REAL = ["README.md", "docs/training.md", "docs/documents.md"]


@pytest.mark.parametrize("change", [str.upper, without_stand_ins])
def test_footnotes_and_boxes_of_tasks_stay_where_they_are(change):
    document = "Old.[^1] Tea[^note x] too[^n2]\n\n[^1]: A house.\n\n- [x] call\n- [ ] buy [y] tea\n"
    expected = "OLD.[^1] TEA[^NOTE X] TOO[^n2]\n\n[^1]: A HOUSE.\n\n- [x] CALL\n- [ ] BUY [Y] TEA\n"
    assert in_capitals(document, "md", translate=CapitalsDouble(change=change)) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("Tea\n: A drink\n  of leaves.\n: Hot.\n", "TEA\n: A DRINK OF LEAVES.\n: HOT.\n"),
        ("Tea `x`\n\n:   A *drink*.\n\n    Hot.\n", "TEA `x`\n\n:   A *DRINK*.\n\n    HOT.\n"),
        ("> [!NOTE]\n> Tea is\n> hot.\n", "> [!NOTE]\n> TEA IS HOT.\n"),
        ("> [!tip]- Tea\n> Hot.\n", "> [!tip]- TEA\n> HOT.\n"),
        ('!!! tip "Tea"\n    Is\n    hot.\n', '!!! tip "TEA"\n    IS HOT.\n'),
        ("??? note end\n    Hot.\n", "??? note end\n    HOT.\n"),
        ('=== "Green tea"\n    Hot.\n', '=== "GREEN TEA"\n    HOT.\n'),
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
        ("a ==hot *tea*== now ^name-1\n", "a ==HOT *TEA*== NOW ^name-1\n"),
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
    assert in_capitals("## 1. Tea\n", "md") == "## 1. TEA\n"


@pytest.mark.parametrize("mark", ["[TOC]", "[toc]"])
def test_the_mark_of_a_table_of_contents_stays(mark):
    assert in_capitals(f"# Tea\n\n{mark}\n\nHot.\n", "md") == f"# TEA\n\n{mark}\n\nHOT.\n"
