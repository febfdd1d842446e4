import errno
import os
import subprocess
import sys

import pytest

from aiayn_keras_light.files import (
    CHECKSUMS,
    atomic_path,
    check_checksums,
    check_is_utf8,
    check_places,
    check_room,
    new_folder,
    read_bytes,
    write_checksums,
    write_text,
)


def test_a_link_to_nothing_is_in_the_way_of_a_new_folder(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(FileExistsError, match="link exists already: choose"), new_folder(link):
        raise AssertionError("nothing is to be computed in vain")
    assert list(tmp_path.iterdir()) == [link]


def test_a_file_appears_whole(tmp_path):
    path = tmp_path / "history.json"
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_the_old_file(tmp_path):
    path = tmp_path / "history.json"
    write_text(path, "old")

    def write_half():
        with atomic_path(path) as temporary:
            temporary.write_text("ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_whole(tmp_path):
    path = tmp_path / "above" / "run"
    with new_folder(path) as folder:
        assert folder.name == "run"
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("new")
        assert not path.exists()
    assert (path / "deep" / "file").read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_new_folder_takes_the_place_of_what_killed_processes_left(tmp_path):
    left, young, link = (tmp_path / f".writing-{name}" for name in ("left", "young", "link"))
    (left / "1" / "variables").mkdir(parents=True)
    (left / "1" / "variables" / "data").write_text("half")
    young.mkdir()
    link.symlink_to(young)
    with new_folder(tmp_path / "slow"):  # of another process, which has written for two days
        (slow,) = {*tmp_path.glob(".writing-*")} - {left, young, link}
        for old in (left, slow):
            os.utime(old, (0, 0))
        with new_folder(tmp_path / "quick"):
            pass
        assert {*tmp_path.glob(".writing-*")} == {slow, young, link}
    assert {each.name for each in tmp_path.iterdir()} == {"slow", "quick", young.name, link.name}


def test_an_interruption_leaves_no_folder(tmp_path):
    def write_half():
        with new_folder(tmp_path / "run") as folder:
            (folder / "file").write_text("ha")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_an_error_takes_away_the_parents_that_were_created(tmp_path):
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "models" / "demo" / "1"

    def fail(with_a_neighbour):
        with new_folder(path):
            if with_a_neighbour:
                (path.parent / "note").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail(with_a_neighbour=False)
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]
    with pytest.raises(KeyboardInterrupt):
        fail(with_a_neighbour=True)
    assert list(path.parent.iterdir()) == [path.parent / "note"]


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("old")])
def test_a_new_folder_takes_the_place_of_nothing(tmp_path, make):
    path = tmp_path / "run"
    make(path)
    with pytest.raises(FileExistsError, match="run exists already: choose a different name"):
        new_folder(path).__enter__()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_comes_meanwhile_is_kept(tmp_path):
    path = tmp_path / "run"

    def write():
        with new_folder(path):
            path.mkdir()
            (path / "file").touch()

    with pytest.raises(FileExistsError, match="run exists already"):
        write()
    assert list(tmp_path.rglob("*")) == [path, path / "file"]


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(ValueError, match=r"a\.json has more than 4 bytes"):
        read_bytes(path, 4)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device", "."):
        with pytest.raises(OSError, match="is not a regular file"):
            read_bytes(tmp_path / name, 10)
    with pytest.raises(FileNotFoundError, match=r"There is no file .*none"):
        read_bytes(tmp_path / "none", 10)


def test_room_is_asked_for_before_it_is_needed(tmp_path):
    check_room(tmp_path, 1000)
    with pytest.raises(OSError, match=r"No space left on device: 1000000000000\.0 MB are needed"):
        check_room(tmp_path, 10**18)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded", "/somewhere/a"),
        Exception("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
)
def test_an_error_of_a_full_disk_names_the_folder(error, tmp_path):
    message = f"disk of {tmp_path} is full, and nothing was"
    with pytest.raises(OSError, match=message) as raised, new_folder(tmp_path / "new"):
        raise error
    assert raised.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EFBIG, "File too large"),
        Exception("{{function_node SaveV2}} /somewhere/a.tempstate; File too large [Op:SaveV2]"),
    ],
)
def test_an_error_of_a_limit_of_sizes_names_the_folder(error, tmp_path):
    with (
        pytest.raises(OSError, match=rf"disk of {tmp_path} or `ulimit -f`") as raised,
        new_folder(tmp_path / "new"),
    ):
        raise error
    assert raised.value.errno == errno.EFBIG


