"""The examples in the package's docstrings do what they say."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for name in ("aiayn_keras", "aiayn_keras_cli", "aiayn_keras_light")
    for path in (ROOT / name).rglob("*.py")
)
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in FILES
    if ">>> " in path.read_text("utf-8")
]


def test_there_are_examples():
    assert MODULES


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = []
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for example in finder.find(importlib.import_module(name.removesuffix(".__init__"))):
        runner.run(example, out=report.append)
    assert runner.failures == 0, "\n" + "".join(report)


def first_lines(source):
    """`(name, first line)` of every docstring of a module."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds))
    docstrings = ((getattr(node, "name", "the module"), ast.get_docstring(node)) for node in nodes)
    return [(name, text.splitlines()[0]) for name, text in docstrings if text]


def begins_with_a_question_word(line):
    return re.match(r"(What|Which|Where|When|Whether|Who|Whom|How|Why)\b", line) is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_docstrings_begin_with_a_noun_or_a_verb(path):
    lines = first_lines(path.read_text("utf-8"))
    riddles = [(name, line) for name, line in lines if begins_with_a_question_word(line)]
    assert not riddles, f"{path}: say what it is, not what, which or how: {riddles}"


def test_question_words_are_seen():
    source = '"""Whether it is."""\ndef f():\n    """True if it is."""\nclass A:\n    """What."""'
    assert [begins_with_a_question_word(line) for _, line in first_lines(source)] == [
        True,
        False,
        True,
    ]
