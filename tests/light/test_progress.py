import io
import os
import re
import subprocess
import sys

import pytest

from aiayn_keras_light.progress import open_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def work(clock, seconds_per_update, **options):
    with open_progress(total=4000, unit=" sentences", **options) as bar:
        for _ in range(5):
            clock[0] += seconds_per_update
            bar.update(640)


@pytest.fixture(name="clock")
def time_by_hand(monkeypatch):
    """A list of one number: the time that tqdm sees."""
    clock = [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    return clock


def test_a_process_may_have_no_standard_error(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    work(clock, 20.0)


def test_a_terminal_has_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with open_progress(total=3) as bar:
        bar.update(3)
    assert re.search(r"\r100%.*3/3", sys.stderr.getvalue())


def test_without_a_terminal_there_is_a_line_every_ten_seconds(clock, capsys):
    work(clock, 5.0, first_line_after=10)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["1280/4000", "2560/4000", "3200/4000"]
    assert lines[0] == "1280/4000 [00:10<00:21, 128.00 sentences/s]"


def test_a_bar_inside_another_writes_lines_too(clock, capsys):
    with open_progress(total=1, unit=" runs", desc="table "):
        work(clock, 5.0, first_line_after=10)
    lines = [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()]
    assert [line for line in lines if line != "table"] == ["1280/4000", "2560/4000", "3200/4000"]


def test_short_work_shows_no_line(clock, capsys):
    work(clock, 1.0, first_line_after=10)
    assert capsys.readouterr().err == ""


NOTEBOOK = """
import sys
if "notebook" in sys.argv:
    import ipykernel.zmqshell  # as in the process of a notebook
from aiayn_keras_light.progress import open_progress

with open_progress(total=3) as bar:
    bar.update(3)
print([each.__name__ for each in type(bar).mro()], "ipywidgets" in sys.modules)
"""


@pytest.mark.parametrize("kind", ["notebook", "script"])
def test_widgets_are_imported_in_notebooks_alone(kind):
    pytest.importorskip("ipykernel")
    pytest.importorskip("ipywidgets")
    command = [sys.executable, "-c", NOTEBOOK, kind]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    line = result.stdout.splitlines()[-1]
    is_notebook = kind == "notebook"
    assert line.endswith(f"] {is_notebook}")
    assert ("tqdm_notebook" in line) == is_notebook
