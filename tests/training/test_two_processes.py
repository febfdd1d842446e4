"""Two processes on this machine train one model, by the command line."""

import os
import shutil
import signal
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest

from aiayn_keras.training.checkpoints import list_checkpoints
from tests.claims.kills import weights_of, write_recipe
from tests.helpers import assert_close
from tests.runs import figures_of
from tests.training.stopping_callbacks import STOPPED_AT

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "jax", reason="Only JAX joins processes here."
)
SETTINGS = ("model.dropout=0.0", "training.checkpoint_every=5", "training.jit_compile=true")
DEVICES_OF_EACH = 2


def start(recipe, output, *settings, **environment):
    """A process of `aiayn-keras train`, its words kept in a file beside `output`."""
    options = [word for setting in (*SETTINGS, *settings) for word in ("--set", setting)]
    name = environment.get("KERAS_DISTRIBUTION_PROCESS_ID", "")
    with output.with_suffix(f".log{name}").open("w") as log:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.training.recorded_writes"),
                *(output, output.with_suffix(f".writes{name}")),
                *("train", recipe, *options, "--output", output),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )


def wait_for(processes, log, code=0):
    """Fails with what was said if a process does; then ends the others, which wait for it."""
    try:
        codes = [process.wait(timeout=900) for process in processes]
    finally:
        for process in processes:
            process.kill()
    texts = [path.read_text("utf-8")[-2000:] for path in log.parent.glob(f"{log.stem}.log*")]
    assert codes == [code] * len(codes), "\n\n".join(texts)


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def train_together(recipe, output, *settings, code=0):
    """Two processes with two devices each, which end with an exit code."""
    environment = {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES_OF_EACH}",
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{free_port()}",
        "KERAS_DISTRIBUTION_NUM_PROCESSES": "2",
    }
    processes = [
        start(
            recipe,
            output,
            "training.devices=data_parallel",
            *settings,
            **environment,
            KERAS_DISTRIBUTION_PROCESS_ID=str(process),
        )
        for process in range(2)
    ]
    wait_for(processes, output, code)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    return write_recipe(tmp_path_factory.mktemp("processes"), updates=10)


@pytest.fixture(scope="module", name="runs")
def trained_alone_and_together(recipe):
    alone, together = (recipe.parent / name for name in ("alone", "together"))
    wait_for([start(recipe, alone)], alone)
    train_together(recipe, together)
    return alone, together


def test_two_processes_give_the_weights_of_one(runs):
    alone, together = (weights_of(run) for run in runs)
    assert alone.keys() == together.keys()
    assert any(np.ptp(array) > 0.1 for array in alone.values())
    for name, array in alone.items():
        assert_close(together[name], array, rtol=0, atol=1e-5)


def test_two_processes_have_all_devices_and_half_of_them_each(runs):
    logs = [runs[1].with_suffix(f".log{process}").read_text("utf-8") for process in range(2)]
    for process, log in enumerate(logs, start=1):
        assert f"4 copies of the model, process {process} of 2." in log
    # The bar is the first one's.
    assert ["update/s" in log for log in logs] == [True, False]


def test_two_processes_leave_the_files_of_one(runs):
    alone, together = (
        {
            path.relative_to(run).as_posix().partition(".")[0]
            for path in run.rglob("*")
            if "tensorboard" not in path.parts
        }
        for run in runs
    )
    assert together == alone


def test_the_first_process_alone_writes_into_the_folder(runs):
    first, second = (runs[1].with_suffix(f".writes{process}").read_text() for process in range(2))
    assert "checkpoints" in first
    assert second == ""


@pytest.fixture
def stopped(runs, tmp_path):
    """The folder of both processes as it was after the first checkpoint."""
    folder = tmp_path / "stopped"
    shutil.copytree(runs[1], folder)
    (_, last) = list_checkpoints(folder / "checkpoints")[-1]
    for path in (folder / "evaluation.json", last):
        path.unlink()
    return folder


def test_two_processes_go_on_to_the_weights_of_those_that_were_not_stopped(recipe, runs, stopped):
    train_together(recipe, stopped)
    assert "Going on from update 5." in stopped.with_suffix(".log0").read_text("utf-8")
    expected = weights_of(runs[1])
    for name, array in weights_of(stopped).items():
        np.testing.assert_array_equal(array, expected[name])


def test_one_process_with_other_devices_goes_on_with_what_two_began(recipe, runs, stopped):
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    wait_for([start(recipe, stopped, "training.devices=data_parallel", **flags)], stopped)
    log = stopped.with_suffix(".log").read_text("utf-8")
    assert "Going on from update 5." in log
    assert "3 copies of the model" in log
    expected = weights_of(runs[1])
    for name, array in weights_of(stopped).items():
        assert_close(array, expected[name], rtol=0, atol=1e-5)


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both_after_the_same_update_with_a_checkpoint(recipe, runs):
    folder = recipe.parent / "signalled"
    name = "training.callbacks=['tests.training.stopping_callbacks:StopSecondProcess']"
    train_together(recipe, folder, name, code=128 + signal.SIGTERM)
    for process in range(2):
        log = folder.with_suffix(f".log{process}").read_text("utf-8")
        assert f"Stopped after update {STOPPED_AT}; its checkpoint is written." in log
    assert [update for update, _ in list_checkpoints(folder / "stopped")] == [STOPPED_AT]
    train_together(recipe, folder, "training.callbacks=[]")
    assert f"Going on from update {STOPPED_AT}." in folder.with_suffix(".log0").read_text("utf-8")
    expected = weights_of(runs[1])
    for name, array in weights_of(folder).items():
        np.testing.assert_array_equal(array, expected[name])
    assert figures_of(folder) == figures_of(runs[1])
