"""Mutants of a module's source: one mistake each, found by the syntax tree."""

import ast
import copy
from collections import Counter
from typing import NamedTuple

from tests.mutations.operators import OPERATORS

# Parts whose mistakes change no number: annotations, and the text of errors.
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_comment"}
SKIPPED_NODES = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)
SKIPPED_FUNCTIONS = {"get_config", "from_config", "__repr__"}


class Mutant(NamedTuple):
    """One mistake in one module.

    Attributes:
        module: Path of the module, relative to the package.
        function: Qualified name of the function, or `<module>`.
        operator: Name of the mutation operator.
        ordinal: Number among the mutants of the same function and operator, from 1 on.
        line: Line of the mistake.
        before: The expression or statement, in one line.
        after: What stands there instead.
        source: The module's source with the mistake in it.
    """

    module: str
    function: str
    operator: str
    ordinal: int
    line: int
    before: str
    after: str
    source: str

    @property
    def id(self):
        """`module:function:operator:ordinal`, which changes elsewhere leave alone."""
        return f"{self.module}:{self.function}:{self.operator}:{self.ordinal}"


def make_mutants(module, source):
    """All mutants of a module.

    Args:
        module: Path of the module, relative to the package.
        source: Its source.

    Returns:
        List of `Mutant`, in the order of the source.
    """
    counts, mutants = Counter(), []
    for function, node in _places(ast.parse(source), "<module>"):
        for operator in OPERATORS:
            for changed in operator(node):
                name = operator.__name__
                counts[function, name] += 1
                mutated, before, after = _replace(source, node, changed)
                mutants.append(
                    Mutant(
                        *(module, function, name, counts[function, name]),
                        *(node.lineno, before, after, mutated),
                    )
                )
    return mutants


def _places(node, function):
    """Every statement and expression that may be mutated, with the name of its function."""
    if isinstance(node, SKIPPED_NODES) or _is_docstring(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        if node.name in SKIPPED_FUNCTIONS:
            return
        function = node.name if function == "<module>" else f"{function}.{node.name}"
    if isinstance(node, ast.If) and all(isinstance(each, ast.Raise) for each in node.body):
        node = _without(node, "test", "body")  # a check of arguments
    elif isinstance(node, (ast.If, ast.While)):
        node.test.is_condition = True
    if isinstance(node, (ast.expr, ast.Expr, ast.Assign)):
        yield function, node
    for name, value in ast.iter_fields(node):
        if name not in SKIPPED_FIELDS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _places(child, function)


def _is_docstring(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without(node, *fields):
    node = copy.copy(node)
    for field in fields:
        setattr(node, field, [])
    return node


def _replace(source, node, changed):
    """The source with another node in a node's place, and both in one line."""
    lines = source.encode("utf-8").splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    text = ast.unparse(changed)
    # Line breaks keep the numbers of lines.
    inserted = text + "\n" * (node.end_lineno - node.lineno)
    if isinstance(node, ast.expr):
        inserted = f"({inserted})"
    data = b"".join(lines)
    mutated = data[:begin] + inserted.encode() + data[end:]
    return mutated.decode("utf-8"), ast.unparse(node), text
