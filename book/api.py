"""The reference of the API: a page for each public package, from its `__all__` and docstrings."""

import ast
import importlib
import inspect
from pathlib import Path

from book.links import lead_out

PACKAGE = "aiayn_keras"
INTERNAL = {
    "aiayn_keras.backend": "differences between TensorFlow, JAX and PyTorch, for the package alone",
    "aiayn_keras.serving.local_page": "the page of `aiayn-keras serve`",
}
"""Packages whose names are not for users, with the reason."""


def public_packages():
    """Names of the packages that have an `__all__`, the top level first."""
    folder = Path(importlib.import_module(PACKAGE).__file__).parent
    names = [
        ".".join([PACKAGE, *path.parent.relative_to(folder).parts])
        for path in sorted(folder.rglob("__init__.py"))
        if "__all__" in _assigned(path)
    ]
    return [name for name in sorted(names) if name not in INTERNAL]


def public_names(package):
    """Public names of a package, sorted; those that are packages themselves are left out."""
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    return sorted(names, key=lambda name: (name[0].islower(), name))


def page_name(package):
    """Name of the file of a package's page in the book."""
    return f"api/{package}.md"


def pages():
    """Dictionary from the pages' files to Markdown texts; the first lists the others."""
    packages = public_packages()
    table = [f"| [`{p}`]({p}.md) | {_first_line(importlib.import_module(p))} |" for p in packages]
    contents = "\n".join(
        [
            "# Reference\n",
            "Every public name, from the docstrings. Their examples are run as tests.\n",
            "| package | content |\n|---|---|",
            *table,
            "\n```{toctree}\n:hidden:\n",
            *packages,
            "```\n",
        ]
    )
    return {"api/index.md": contents, **{page_name(p): _page(p) for p in packages}}


def _page(package):
    module = importlib.import_module(package)
    text = lead_out(inspect.getdoc(module), page_name(package), set())
    parts = [f"# {package}\n", f"```{{py:module}} {package}\n```\n", f"{text}\n"]
    elsewhere, here = [], []
    for name in public_names(package):
        home = _home(package, name)
        (here if home == package else elsewhere).append((name, home))
    if elsewhere:
        parts.append("| name | from | |\n|---|---|---|")
        parts += [
            f"| [`{package}.{name}`](#{home}.{name}) | [`{home}`]({home}.md) "
            f"| {_first_line(getattr(module, name))} |"
            for name, home in elsewhere
        ]
        parts.append("")
    parts += [f"## {name}\n\n{_directive(package, name)}\n" for name, _ in here]
    return "\n".join(parts)


def _home(package, name):
    """The public package whose page describes a name: the deepest that defines it."""
    value = getattr(importlib.import_module(package), name)
    homes = [
        other
        for other in public_packages()
        if getattr(value, "__module__", "").startswith(f"{other}.")
        and name in importlib.import_module(other).__all__
    ]
    return max([package, *homes], key=len)


def _directive(package, name):
    value = getattr(importlib.import_module(package), name)
    if inspect.isclass(value):
        lines = [f".. autoclass:: {package}.{name}", "   :members:"]
    elif callable(value):
        lines = [f".. autofunction:: {package}.{name}"]
    else:
        lines = [f".. py:data:: {package}.{name}", "", f"   {_docstring_of_data(package, name)}"]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def _docstring_of_data(package, name):
    """The string below a name's assignment, in the package or where it imports the name from."""
    tree = ast.parse(Path(importlib.import_module(package).__file__).read_text("utf-8"))
    modules = (
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
    )
    module = next(modules, package)
    path = Path(importlib.import_module(module).__file__)
    body = ast.parse(path.read_text("utf-8")).body
    for statement, below in zip(body, [*body[1:], None], strict=True):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if is_text and name in _targets(statement):
            return " ".join(inspect.cleandoc(below.value.value).split())
    raise ValueError(f"`{module}.{name}` has no docstring: write one below the assignment.")


def _assigned(path):
    """Names that a module assigns."""
    return {name for node in ast.parse(path.read_text("utf-8")).body for name in _targets(node)}


def _targets(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _first_line(documented):
    return (
        (inspect.getdoc(documented) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    )
