"""The rules of the code base that no linter knows."""

import ast
import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ["aiayn_keras", "aiayn_keras_cli", "aiayn_keras_light"]
PACKAGES = [ROOT / name for name in NAMES]
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
MAX_LINES = 500

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_tensorflow(module):
    return module.split(".")[0] in ("tensorflow", "tensorflow_text")


def may_use_tensorflow(path):
    """`path` is relative to the repository: backends, exporters, sentences, clients, readers."""
    folders = ("backend", "export", "documents")
    files = (
        "common/kit_files.py",
        "convert/child_readers.py",
        "serving/grpc_client.py",
        "serving/local_page/kit_translator.py",
        "serving/model_server",
    )
    path, library = PurePosixPath(path), PurePosixPath("aiayn_keras")
    return any(path.is_relative_to(library / each) for each in (*folders, *files))


def may_ask_for_the_backend(path):
    """In `export`, since some formats belong to a backend."""
    return PurePosixPath(path).parts[:2] in (("aiayn_keras", "backend"), ("aiayn_keras", "export"))


def may_print(path):
    return PurePosixPath(path).parts[0] == "aiayn_keras_cli"


def tensorflow_imports(source):
    """Line numbers of TensorFlow imports: (run on import, run in a function)."""
    on_import, in_functions = [], []

    def visit(node, in_function):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""] if node.level == 0 else []
        else:
            modules = []
        if any(is_tensorflow(module) for module in modules):
            (in_functions if in_function else on_import).append(node.lineno)
        for child in ast.iter_child_nodes(node):
            visit(child, in_function or isinstance(node, FUNCTIONS))

    visit(ast.parse(source), in_function=False)
    return on_import, in_functions


def backend_questions(source):
    """Line numbers of `backend()`, under any of the names Keras gives it."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if ast.unparse(call.func).split(".")[-1] == "backend"]


def prints_and_asserts(source):
    """Line numbers of `print(...)` and `assert`."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "print")
    ]


@pytest.fixture(params=MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def module(request):
    """`(path relative to the repository, source)` of each module in turn."""
    return request.param.relative_to(ROOT).as_posix(), request.param.read_text("utf-8")


def test_the_packages_are_found():
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(NAMES)


def test_importing_the_package_imports_no_tensorflow(module):
    path, source = module
    on_import, in_functions = tensorflow_imports(source)
    assert not on_import, f"{path}: TensorFlow imported outside a function, lines {on_import}"
    assert may_use_tensorflow(path) or not in_functions, (
        f"{path}: only the modules of `may_use_tensorflow` use TensorFlow, lines {in_functions}"
    )


def test_only_some_modules_ask_for_the_backend(module):
    path, source = module
    lines = backend_questions(source)
    assert may_ask_for_the_backend(path) or not lines, f"{path}: backend() in lines {lines}"


def test_files_stay_short(module):
    path, source = module
    lines = source.count("\n")
    assert lines <= MAX_LINES, f"{path} has {lines} lines, more than {MAX_LINES}"


def test_the_library_neither_prints_nor_asserts(module):
    path, source = module
    lines = prints_and_asserts(source)
    assert may_print(path) or not lines, f"{path}: print or assert in lines {lines}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tensorflow as tf", ([1], [])),
        ("import keras, tensorflow_text", ([1], [])),
        ("from tensorflow.io import gfile", ([1], [])),
        ("if True:\n    import tensorflow", ([2], [])),
        ("class A:\n    import tensorflow", ([2], [])),
        ("def f():\n    import tensorflow", ([], [2])),
        ("class A:\n    def f(self):\n        import tensorflow", ([], [3])),
        ("from . import tensorflow\nfrom tensorflowish import x", ([], [])),
    ],
)
def test_tensorflow_imports_are_seen(source, expected):
    assert tensorflow_imports(source) == expected


@pytest.mark.parametrize(
    "source", ["keras.backend.backend() == 'jax'", "keras.config.backend()", "backend()"]
)
def test_backend_questions_are_seen(source):
    assert backend_questions(source) == [1]


def test_prints_and_asserts_are_seen():
    assert sorted(prints_and_asserts("assert x\nprint(x)\nx.print(y)\nfingerprint(x)")) == [1, 2]


def requirement_names(requirements):
    return {re.split(r"[<>=!~;\[ ]", requirement)[0] for requirement in requirements}


def test_the_list_without_tensorflow_is_the_list_of_dependencies_otherwise():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "requirements-without-tensorflow.txt").read_text("utf-8").splitlines()
    own = [line for line in lines[: lines.index("# for keras-hub")] if line and line[0] != "#"]
    left_out = set(project["dependencies"]) - set(own)
    assert requirement_names(left_out) == {
        "grpcio",
        "keras-nlp",
        "tensorflow",
        "tensorflow-serving-api",
        "tensorflow-text",
    }
    assert set(own) <= set(project["dependencies"])
