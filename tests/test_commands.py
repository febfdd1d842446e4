"""Commands that the documentation prints can be run."""

import ast
import importlib
import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

import tests.claims

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"python -m ((?:benchmarks|experiments|tests)(?:\.\w+)+)((?:[^`|\n\\]|\\\n)*)")


def printed_commands():
    """Module and words of every command in the documentation and in docstrings of programs."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    folders = "benchmarks/**/*.py", "experiments/**/*.py", "tests/claims/*.py"
    programs = [path for folder in folders for path in ROOT.glob(folder)]
    texts = [page.read_text("utf-8") for page in pages]
    texts += [ast.get_docstring(ast.parse(p.read_text("utf-8"))) or "" for p in programs]
    matches = (match for text in texts for match in COMMAND.finditer(text))
    return sorted({(match[1], match[2].replace("\\\n", " ").strip()) for match in matches})


def command_of(module, words):
    """The click command that the words reach, or None if the module is none of click's."""
    if importlib.util.find_spec(module).submodule_search_locations:
        module += ".__main__"
    if "import click" not in Path(importlib.util.find_spec(module).origin).read_text("utf-8"):
        return None
    command = importlib.import_module(module).main
    for word in words:
        if isinstance(command, click.Group) and word in command.commands:
            command = command.commands[word]
    return command


@pytest.mark.parametrize(("module", "words"), printed_commands())
def test_a_printed_command_exists_with_its_options(module, words):
    assert importlib.util.find_spec(module) is not None
    words = shlex.split(words) if "'" in words else words.split()
    command = command_of(module, words)
    if command is not None:
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_commands_are_found():
    modules = {module for module, _ in printed_commands()}
    assert {"benchmarks.speed.decode", "tests.claims.kills"} <= modules
    assert ("tests.claims.kills", "--updates 100") in printed_commands()


def test_the_tests_of_claims_exist():
    named = re.findall(r"`(tests/\S+\.py)`", tests.claims.__doc__)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_release_check_runs_the_claims():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    listed = re.findall(r"^- `python -m tests\.claims\.(\w+)`", tests.claims.__doc__, re.MULTILINE)
    (loop,) = re.findall(r"^CLAIMS := (.*)$", makefile, re.MULTILINE)
    run = {*loop.split(), *re.findall(r"-m tests\.claims\.(\w+)", makefile)}
    assert set(listed) - run == {"book", "play_page"}


@pytest.mark.parametrize("target", ["test", "test-backends", "test-all"])
def test_the_tests_that_the_makefile_names_exist(target):
    command = ["make", "--dry-run", "--always-make", target]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    named = {word.partition("=")[2] or word for word in printed.split() if "tests/" in word}
    named = {word for word in named if word.startswith("tests/")}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
