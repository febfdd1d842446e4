"""Every part is worked on, by processes and on Ray; each worker loads the work once."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from aiayn_keras.scale import worker_pool
from aiayn_keras.scale.worker_pool import THIS_MACHINE, WorkerPool, _start_context, count_lines
from tests.scale.work_doubles import CountingWorkDouble, work_without_end

PARTS = list(range(9))


def results_of(pool, folder, parts=PARTS, **options):
    return sorted(pool.run(CountingWorkDouble, (str(folder), *options.values()), parts))


@pytest.mark.slow
def test_processes_work_on_every_part_and_load_once(tmp_path):
    assert results_of(WorkerPool(2), tmp_path) == [10 * part for part in PARTS]
    assert len(list(tmp_path.glob("started.*"))) == 2
    assert len(list(tmp_path.glob("call-*"))) == len(PARTS)


def test_workers_see_the_environment_of_their_job_and_share_the_cores(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    results_of(WorkerPool(2), tmp_path)  # the server of the workers is running now
    monkeypatch.setenv("NEW_VARIABLE", "new")
    [(variable, num_cores, num_threads)] = WorkerPool(1).run(EnvironmentDouble, (), [0])
    assert (variable, num_cores) == ("new", len(os.sched_getaffinity(0)))
    assert 1 <= int(num_threads) <= num_cores
    assert "OMP_NUM_THREADS" not in os.environ


class EnvironmentDouble:
    """Returns what a worker sees."""

    def __call__(self, part):
        num_threads = os.environ["OMP_NUM_THREADS"]
        return os.environ.get("NEW_VARIABLE"), len(os.sched_getaffinity(0)), num_threads


def test_lines_of_unfinished_parts_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_pool, "SECONDS_BETWEEN_LINES", 0.05)
    reports = []

    def progress(lines):
        reports.append(lines)
        if lines == 14:
            (tmp_path / "go").touch()  # until both have counted, no part is finished

    work = CountsLinesDouble, (str(tmp_path / "go"),), [0, 1]
    assert list(WorkerPool(2).run(*work, progress=progress)) == ["done", "done"]
    assert reports == sorted(reports)
    assert 14 in reports


class CountsLinesDouble:
    """Counts seven lines, and then waits until a file exists."""

    def __init__(self, path):
        self._path = path

    def __call__(self, part):
        count_lines(3)
        count_lines(4)
        wait_until(lambda: os.path.exists(self._path))
        return "done"


def test_nothing_is_started_for_no_part(tmp_path):
    assert results_of(WorkerPool(2), tmp_path, parts=[]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_is_reported(tmp_path):
    with pytest.raises(RuntimeError, match=r"process was killed.*The same command goes on"):
        results_of(WorkerPool(2), tmp_path, killed=(3,))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_the_job_s_process_ends_its_workers_end_at_once(number, tmp_path):
    job = _start_context().Process(target=work_without_end, args=(tmp_path,))
    job.start()
    begun = tmp_path / "processes"
    wait_until(lambda: begun.exists() and begun.read_text().count("\n") == 2)
    os.kill(job.pid, number)
    job.join(timeout=60)
    assert job.exitcode not in (0, None)
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
        results_of(WorkerPool(1), tmp_path, killed=(), refused=4)


def test_an_error_that_pickle_cannot_recreate_is_raised_as_text(tmp_path):
    with pytest.raises(RuntimeError, match=r"^OddError: part 4 is damaged$"):
        results_of(WorkerPool(1), tmp_path, killed=(), refused=4, odd=True)


def test_an_error_of_the_loading_is_raised(tmp_path):
    with pytest.raises(ValueError, match="the model is damaged"):
        results_of(WorkerPool(2), tmp_path, killed=(), refused=-1)


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install aiayn-keras\[scale\]"):
        results_of(WorkerPool(2, THIS_MACHINE), tmp_path)


def test_a_cluster_that_does_not_answer_is_named(tmp_path, monkeypatch):
    """Ray's own message names an option that commands do not have."""
    ray = pytest.importorskip("ray")

    def refuse(*_, **__):
        raise ConnectionError("Could not find any running Ray instance. Set the `--address` flag.")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ConnectionError, match=r"at the address 'auto'. Start one .*`ray start --h"):
        results_of(WorkerPool(2, "auto"), tmp_path)


def run_on_ray(folder, program, timeout):
    """Runs a program that writes `answers.json` into a folder; gives what it wrote.

    A process of its own, since Ray speaks to the machine's address, which tests may not reach; and
    not from its output, to which Ray writes at times of its own.
    """
    pytest.importorskip("ray")
    program = f"""
import json, pathlib
import ray
from aiayn_keras.scale import worker_pool
from aiayn_keras.scale.worker_pool import WorkerPool
from tests.scale.work_doubles import CountingWorkDouble

def run(pool, folder, *arguments, parts=tuple(range(9))):
    (folder := pathlib.Path({str(folder)!r}) / folder).mkdir()
    try:
        return sorted(pool.run(CountingWorkDouble, (str(folder), *arguments), parts))
    except (ValueError, RuntimeError) as error:
        return str(error), "in __call__" in "".join(getattr(error, "__notes__", ()))

answers = []
{program}
pathlib.Path({str(folder)!r}, "answers.json").write_text(json.dumps(answers))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout
    )
    assert run.returncode == 0, run.stderr
    return json.loads((folder / "answers.json").read_text())


@pytest.mark.slow
def test_on_ray_a_part_is_begun_again_when_its_worker_dies(tmp_path):
    program = 'answers += run(WorkerPool(2, "local"), "killed", (1,), parts=(0, 1, 2))'
    assert run_on_ray(tmp_path, program, timeout=600) == [0, 10, 20]
    assert len(list(tmp_path.glob("killed/call-1.*"))) == 2


@pytest.mark.slow
def test_on_ray_errors_and_deaths_are_reported_and_cores_are_passed_on(tmp_path):
    program = """
worker_pool.MAX_DEATHS = 1
answers += [run(WorkerPool(2, "local"), "refusing", (), 4)]
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
pool = WorkerPool(3, "local")  # one waits for a core, and takes that of a dead one
answers += [run(pool, "killed", (3, 5)), run(pool, "damaged", (), -1)]
answers += [run(pool, "odd", (), 4, True)]
pool = WorkerPool(1, "local")
answers += [run(pool, "deadly", (-7,), parts=[-7]), run(pool, "deadly at once", (-1,))]
ray.shutdown()
"""
    answers = run_on_ray(tmp_path, program, timeout=1800)
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
