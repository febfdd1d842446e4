"""Conventions of all notebooks."""

import ast
import os
import re
import sys
from pathlib import Path
from unittest import mock

import jupytext
import nbformat
import pytest

from tutorials.address import repository

FOLDER = Path(__file__).parents[2] / "tutorials"
LESSONS = sorted(FOLDER.glob("[0-9][0-9]*_*.py"))
SOLUTIONS = sorted(FOLDER.glob("solutions/[0-9][0-9]*_*.py"))
REPOSITORY = repository()
MAX_CELL = 12  # lines
MIN_PREDICTIONS = 3
MAX_FILE = 400_000  # bytes
BADGE = (
    "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    f"(https://colab.research.google.com/github/{REPOSITORY.removeprefix('https://github.com/')}"
    "/blob/main/tutorials/{})"
)
MACHINE_PATH = re.compile(
    r"(?<![\w.:/])/(tmp|work|home|root|Users|private|var|opt|usr)/|[A-Z]:\\\\?Users"
)
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")


def read(path):
    return nbformat.read(path, as_version=4)


def notebook_of(source):
    return read(source.with_suffix(".ipynb"))


def what_is_edited(cell):
    return cell.cell_type, cell.source, tags_of(cell)


def text_of(output):
    """All that a reader sees of an output but its pictures."""
    data = {kind: text for kind, text in output.get("data", {}).items() if "image" not in kind}
    return "\n".join([output.get("text", ""), *map(str, data.values())])


def heading_index(cells, heading):
    places = [i for i, cell in enumerate(cells) if cell.source.startswith(heading)]
    assert len(places) == 1, f"One cell must start with {heading!r}. Received: {len(places)}."
    return places[0]


def without_appendix(cells):
    """The cells without what stands from an optional appendix to the last cell."""
    starts = [i for i, cell in enumerate(cells) if cell.source.startswith("## Appendix, optional")]
    return [*cells[: starts[0]], cells[-1]] if starts else cells


def is_figure(cell):
    return any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))


def only_defines(code):
    """Returns whether a cell holds nothing but imports, definitions, and names for literals."""
    lines = [line for line in code.splitlines() if not line.startswith("%")]
    return all(
        isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))
        or (isinstance(statement, ast.Assign) and is_literal(statement.value))
        for statement in ast.parse("\n".join(lines)).body
    )


def draws(code):
    """Returns whether a cell draws on a figure, which a later cell may show."""
    return re.search(r"^\s*(figure|axes|panel\w*|left|right|top|bottom)\b.*[.=(]", code, re.M)


def is_literal(expression):
    try:
        ast.literal_eval(expression)
    except ValueError:
        return False
    return True


def tags_of(cell):
    return cell.metadata.get("tags", [])


def exercises_of(source):
    """The texts of a notebook's numbered exercises."""
    texts = [cell.source for cell in jupytext.read(source).cells if cell.cell_type == "markdown"]
    return [text for text in texts if re.match(r"\*\*\d\.\*\* ", text)]


def name_of(source):
    return source.relative_to(FOLDER).with_suffix("").as_posix()


every_notebook = pytest.mark.parametrize("source", LESSONS + SOLUTIONS, ids=name_of)
every_lesson = pytest.mark.parametrize("source", LESSONS, ids=name_of)
every_solution = pytest.mark.parametrize("source", SOLUTIONS, ids=name_of)


@pytest.mark.parametrize(("folder", "sources"), [(".", LESSONS), ("solutions", SOLUTIONS)])
def test_each_notebook_has_its_source(folder, sources):
    assert sources
    notebooks = (FOLDER / folder).glob("*.ipynb")
    assert {path.stem for path in notebooks} == {path.stem for path in sources}


def test_each_lesson_has_its_solutions():
    assert [path.name for path in SOLUTIONS] == [path.name for path in LESSONS]


@every_notebook
def test_source_and_notebook_hold_the_same_cells(source):
    edited, executed = jupytext.read(source), notebook_of(source)
    assert list(map(what_is_edited, executed.cells)) == list(map(what_is_edited, edited.cells))
    assert [dict(cell.metadata) for cell in executed.cells] == [
        dict(cell.metadata) for cell in edited.cells
    ]


