"""The numerical core, and the tests that must notice a mistake in it: those that import it."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "aiayn_keras"
LIGHT = "aiayn_keras_light"
"""The package for what needs no Keras; names of its modules begin with it."""

CORE = (
    "layers/*.py",
    "optimization/*.py",
    "decoding/*.py",
    "decoding/constraints/*.py",
    "backend/divided_steps.py",
    "backend/kernels.py",
    "backend/projected_loss.py",
    "models/token_losses.py",
    "models/transformer_backbone.py",
    "training/averaging.py",
    "data/pair_batches.py",
    "data/token_batches.py",
    f"{LIGHT}/search_numbers.py",
    f"{LIGHT}/text_batches.py",
    f"{LIGHT}/translating.py",
)
ASKED = ("backend", "data", "decoding", "layers", "light", "models", "optimization", "training")
"""Folders of the tests that are asked."""

MAX_DISTANCE = 3
"""Number of imports from a test to the mutated module: 2 if one module lies between them."""


def core_modules(root=ROOT, patterns=CORE):
    """Names of the modules of the core, see `path_of`.

    Raises:
        ValueError: If a pattern matches no module.
    """
    modules = []
    for pattern in patterns:
        paths = sorted(root.glob(path_of(pattern).as_posix()))
        paths = [path for path in paths if path.name != "__init__.py"]
        if not paths:
            raise ValueError(f"tests/mutations/core.py: no module is named {path_of(pattern)}.")
        names = [path.relative_to(root).as_posix() for path in paths]
        modules += [name.removeprefix(f"{PACKAGE}/") for name in names]
    return modules


def path_of(module):
    """Path of a module, relative to the root.

    Args:
        module: Its path relative to the package, or one that begins with `LIGHT`.
    """
    return Path(module) if module.startswith(f"{LIGHT}/") else Path(PACKAGE) / module


def stages_of_tests(module, root=ROOT):
    """Tests that are asked one stage after the other, until one notices.

    Args:
        module: Name of the module, see `path_of`.
        root: Folder of the package and of `tests`.

    Returns:
        List of stages, each a list of paths relative to `tests`: the file of the mirrored path,
        then the others by the number of imports between them and the module, up to `MAX_DISTANCE`.
    """
    path = Path(module.replace(LIGHT, "light"))
    mirrored = path.with_name(f"test_{path.name}").as_posix()
    distances = {mirrored: 0} if (root / "tests" / mirrored).exists() else {}
    found, importers = {path_of(module)}, _importers(root)
    reached = found
    for distance in range(1, MAX_DISTANCE + 1):
        found = set().union(*(importers.get(each, set()) for each in found)) - reached
        reached = reached | found
        for each in found:
            if each.name.startswith("test_") and each.parts[1] in ASKED:
                distances.setdefault(each.relative_to("tests").as_posix(), distance)
    stages = [
        sorted(test for test, place in distances.items() if place == distance)
        for distance in range(MAX_DISTANCE + 1)
    ]
    return [stage for stage in stages if stage]


@functools.cache
def _importers(root):
    """Files that import each file, both relative to the root."""
    importers = {}
    for folder in (PACKAGE, LIGHT, "tests"):
        for path in sorted((root / folder).rglob("*.py")):
            for imported in _imported_files(root, path):
                importers.setdefault(imported, set()).add(path.relative_to(root))
    return importers


def _imported_files(root, path):
    """Files of this repository that hold what a file imports, relative to the root.

    An `__init__.py` that only hands names on is looked through: what counts is who defines them.
    """
    return {
        file
        for module, name, _ in _imports(path)
        if (file := _defining_file(root, module, name)) is not None
    }


@functools.cache
def _imports(path):
    """`(module, name, known as)` of every import; for `import module` the name is None."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None, alias.asname) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, a.name, a.asname or a.name) for a in node.names]
    return found


def _defining_file(root, module, name):
    """File that defines a name of a module, or the module's own, relative to the root."""
    if module.partition(".")[0] not in (PACKAGE, LIGHT, "tests"):
        return None
    path = Path(*module.split("."))
    if name is not None and (root / path / f"{name}.py").exists():
        return path / f"{name}.py"
    if (root / path / "__init__.py").exists():
        for other, inner, known_as in _imports(root / path / "__init__.py"):
            if name is not None and known_as == name and (other, inner) != (module, name):
                return _defining_file(root, other, inner)
        return path / "__init__.py"
    return path.with_suffix(".py") if (root / path.with_suffix(".py")).exists() else None
