"""The lines of the package that each test of a file runs, recorded by coverage.py."""

from collections import Counter, defaultdict
from typing import NamedTuple

import pytest

from tests.mutations.core import LIGHT, PACKAGE

_SHARED = ""
"""Context of lines that run while modules are imported, or in fixtures that tests share."""


class Recording(NamedTuple):
    """What a file of tests runs.

    Attributes:
        seconds: Dictionary of times: of the tests, by the names of their functions, such as
            `tests/a.py::test_b`, and of the file.
        lines: Dictionary of lists of names by `(path, line)`; paths are relative to the root. The
            name of a line that does not belong to one test is that of the file.
    """

    seconds: dict
    lines: dict


class Recorder:
    """A pytest plugin that makes the `Recording` of the file that it runs.

    Args:
        folder: Path of the copy that is tested.
        test: Path of the file, relative to the copy.
    """

    def __init__(self, folder, test):
        import coverage

        self._folder, self._test = folder, test
        self._seconds, self._context = Counter(), _SHARED
        source = [str(folder / name) for name in (PACKAGE, LIGHT)]
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, source=source, messages=False
        )
        self._coverage.start()

    def pytest_runtest_logstart(self, nodeid):
        self._switch(_function(nodeid))

    def pytest_runtest_logfinish(self):
        self._switch(_SHARED)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        before = self._context
        if fixturedef.scope != "function":
            self._switch(_SHARED)
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report):
        self._seconds[_function(report.nodeid)] += report.duration

    def finish(self):
        """Stops recording and returns the fields of the `Recording`, for another process."""
        self._coverage.stop()
        data, lines = self._coverage.get_data(), defaultdict(list)
        for file in data.measured_files():
            path = file.removeprefix(f"{self._folder}/")
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[path, line] = [context or self._test for context in contexts]
        seconds = {**self._seconds, self._test: self._seconds.total()}
        return seconds, dict(lines)

    def _switch(self, context):
        self._context = context
        self._coverage.switch_context(context)


def _function(nodeid):
    """Name of a test without its parameters."""
    return nodeid.partition("[")[0]
