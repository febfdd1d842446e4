"""Every notebook, how-to page and public name is in the book; links lead somewhere."""

import importlib
import json
import re

import pytest

from book import api, live
from book.lessons import lesson
from book.links import broken_links, lead_out
from book.sources import LESSONS, ROOT, found, repository, shared_files
from book.stage import contents, text_pages

TOCTREE = re.compile(r"^(```|::::)\{toctree\}\n(?P<entries>.*?)^\1$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^\.\. (?:auto(?:class|function)|py:data):: (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def pages():
    made = {**text_pages(), **api.pages(), "play.md": ""}
    return {path: text for path, text in made.items() if path.endswith((".md", ".ipynb"))}


def entries(text):
    """Returns the links in the tables of contents of a page, as written there."""
    lines = [line for table in TOCTREE.finditer(text) for line in table["entries"].splitlines()]
    named = (line.rpartition("<")[2].rstrip(">") for line in lines)
    return [entry for entry in named if entry and not entry.startswith(":")]


def reached(pages, start="index"):
    """Names of the pages that tables of contents lead to from one page."""
    text = pages.get(f"{start}.md", "")
    folder = start.rpartition("/")[0]
    found = {start}
    for entry in entries(text):
        path = f"{folder}/{entry}".lstrip("/")
        found |= reached(pages, path.removesuffix(".ipynb").removesuffix(".md"))
    return found


def test_every_page_is_in_the_table_of_contents_and_nothing_else(pages):
    names = {path.rpartition(".")[0] for path in pages if path.endswith(".ipynb")}
    names |= {path.removesuffix(".md") for path in pages if path.endswith(".md")}
    assert reached(pages) == names


def test_every_notebook_and_page_of_docs_is_a_page(pages):
    here = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")]
    here += [path.relative_to(ROOT).as_posix() for path in (ROOT / "tutorials").rglob("*.ipynb")]
    assert len(here) > 20
    assert set(here) <= set(pages)


def test_the_pictures_of_a_page_come_with_the_book(pages):
    pictures = {
        link
        for path, text in pages.items()
        if path.startswith("docs/")
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    }
    assert "table3.png" in pictures
    assert [link for link in pictures if ":" in link] == []


def test_lessons_stand_in_their_order(pages):
    lessons = entries(pages["tutorials/README.md"])
    files = sorted((ROOT / "tutorials").glob("[0-9][0-9]*_*.ipynb"))
    assert lessons == [*(file.name for file in files), "TEACHING.md"]


def test_a_page_that_no_table_names_is_seen(pages):
    assert reached({**pages, "docs/new.md": "# New"}) == reached(pages)
    changed = {**pages, "docs/index.md": pages["docs/index.md"] + contents(["new.md"])}
    assert reached(changed) - reached(pages) == {"docs/new"}


@pytest.mark.parametrize("package", api.public_packages())
def test_every_public_name_has_one_entry(package):
    texts = api.pages()
    entries = DIRECTIVE.findall("\n".join(texts.values()))
    for name in api.public_names(package):
        linked = re.search(rf"\[`{package}\.{name}`\]\(#(\S+)\)", texts[api.page_name(package)])
        assert entries.count(linked[1] if linked else f"{package}.{name}") == 1, name


def test_every_package_with_public_names_is_described_or_internal():
    packages = {
        "convert",
        "data",
        "decoding.constraints",
        "export",
        "layers",
        "models",
        "optimization",
        "plotting",
        "serving",
        "training",
    }
    assert {f"aiayn_keras.{name}" for name in packages} < set(api.public_packages())
    for package in api.INTERNAL:
        assert importlib.import_module(package).__all__


def test_folded_cells_are_the_set_up_and_the_solutions():
    path = found(LESSONS)[0]
    cells = json.loads(lesson(path, set(shared_files())))["cells"]
    for cell in cells:
        tags = set(cell["metadata"].get("tags", []))
        is_folded = bool(tags & {"hide-input", "hide-cell"})
        assert is_folded == bool(tags & {"colab", "solution"})
    assert "colab-badge.svg" not in str(cells)
    assert f"[Open in Colab](https://colab.research.google.com/github/{repository()[19:]}/" in str(
        cells
    )


def test_links_inside_stay_and_others_lead_to_the_repository():
    text = "[a](serving.md#looking-at-it) [b](../README.md) [c](../aiayn_keras) [d](#e)\n"
    code = "```python\nlist[a](b)\n```\n"
    assert lead_out(text + code, "docs/training.md", {"docs/serving.md"}) == (
        f"[a](serving.md#looking-at-it) [b]({repository()}/blob/main/README.md) "
        f"[c]({repository()}/tree/main/aiayn_keras) [d](#e)\n{code}"
    )


def test_a_link_of_a_page_that_leads_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"docs/training.md.*nowhere: no.md"):
        lead_out("[a](no.md)", "docs/training.md", set())


def test_links_of_a_built_book_that_lead_nowhere_are_listed(tmp_path):
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#there"></a><a href="#x"></a>'
        '<img src="no.png"><a href="https://host/no.html"></a><script src="b.html"></script>'
    )
    assert broken_links(tmp_path) == ["a.html: #x", "a.html: b.html#there", "a.html: no.png"]


def test_live_pages_have_files_and_titles_of_their_own():
    assert len({page.file for page in live.LIVE_PAGES}) == len(live.LIVE_PAGES)
    assert len({page.title for page in live.LIVE_PAGES}) == len(live.LIVE_PAGES)
