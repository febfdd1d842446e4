"""Do the tests notice mistakes? `python -m tests.mutants [words of the mistakes ...]`.

Makes each mistake of `tests.mutations` in a copy of the code, runs the tests that must notice it
(TensorFlow backend), and prints a Markdown table of what noticed it first. Exits with 1 if a
mistake goes unnoticed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

from tests.mutations import MUTATIONS

ROOT = Path(__file__).parents[1]
PACKAGE = "aiayn_keras"
COPIED = (PACKAGE, "tests", "benchmarks", "pyproject.toml")
SECONDS = 900
NOT_THE_COPY = 70

# The package is installed in editable mode: see that it is the copy that is tested.
PYTEST = f"""
import sys
import {PACKAGE}
if not {PACKAGE}.__file__.startswith(sys.argv[1]):
    print("Imported", {PACKAGE}.__file__)
    sys.exit({NOT_THE_COPY})
import pytest
sys.exit(pytest.main(["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


class DriftError(Exception):
    """A mutation that no longer fits the code."""


def mutate(source, mutation):
    """The module's source with the mistake in it."""
    count = source.count(mutation.old)
    if count != 1:
        raise DriftError(
            f"{mutation.module}, {mutation.mistake!r}: the text to replace must occur once. "
            f"It occurs {count} times: {mutation.old!r}. Bring tests/mutations up to the code."
        )
    return source.replace(mutation.old, mutation.new)


def copy_code(folder):
    """Copies what the tests need into the folder."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder / name)


def run_tests(folder, tests):
    """Name of the test that fails first, or `None` if none does."""
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "PYTHONPATH": str(folder),
        # Two versions of a module may share size and second: a `.pyc` could be the wrong one's.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        result = subprocess.run(
            [sys.executable, "-c", PYTEST, str(folder), *(f"tests/{test}" for test in tests)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"(no end after {SECONDS} s)"
    if result.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) \S+::(\w+)", result.stdout, flags=re.MULTILINE)
    if result.returncode != 1 or failed is None:
        raise RuntimeError(f"pytest did not run the tests:\n{result.stdout}\n{result.stderr}")
    return failed[1]


def noticed_by(folder, mutation):
    """Name of the test that notices the mistake, or `None`."""
    module = folder / PACKAGE / mutation.module
    source = module.read_text("utf-8")
    module.write_text(mutate(source, mutation), "utf-8")
    try:
        return run_tests(folder, mutation.tests)
    finally:
        module.write_text(source, "utf-8")


def main(words):
    """Tries the mutations whose module or mistake holds one of the words, or all of them."""
    mutations = [
        m for m in MUTATIONS if not words or any(w in f"{m.module} {m.mistake}" for w in words)
    ]
    for mutation in mutations:
        mutate((ROOT / PACKAGE / mutation.module).read_text("utf-8"), mutation)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        copy_code(folder)
        failing = run_tests(folder, sorted({test for m in mutations for test in m.tests}))
        if failing:
            raise RuntimeError(f"{failing} fails on the code as it is.")
        noticed = [noticed_by(folder, mutation) for mutation in tqdm(mutations, unit="mistake")]
    print("| module | mistake | noticed by |\n|---|---|---|")
    for mutation, test in zip(mutations, noticed, strict=True):
        name = f"`{test}`" if test else "**nobody**"
        print(f"| `{mutation.module}` | {mutation.mistake} | {name} |")
    survivors = noticed.count(None)
    print(f"\n{len(mutations)} mistakes: {len(mutations) - survivors} noticed, {survivors} not.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
