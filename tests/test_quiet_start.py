"""The whole of stderr of processes that start TensorFlow, with none of its switches set."""

import os
import subprocess
import sys

import pytest

from aiayn_keras.quiet_start import quiet_start
from tests.cli.command import SOURCES, run_in_fresh_process

ONE_SENTENCE = f"{SOURCES[0]}\n"


def test_translate_writes_nothing_else_to_stderr(trained_run):
    arguments = ("-m", "aiayn_keras", "translate", trained_run)
    result = run_in_fresh_process(*arguments, input=ONE_SENTENCE)
    assert result.returncode == 0
    assert result.stdout.count("\n") == 1
    assert result.stderr == ""


def test_workers_of_a_job_write_nothing_to_stderr(trained_run, tmp_path):
    (tmp_path / "sources.en").write_text(ONE_SENTENCE)
    arguments = ("-m", "aiayn_keras", "translate", trained_run)
    paths = ("--input", tmp_path / "sources.en", "--output", tmp_path / "job", "--workers", "1")
    result = run_in_fresh_process(*arguments, *paths)
    assert result.returncode == 0
    assert "TensorFlow" not in result.stderr
    assert "absl" not in result.stderr
    assert "I0000" not in result.stderr


def test_an_error_is_all_there_is_on_stderr(trained_run):
    arguments = ("-m", "aiayn_keras", "translate", trained_run, "--input", "nowhere.en")
    result = run_in_fresh_process(*arguments)
    assert result.stderr == "Error: There is no corpus file 'nowhere.en'.\n"


def test_verbose_shows_the_messages(trained_run):
    pytest.importorskip("tensorflow")
    arguments = ("-m", "aiayn_keras", "translate", trained_run, "--verbose")
    assert "oneDNN" in run_in_fresh_process(*arguments, input=ONE_SENTENCE).stderr


def test_messages_are_kept_from_view_unless_the_block_fails(capfd):
    with quiet_start():
        os.write(2, b"failed call to cuInit\n")
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "ours\n"

    def fail():
        with quiet_start():
            os.write(2, b"cannot open shared object file\n")
            raise ImportError("libtensorflow")

    with pytest.raises(ImportError, match="libtensorflow"):
        fail()
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "cannot open shared object file\nours\n"


def test_a_process_without_a_stderr_starts_too():
    program = (
        "from aiayn_keras.quiet_start import quiet_start\nwith quiet_start(): print('started')"
    )
    result = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" aiayn-keras 2>&-', sys.executable, program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert (result.returncode, result.stdout) == (0, "started\n")
