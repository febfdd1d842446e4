import os
import subprocess
import sys

import pytest

from aiayn_keras import folder_lock
from aiayn_keras.folder_lock import hold_lock
from aiayn_keras.training import FolderInUseError, train
from tests.runs import small_recipe

HOLD = """
import pathlib, runpy, sys, time
hold_lock = runpy.run_path(sys.argv[1])["hold_lock"]
with hold_lock(pathlib.Path(sys.argv[2])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_start_fails_at_once_and_names_the_first(tmp_path):
    folder = tmp_path / "run"
    with hold_lock(folder / "training.lock"):
        before = (folder / "training.lock").read_bytes()
        with pytest.raises(
            FolderInUseError, match=rf"process {os.getpid()} on \S+ works in .*run:"
        ):
            train(small_recipe(), folder)
        assert (folder / "training.lock").read_bytes() == before
        assert [path.name for path in folder.iterdir()] == ["training.lock"]


def test_a_killed_process_leaves_no_lock(tmp_path):
    path = tmp_path / "training.lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder_lock.__file__, str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline() == "held\n"
            with (
                pytest.raises(FolderInUseError, match=f"process {process.pid} on"),
                hold_lock(path),
            ):
                pass
        finally:
            process.kill()
    assert path.exists()
    with hold_lock(path):
        assert path.read_text().startswith(f"{os.getpid()} on ")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_and_goes_unless_something_came_into_it(tmp_path):
    path = tmp_path / "runs" / "run" / "training.lock"
    with pytest.raises(ValueError, match="no corpus"), hold_lock(path):
        raise ValueError("no corpus")
    assert not path.parent.exists()
    with hold_lock(path):
        (path.parent / "recipe.yaml").touch()
    assert [file.name for file in path.parent.iterdir()] == ["recipe.yaml"]


def test_a_lock_whose_holder_ends_between_opening_and_locking_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "training.lock"
    flock = folder_lock.fcntl.flock

    def flock_after_the_holder_ended(file, operation):
        path.unlink()
        flock(file, operation)

    monkeypatch.setattr(folder_lock.fcntl, "flock", flock_after_the_holder_ended)
    with pytest.raises(FolderInUseError, match="another process works"), hold_lock(path):
        pass


def test_a_pipe_is_no_lock(tmp_path):
    os.mkfifo(tmp_path / "training.lock")
    with pytest.raises(OSError, match="no regular file"), hold_lock(tmp_path / "training.lock"):
        pass
