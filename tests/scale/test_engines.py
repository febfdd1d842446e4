"""Every part is worked on, by processes and on Ray; work is loaded once a worker."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from aiayn_keras.scale.engines import Engine
from aiayn_keras.scale.ray_actors import THIS_MACHINE
from tests.scale.work_doubles import CountingWorkDouble

PARTS = list(range(9))


def results_of(engine, folder, parts=PARTS, **options):
    return sorted(engine.run(CountingWorkDouble, (str(folder), *options.values()), parts))


def test_processes_work_on_every_part_and_load_once(tmp_path):
    assert results_of(Engine(2), tmp_path) == [10 * part for part in PARTS]
    assert len(list(tmp_path.glob("started.*"))) == 2
    assert len(list(tmp_path.glob("call-*"))) == len(PARTS)
    assert not {"keras", "grain"} & {path.name for path in tmp_path.iterdir()}
    assert "AIAYN_KERAS_LAZY" not in os.environ


def test_nothing_is_started_for_no_part(tmp_path):
    assert results_of(Engine(2), tmp_path, parts=[]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_is_told(tmp_path):
    with pytest.raises(RuntimeError, match=r"process was killed.*The same command goes on"):
        results_of(Engine(2), tmp_path, killed=(3,))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_when_the_job_s_process_ends_its_workers_end_at_once(number, tmp_path):
    program = f"""
from aiayn_keras.scale.engines import Engine
from tests.scale.work_doubles import EndlessWorkDouble

if __name__ == "__main__":
    list(Engine(2).run(EndlessWorkDouble, ({str(tmp_path)!r},), list(range(9))))
"""
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "AIAYN_KERAS_LAZY": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, tmp_path / "program.py"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as job:
        begun = tmp_path / "processes"
        wait_until(lambda: begun.exists() and begun.read_text().count("\n") == 2)
        job.send_signal(number)
        assert job.wait(timeout=60) != 0
    workers = list(map(int, begun.read_text().split()))
    assert len(workers) == 2  # no further part was begun
    wait_until(lambda: not any(is_running(worker) for worker in workers))


def wait_until(is_true):
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_error_of_the_work_is_raised(tmp_path):
    with pytest.raises(ValueError, match="part 4 is damaged"):
        results_of(Engine(1), tmp_path, killed=(), refused=4)


def test_an_error_that_pickle_cannot_make_anew_is_told(tmp_path):
    with pytest.raises(RuntimeError, match=r"^OddError: part 4 is damaged$"):
        results_of(Engine(1), tmp_path, killed=(), refused=4, odd=True)


def test_an_error_of_the_loading_is_raised(tmp_path):
    with pytest.raises(ValueError, match="the model is damaged"):
        results_of(Engine(2), tmp_path, killed=(), refused=-1)


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install aiayn-keras\[scale\]"):
        results_of(Engine(2, THIS_MACHINE), tmp_path)


def test_on_ray_a_part_is_begun_again_when_its_worker_dies(tmp_path):
    pytest.importorskip("ray")
    # A process of its own: Ray speaks to the machine's address, which tests may not reach.
    program = f"""
import json, os, pathlib
import ray
from aiayn_keras.scale import ray_actors
from aiayn_keras.scale.engines import Engine
from tests.scale.work_doubles import CountingWorkDouble

def run(folder, *arguments, parts=tuple(range(9))):
    (folder := pathlib.Path({str(tmp_path)!r}) / folder).mkdir()
    try:
        return sorted(engine.run(CountingWorkDouble, (str(folder), *arguments), parts))
    except (ValueError, RuntimeError) as error:
        return str(error), "in __call__" in "".join(getattr(error, "__notes__", ()))

del os.environ["AIAYN_KERAS_LAZY"]  # the workers are told themselves
ray_actors.MAX_DEATHS = 1
engine = Engine(2, "local")
answers = [run("refusing", (), 4)]
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
engine = Engine(3, "local")  # one of whom waits for a core, and takes that of one who dies
answers += [run("killed", (3, 5)), run("damaged", (), -1), run("odd", (), 4, True)]
engine = Engine(1, "local")
answers += [run("deadly", (-7,), parts=[-7]), run("deadly at once", (-1,))]
ray.shutdown()
pathlib.Path({str(tmp_path)!r}, "answers.json").write_text(json.dumps(answers))
"""
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "AIAYN_KERAS_LAZY": "1"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert run.returncode == 0, run.stderr
    # Not from its output, to which Ray writes at times of its own.
    answers = json.loads((tmp_path / "answers.json").read_text())
    assert answers[:4] == [
        ["part 4 is damaged", True],
        [10 * part for part in PARTS],
        ["the model is damaged", True],
        ["OddError: part 4 is damaged", True],
    ]
    assert answers[4][0].startswith("2 workers on Ray died while they worked on part -7")
    assert answers[5][0].startswith("2 workers on Ray died while they loaded the work")
    assert len(list(tmp_path.glob("killed/call-3.*"))) == 2
    assert len(list(tmp_path.glob("deadly/call-*"))) == 2
    assert not {"keras", "grain"} & {path.name for path in tmp_path.glob("*/*")}