@every_notebook
def test_every_code_cell_ran_in_order_without_error(source):
    code = [cell for cell in notebook_of(source).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = {output.output_type for cell in code for output in cell.outputs}
    assert "error" not in kinds


@every_notebook
def test_no_warning_is_shown(source):
    outputs = [output for cell in notebook_of(source).cells for output in cell.get("outputs", [])]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []


@every_notebook
def test_outputs_name_no_folder_and_no_address_of_a_machine(source):
    for cell in notebook_of(source).cells:
        for text in map(text_of, cell.get("outputs", [])):
            assert not MACHINE_PATH.search(text), text
            assert not ADDRESS.search(text), text


@every_notebook
def test_code_cells_are_short(source):
    lengths = {
        cell.source: len(cell.source.splitlines())
        for cell in jupytext.read(source).cells
        if cell.cell_type == "code"
    }
    assert [cell for cell, length in lengths.items() if not 1 <= length <= MAX_CELL] == []


@every_notebook
def test_text_comes_before_code(source):
    kinds = [cell.cell_type for cell in jupytext.read(source).cells]
    assert "code, code, code, code" not in ", ".join(kinds)


@every_lesson
def test_first_cell_has_title_badge_and_a_question(source):
    first = jupytext.read(source).cells[0]
    title, _, badge, _, question = first.source.splitlines()[:5]
    assert first.cell_type == "markdown"
    assert re.fullmatch(rf"# {source.stem.partition('_')[0]} · \S.*", title)
    assert badge == BADGE.format(f"{source.stem}.ipynb")
    assert re.match(r"\*\*[^*]+\?\*\*", question)


@every_solution
def test_first_cell_of_solutions_has_title_badge_and_a_link_to_the_lesson(source):
    lesson = FOLDER / source.name
    title = jupytext.read(lesson).cells[0].source.splitlines()[0].removeprefix("# ")
    first = jupytext.read(source).cells[0].source
    assert first.splitlines()[0] == f"# Solutions to {title}"
    assert first.splitlines()[2] == BADGE.format(f"solutions/{source.stem}.ipynb")
    assert f"](../{source.stem}.ipynb)" in first


@every_notebook
def test_second_cell_sets_up_colab_in_the_same_words(source):
    second = jupytext.read(source).cells[1]
    assert tags_of(second) == ["colab"]
    assert 'if "google.colab" in sys.modules:' in second.source
    folder = f"aiayn_keras/tutorials/{name_of(source)}".rpartition("/")[0]
    assert f'os.chdir("{folder}")' in second.source
    first = jupytext.read(LESSONS[0]).cells[1].source
    assert second.source == first.replace("aiayn_keras/tutorials", folder)


def test_the_colab_cell_installs_in_colab_and_does_nothing_elsewhere(monkeypatch):
    (source, shell), folders = (jupytext.read(LESSONS[0]).cells[1].source, mock.Mock()), []
    monkeypatch.setitem(sys.modules, "IPython", mock.Mock(get_ipython=lambda: shell))
    monkeypatch.setattr(os, "chdir", folders.append)
    exec(source, {})
    assert not shell.system.called

    monkeypatch.setitem(sys.modules, "google.colab", mock.Mock())
    exec(source, {})
    clone, install = (call.args[0] for call in shell.system.call_args_list)
    assert clone.startswith("git clone ")
    assert clone.endswith(f" {REPOSITORY}")
    assert re.fullmatch(r"pip install .*\./aiayn_keras", install)
    assert folders == ["aiayn_keras/tutorials"]


@every_notebook
def test_every_code_cell_shows_something_unless_it_only_defines_or_draws(source):
    silent = [
        cell.source
        for cell in notebook_of(source).cells
        if cell.cell_type == "code"
        and not cell.outputs
        and not {"colab", "your-turn"} & set(tags_of(cell))
        and not only_defines(cell.source)
        and not draws(cell.source)
    ]
    assert silent == []


@every_lesson
def test_the_reader_predicts_before_a_cell_shows(source):
    cells = notebook_of(source).cells
    questions = [
        i
        for i, cell in enumerate(cells)
        if cell.cell_type == "markdown" and re.search(r"^\*\*Predict:\*\* .*", cell.source, re.M)
    ]
    assert len(questions) >= MIN_PREDICTIONS
    for index in questions:
        text = cells[index].source.partition("**Predict:** ")[2]
        assert "?" in text, text
        assert "\n\n" not in text, f"A question ends its cell, or the answer stands below: {text}"
        assert cells[index + 1].get("outputs"), f"The next cell must show the answer to: {text}"


@every_lesson
def test_the_end_is_a_figure_three_lines_two_exercises_and_an_empty_cell(source):
    cells = notebook_of(source).cells
    summary, exercises = (heading_index(cells, h) for h in ("## In three lines", "## Exercises"))
    figures = [i for i, cell in enumerate(cells[:summary]) if is_figure(cell)]
    assert figures, "There must be a figure before the summary."
    assert summary - figures[-1] <= 3  # the figure, what it shows, perhaps a check of that
    assert len(re.findall(r"^(?:\d\.|-) ", cells[summary].source, re.MULTILINE)) == 3
    assert exercises == summary + 1
    assert f"](solutions/{source.stem}.ipynb)" in cells[exercises].source

    *tasks, turn, empty, last = without_appendix(cells[exercises + 1 :])
    for number, task in enumerate(tasks, 1):
        assert task.cell_type == "markdown"
        assert task.source.startswith(f"**{number}.** ")
    assert len(tasks) == 2
    assert turn.source.startswith("## Your turn\n")
    assert (empty.cell_type, tags_of(empty)) == ("code", ["your-turn"])
    assert re.fullmatch(r"# .*", empty.source)  # a cell without any text would not be run
    assert last.cell_type == "markdown"


@every_solution
def test_solutions_repeat_each_question_and_check_their_answer(source):
    cells = jupytext.read(source).cells
    questions = exercises_of(source)
    assert questions == exercises_of(FOLDER / source.name)
    places = [i for i, cell in enumerate(cells) if cell.source in questions]
    for start, end in zip(places, [*places[1:], len(cells)], strict=True):
        answer = [cell.source for cell in cells[start:end] if cell.cell_type == "code"]
        assert "assert" in "\n".join(answer)


@every_lesson
def test_the_last_cell_leads_to_the_next_notebook(source):
    last = jupytext.read(source).cells[-1]
    following = [path for path in LESSONS if path > source]
    assert last.cell_type == "markdown"
    if following:
        assert last.source.startswith("Next: [")
        assert f"]({following[0].stem}.ipynb)" in last.source


@every_notebook
def test_links_lead_to_files(source):
    texts = [cell.source for cell in jupytext.read(source).cells if cell.cell_type == "markdown"]
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", "\n".join(texts))
    assert [link for link in links if not (source.parent / link).exists()] == []


@every_lesson
def test_the_list_of_contents_names_it(source):
    title = jupytext.read(source).cells[0].source.splitlines()[0].removeprefix("# ")
    assert f"| [{title}]({source.stem}.ipynb) |" in (FOLDER / "README.md").read_text("utf-8")


@every_notebook
def test_the_file_is_small_enough_to_review(source):
    assert source.with_suffix(".ipynb").stat().st_size < MAX_FILE
