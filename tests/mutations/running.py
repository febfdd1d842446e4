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
from tests.mutations.recording import Recorder, Recording

COPIED = (PACKAGE, LIGHT, "tests", "pyproject.toml")
LINKED = ("benchmarks", "docs", "experiments", "saved_models", "tutorials")
"""Files that tests read and no mutant changes."""

PRELOADED = ("tensorflow", "keras", "keras_hub", "tensorflow_text", "pytest")
SECONDS = 900
"""Processor time after which a process has no end, where nothing is known of its tests."""
_SHARE_OF_A_CORE = 0.2
"""Minimum share of a core that a process has while it waits, or on a busy machine."""

_NO_TESTS = 5
"""The status of pytest where it has left out all tests."""

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

    def record(self, test):
        """Makes the `Recording` of a file of tests on the code as it is.

        Args:
            test: Path of the file, relative to the copy.

        Raises:
            RuntimeError: If a test fails.
        """
        failure, recording = self._run([test], self.seconds, is_recorded=True)
        if failure is not None:
            raise RuntimeError(f"{failure} of {test} fails on the code as it is.")
        return Recording(*recording)

    def first_failure(self, tests, seconds=None):
        """Name of the test that fails first, or None if none does.

        Args:
            tests: Paths, relative to the copy, or names such as `tests/a.py::test_b`.
            seconds: Processor time after which they have no end; the runner's if not given.

        Raises:
            RuntimeError: If pytest could not run the tests.
        """
        return self._run(tests, seconds or self.seconds, is_recorded=False)[0]

    def _run(self, tests, seconds, is_recorded):
        """Returns the name of the test that fails first, or None, and what was recorded."""
        receiver, sender = self.context.Pipe(duplex=False)
        folder = str(self.copy.folder)
        process = self.context.Process(
            target=_run_pytest, args=(folder, tests, seconds, is_recorded, sender)
        )
        process.start()
        sender.close()
        try:
            if not receiver.poll(seconds / _SHARE_OF_A_CORE):
                return f"(no end after {seconds / _SHARE_OF_A_CORE:g} s)", None
            status, failure, recording, output = receiver.recv()
        except EOFError:
            process.join()
            if process.exitcode == -signal.SIGXCPU:
                return f"(no end after {seconds:g} s of processor time)", None
            return "(the process crashed)", None
        finally:
            process.kill()
            process.join()
        if status == _NO_TESTS:  # all of them are slow
            return None, recording
        if status not in (0, 1, 2) or (status and failure is None):
            raise RuntimeError(f"pytest did not run the tests:\n{output}")
        return failure, recording


class _FirstFailure:
    """A pytest plugin that notes what failed first."""

    name = None

    def pytest_runtest_logreport(self, report):
        if report.failed and self.name is None:
            self.name = report.nodeid.rpartition("::")[2].partition("[")[0]

    def pytest_collectreport(self, report):
        if report.failed and self.name is None:
            self.name = f"(import of {report.nodeid})"


def _run_pytest(folder, tests, seconds, is_recorded, sender):
    """Sends pytest's status, the first failure, what was recorded, and what was printed."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.RLIM_INFINITY))
    os.chdir(folder)
    # Two versions of a module may share size and second: a `.pyc` could be the wrong one's.
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, folder)
    for name in list(sys.modules):
        if name.partition(".")[0] in (PACKAGE, LIGHT, "tests", "benchmarks"):
            del sys.modules[name]
    plugin, log = _FirstFailure(), Path(folder) / "pytest.log"
    recorder = Recorder(Path(folder), *tests) if is_recorded else None
    with log.open("w+") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        plugins = [plugin, *([recorder] if is_recorded else [])]
        status = int(pytest.main([*PYTEST, *tests], plugins=plugins))
        sys.stdout.flush()
        file.seek(0)
        output = file.read()[-4000:]
    imported = sys.modules.get(PACKAGE)
    if imported is not None and not imported.__file__.startswith(folder):
        status, plugin.name, output = 70, None, f"{imported.__file__} is not the copy's."
    recording = recorder.finish() if is_recorded else None
    sender.send((status, plugin.name, recording, output))
    sender.close()
    os._exit(0)
