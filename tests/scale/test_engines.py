"""Every part is worked on, by processes and on Ray; work is loaded once a worker."""

import json
import os
import subprocess
import sys

import pytest

from aiayn_keras.scale.engines import THIS_MACHINE, Engine
from tests.scale.work_doubles import CountingWorkDouble

PARTS = list(range(9))


def results_of(engine, folder, parts=PARTS, **options):
    return sorted(engine.run(CountingWorkDouble, (str(folder), *options.values()), parts))


def test_processes_work_on_every_part_and_load_once(tmp_path):
    assert results_of(Engine(2), tmp_path) == [10 * part for part in PARTS]
    assert len(list(tmp_path.glob("started.*"))) == 2
    assert len(list(tmp_path.glob("call-*"))) == len(PARTS)
    assert not (tmp_path / "keras").exists()
    assert "AIAYN_KERAS_LAZY" not in os.environ


def test_nothing_is_started_for_no_part(tmp_path):
    assert results_of(Engine(2), tmp_path, parts=[]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_is_told(tmp_path):
    with pytest.raises(RuntimeError, match=r"process was killed.*the same command goes on"):
        results_of(Engine(2), tmp_path, killed=(3,))


def test_an_error_of_the_work_is_raised(tmp_path):
    with pytest.raises(ValueError, match="part 4 is damaged"):
        results_of(Engine(1), tmp_path, killed=(), refused=4)


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install aiayn-keras\[scale\]"):
        results_of(Engine(2, THIS_MACHINE), tmp_path)


def test_on_ray_a_part_is_begun_again_when_its_worker_dies(tmp_path):
    pytest.importorskip("ray")
    answers, refusing = tmp_path / "answers.json", tmp_path / "refusing"
    refusing.mkdir()
    # A process of its own: Ray speaks to the machine's address, which tests may not reach.
    program = f"""
import json, pathlib
from aiayn_keras.scale.engines import Engine
from tests.scale.work_doubles import CountingWorkDouble
engine, parts = Engine(2, "local"), list(range(9))
answers = [sorted(engine.run(CountingWorkDouble, ({str(tmp_path)!r}, (3, 5)), parts))]
try:
    list(engine.run(CountingWorkDouble, ({str(refusing)!r}, (), 4), parts))
except ValueError as error:
    answers.append(str(error))
pathlib.Path({str(answers)!r}).write_text(json.dumps(answers))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    # Not from its output, to which Ray writes at times of its own.
    assert json.loads(answers.read_text()) == [[10 * part for part in PARTS], "part 4 is damaged"]
    assert len(list(tmp_path.glob("call-3.*"))) == 2
    assert not (tmp_path / "keras").exists()
