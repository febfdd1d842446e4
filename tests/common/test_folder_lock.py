import errno
import fcntl
import os
import subprocess
import sys

import pytest

from aiayn_keras.common import folder_lock
from aiayn_keras.common.folder_lock import FolderInUseError, hold_lock
from aiayn_keras.training import train
from tests.runs import small_recipe

HOLD = """
import pathlib, runpy, sys, time
hold_lock = runpy.run_path(sys.argv[1])["hold_lock"]
with hold_lock(pathlib.Path(sys.argv[2])):
    print("held", flush=True)
    time.sleep(600)
"""


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_second_start_fails_at_once_and_names_the_first(tmp_path):
    folder = tmp_path / "run"
    with hold_lock(folder / "training.lock"):
        before = (folder / "training.lock.holder").read_bytes()
        with pytest.raises(
            FolderInUseError, match=rf"process {os.getpid()} on \S+ works in .*run:"
        ):
            train(small_recipe(), folder)
        assert (folder / "training.lock.holder").read_bytes() == before
        assert names_in(folder) == ["training.lock", "training.lock.holder"]


def test_a_killed_process_leaves_no_lock(tmp_path):
    path, holder = tmp_path / "training.lock", tmp_path / "training.lock.holder"
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
    assert holder.exists()
    with hold_lock(path):
        assert holder.read_text().startswith(f"{os.getpid()} on ")
    assert names_in(tmp_path) == []


def test_a_folder_is_made_and_goes_unless_something_came_into_it(tmp_path):
    path = tmp_path / "runs" / "run" / "training.lock"
    with pytest.raises(ValueError, match="no corpus"), hold_lock(path):
        raise ValueError("no corpus")
    assert not path.parent.exists()
    with hold_lock(path):
        (path.parent / "recipe.yaml").touch()
    assert names_in(path.parent) == ["recipe.yaml"]


def test_a_lock_whose_holder_ends_between_opening_and_locking_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "training.lock"
    flock = fcntl.flock

    def flock_after_the_holder_ended(descriptor, operation):
        if operation & fcntl.LOCK_EX:
            path.unlink(missing_ok=True)
        return flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock_after_the_holder_ended)
    with pytest.raises(FolderInUseError, match="another process works"), hold_lock(path):
        pass


def test_where_nothing_can_be_locked_a_warning_says_so(tmp_path, monkeypatch, caplog):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with hold_lock(tmp_path / "run" / "training.lock"):
        pass
    assert "cannot be locked (No locks available): do not start anything else" in caplog.text
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["job.lock", "job.lock.holder"])
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_refused_and_not_followed(tmp_path, name, is_dangling):
    victim, link = tmp_path / "victim", tmp_path / "out" / name
    link.parent.mkdir()
    link.symlink_to("../victim")
    if not is_dangling:
        victim.write_text("worth keeping")
    with (
        pytest.raises(OSError, match=rf"{name} is a link, .* Delete it\."),
        hold_lock(tmp_path / "out" / "job.lock"),
    ):
        pass
    assert link.is_symlink()
    assert (victim.read_text() == "worth keeping") if not is_dangling else not victim.exists()


@pytest.mark.parametrize("name", ["job.lock", "job.lock.holder"])
def test_a_link_that_appears_after_the_check_is_not_followed(tmp_path, name, monkeypatch):
    (tmp_path / "victim").write_text("worth keeping")
    (tmp_path / name).symlink_to("victim")
    check = folder_lock._check_regular
    checked = []

    def check_too_early(path):
        checked.append(path)
        if len(checked) > 2:
            check(path)

    monkeypatch.setattr(folder_lock, "_check_regular", check_too_early)
    if name == "job.lock":
        with pytest.raises(OSError, match=r"job\.lock is a link"), hold_lock(tmp_path / name):
            pass
    else:  # a link is replaced, not written through
        with hold_lock(tmp_path / "job.lock"):
            assert not (tmp_path / name).is_symlink()
    assert (tmp_path / "victim").read_text() == "worth keeping"


def test_another_name_of_a_file_keeps_its_content(tmp_path):
    (tmp_path / "victim").write_text("worth keeping")
    os.link(tmp_path / "victim", tmp_path / "job.lock")
    os.link(tmp_path / "victim", tmp_path / "job.lock.holder")
    with hold_lock(tmp_path / "job.lock"):
        pass
    assert (tmp_path / "victim").read_text() == "worth keeping"


def test_a_pipe_is_not_a_lock(tmp_path):
    os.mkfifo(tmp_path / "training.lock")
    with pytest.raises(OSError, match="not a regular file"), hold_lock(tmp_path / "training.lock"):
        pass


def test_a_holder_that_is_a_pipe_is_not_waited_for(tmp_path):
    path, holder = tmp_path / "training.lock", tmp_path / "training.lock.holder"
    with hold_lock(path):
        holder.unlink()
        os.mkfifo(holder)
        with pytest.raises(OSError, match="holder is not a regular file"), hold_lock(path):
            pass
        holder.unlink()
