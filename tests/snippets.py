"""The code blocks of a Markdown page, and their running as a reader would paste them."""

import ast
import contextlib
import doctest
import io
import re
from dataclasses import dataclass, field

OUTPUT_LANGUAGES = ("", "console", "output", "text")
_HEADING = re.compile(r"#{1,2} (.+)")
_FENCE = re.compile(r"( *)```(\w*)")
_CONTINUES = re.compile(r"<!-- continues: (.+) -->")


@dataclass
class Block:
    """A fenced block of code.

    Attributes:
        place: Page and line, for messages.
        language: As on the fence.
        text: The code, without the fences and their indentation.
        expected: The text of the block of output that follows directly, or None.
    """

    place: str
    language: str
    text: str
    expected: str | None = None


@dataclass
class Section:
    """The code under a heading of the first or second level.

    Attributes:
        title: The heading.
        blocks: List of `Block`.
        continues: Title of the section whose Python names are known in this one, by a comment
            `<!-- continues: TITLE -->`; None for a new start.
    """

    title: str
    blocks: list = field(default_factory=list)
    continues: str | None = None


def read_sections(text, page):
    """The sections of a page that hold code.

    A block of output (`text`, `console`, or no language) belongs to the block of code that it
    follows with nothing but empty lines between. Others are no code, and left out.

    Args:
        text: Markdown.
        page: Its name, for messages.
    """
    sections, lines = [Section("")], enumerate(text.splitlines(), start=1)
    follows = False
    for number, line in lines:
        fence = _FENCE.fullmatch(line)
        if heading := _HEADING.fullmatch(line):
            sections.append(Section(heading[1]))
        elif continues := _CONTINUES.fullmatch(line):
            sections[-1].continues = continues[1]
        elif fence:
            block = Block(f"{page}:{number}", fence[2], _read_block(lines, fence[1]))
            if block.language not in OUTPUT_LANGUAGES:
                sections[-1].blocks.append(block)
            elif follows:
                sections[-1].blocks[-1].expected = block.text
            follows = block.language not in OUTPUT_LANGUAGES
            continue
        follows = follows and not line.strip()
    return [section for section in sections if section.blocks]


def _read_block(lines, indentation):
    inside = []
    for _, line in lines:
        line = line.removeprefix(indentation)
        if line == "```":
            return "".join(f"{each}\n" for each in inside)
        inside.append(line)
    raise ValueError("a block of code has no end")


def run_python(text, place, names):
    """Runs code, and returns what it prints; the value of a last expression is printed, too.

    Args:
        text: Python.
        place: Page and line, for tracebacks.
        names: Dictionary of the names that are known, to which new ones are added.
    """
    module, printed = ast.parse(text, place), io.StringIO()
    last = module.body.pop() if module.body and isinstance(module.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(module, place, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def is_expected(block, printed):
    """Returns whether a block prints what the page says, up to spaces and `...`."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    checker = doctest.OutputChecker()
    return block.expected is None or checker.check_output(block.expected, printed, flags)