@pytest.mark.parametrize(
    "error", [RuntimeError("basic_ios"), OSError(errno.EACCES, "no"), KeyError()]
)
def test_other_errors_stay_as_they_are(error, tmp_path):
    with pytest.raises(type(error)) as raised, new_folder(tmp_path / "new"):
        raise error
    assert raised.value is error


def test_a_name_that_is_not_utf8_is_shown_in_bytes(tmp_path):
    check_is_utf8(tmp_path / "\u00e4")
    with pytest.raises(ValueError, match=r"m\\xff' has bytes that are not UTF-8"):
        check_is_utf8(tmp_path / os.fsdecode(b"m\xff"))


def test_a_quota_is_seen_where_the_disk_has_room(tmp_path):
    """A limit on the size of files stands for a quota: the disk does not know of it."""
    program = (
        "import resource, signal, sys; from aiayn_keras_light.files import check_room\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "check_room(sys.argv[1], 9_000); print('room')\n"
        "check_room(sys.argv[1], 11_000)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True)
    assert done.stdout == "room\n"
    assert "OSError: [Errno 27] File too large" in done.stderr


def test_checksums_name_the_file_that_changed(tmp_path):
    (tmp_path / "assets").mkdir()
    for name in ("a.json", "assets/b.spm"):
        (tmp_path / name).write_text(name)
    check_checksums(tmp_path)
    write_checksums(tmp_path)
    check_checksums(tmp_path)
    subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=tmp_path, check=True)
    (tmp_path / "assets/b.spm").write_text("c")
    with pytest.raises(ValueError, match=r"assets/b\.spm is not what was written"):
        check_checksums(tmp_path)


@pytest.mark.parametrize("line", ["", "abc  a", "0" * 64 + "  /etc/hostname", "0" * 64 + "  ../a"])
def test_a_list_of_checksums_that_is_none_is_refused(tmp_path, line):
    (tmp_path / CHECKSUMS).write_text(f"{line}\n")
    with pytest.raises(ValueError, match="SHA256SUMS, line 1: expected `checksum  file`"):
        check_checksums(tmp_path)


@pytest.mark.parametrize("name", ["file", "sub/file", "sub/deep/file", "sub/deep/"])
def test_a_free_place_or_a_file_is_no_obstacle(tmp_path, name):
    check_places(tmp_path, [name])
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    if not name.endswith("/"):
        (tmp_path / name).touch()
    check_places(tmp_path, [name])
    (tmp_path / "link").symlink_to(tmp_path)
    check_places(tmp_path / "link", [name])  # the folder itself may be one


def test_nothing_is_written_through_a_link_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "victim/deep").mkdir(parents=True)
    folder = tmp_path / "folder"
    (folder / "real").mkdir(parents=True)
    for link, target in (("sub", "../victim"), ("real/sub", "../../victim"), ("gone", "nowhere")):
        (folder / link).symlink_to(target)
        for name in ("", "file", "deep/", "deep/file"):
            with pytest.raises(NotADirectoryError, match=rf"{link} is a link, and nothing is"):
                check_places(folder, ["real/other", f"{link}/{name}"])


def test_only_regular_files_and_links_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("victim")
    (tmp_path / "victim").write_text("worth keeping")
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match=rf"{name} is not a regular file, so it is not replaced"):
            check_places(tmp_path, [name])
        with pytest.raises(OSError, match=rf"{name} is not a regular file, so it is not replaced"):
            write_text(tmp_path / name, "text")
    with pytest.raises(OSError, match="null is not a regular file"):
        write_text("/dev/null", "text")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "victim").read_text() == "worth keeping"
    assert not (tmp_path / "link").is_symlink()
    with pytest.raises(NotADirectoryError, match="victim is not a folder"):
        check_places(tmp_path, ["victim/file"])


def test_the_error_of_a_full_disk_names_the_file(tmp_path):
    path = tmp_path / "a.txt"
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.txt'"), atomic_path(path):
        raise full
    with pytest.raises(FileNotFoundError, match=r"'.*b\.txt'"), atomic_path(path):
        (tmp_path / "b.txt").read_text()
