"""The examples in the package's docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "aiayn_keras"
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
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
