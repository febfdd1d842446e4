"""Tests run in a copy of the code, one forked process a mutant.

Frameworks take seconds to import, so a server imports them once and forks: `multiprocessing`'s.
"""

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
from pathlib import Path

from tests.mutations.core import LIGHT, PACKAGE, ROOT, path_of

COPIED = (PACKAGE, LIGHT, "tests", "pyproject.toml")
LINKED = ("benchmarks", "docs", "experiments", "saved_models", "tutorials")
"""Files that tests read and no mutant changes."""

PRELOADED = ("tensorflow", "keras", "keras_hub", "tensorflow_text", "pytest")
SECONDS = 900
"""Processor time after which a process has no end."""
_SHARE_OF_A_CORE = 0.2
"""Minimum share of a core that a process has while it waits, or on a busy machine."""

PYTEST = (
    *("-x", "-q", "--tb=no", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # some are imported by the server
)


class Copy:
    """A copy of the code in which one module at a time is mutated.

    Args:
        folder: Path of an empty folder.
        root: What is copied from.
    """

    def __init__(self, folder, root=ROOT):
        self.folder = Path(folder).resolve()
        for name in COPIED:
            if (root / name).is_dir():
                ignore = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / name, self.folder / name, ignore=ignore)
            elif (root / name).exists():
                shutil.copy(root / name, self.folder / name)
        for name in LINKED:
            if (root / name).exists():
                (self.folder / name).symlink_to(root / name)

    @contextlib.contextmanager
    def mutated(self, mutant):
        """A context in which the copy holds a mutant."""
        module = self.folder / path_of(mutant.module)
        source = module.read_text("utf-8")
        module.write_text(mutant.source, "utf-8")
        try:
            yield
        finally:
            module.write_text(source, "utf-8")


class Runner:
    """Runs tests of a copy, each time in a fresh process.

    Args:
        copy: A `Copy`.
        preloaded: Modules that the server of processes imports.
        seconds: Processor time after which a process is ended.
    """

    def __init__(self, copy, preloaded=PRELOADED, seconds=SECONDS):
        os.environ["KERAS_BACKEND"] = "tensorflow"
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        self.copy, self.seconds = copy, seconds
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(list(preloaded))

    def first_failure(self, tests):
        """Name of the test that fails first, or None if none does.

        Args:
            tests: Paths, relative to `tests`.

        Raises:
            RuntimeError: If pytest could not run the tests.
        """
        receiver, sender = self.context.Pipe(duplex=False)
        paths = [f"tests/{test}" for test in tests]
        process = self.context.Process(
            target=_run_pytest, args=(str(self.copy.folder), paths, self.seconds, sender)
        )
        process.start()
        sender.close()
        try:
            if not receiver.poll(self.seconds / _SHARE_OF_A_CORE):
                return f"(no end after {self.seconds / _SHARE_OF_A_CORE:g} s)"
            status, failure, output = receiver.recv()
        except EOFError:
            process.join()
            if process.exitcode == -signal.SIGXCPU:
                return f"(no end after {self.seconds} s of processor time)"
            return "(the process crashed)"
        finally:
            process.kill()
            process.join()
        if status not in (0, 1, 2) or (status and failure is None):
            raise RuntimeError(f"pytest did not run the tests:\n{output}")
        return failure


class _FirstFailure:
    """A pytest plugin that notes what failed first."""

    name = None

    def pytest_runtest_logreport(self, report):
        if report.failed and self.name is None:
            self.name = report.nodeid.rpartition("::")[2].partition("[")[0]

    def pytest_collectreport(self, report):
        if report.failed and self.name is None:
            self.name = f"(import of {report.nodeid})"


def _run_pytest(folder, paths, seconds, sender):
    """Sends pytest's status, the first failure, and what was printed."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    os.chdir(folder)
    # Two versions of a module may share size and second: a `.pyc` could be the wrong one's.
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, folder)
    for name in list(sys.modules):
        if name.partition(".")[0] in (PACKAGE, LIGHT, "tests", "benchmarks"):
            del sys.modules[name]
    plugin, log = _FirstFailure(), Path(folder) / "pytest.log"
    with log.open("w+") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        status = int(pytest.main([*PYTEST, *paths], plugins=[plugin]))
        sys.stdout.flush()
        file.seek(0)
        output = file.read()[-4000:]
    imported = sys.modules.get(PACKAGE)
    if imported is not None and not imported.__file__.startswith(folder):
        status, plugin.name, output = 70, None, f"{imported.__file__} is not the copy's."
    sender.send((status, plugin.name, output))
    sender.close()
    os._exit(0)
