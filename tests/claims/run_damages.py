"""Damages to the files of a training, drawn from a seed."""

import contextlib
import os
import shutil

from aiayn_keras.training import list_checkpoints

HISTORIES = (
    "null", "3", '"x"', "[]", "{}", "[[]]", "[3]", "[null]", "[{}]", '[{"updates": 2}]',
    '[{"updates": "two", "val_loss": 1.0}]', '[{"updates": 2, "val_loss": "low"}]',
    '[{"updates": -1, "val_loss": 1.0}]', '[{"updates": 2, "val_loss": NaN}]',
    '[{"updates": 1e99, "val_loss": 1.0}]', '[{"updates": 2, "val_loss": {"a": []}}]',
    '{"updates": [2, 4]}', "[" * 100_000, "[1" + "0" * 5000 + "]",
)  # fmt: skip


def truncate(path, rng):
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))] if data else b"")


def flip(path, rng):
    data = bytearray(path.read_bytes() or b"\0")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def empty(path, rng):
    path.write_bytes(b"")


def randomize(path, rng):
    path.write_bytes(rng.randbytes(rng.choice((1, 100, 10_000))))


def lengthen(path, rng):
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.choice((1, 1000))))


def make_folder(path, rng):
    _remove(path)
    path.mkdir()


def make_pipe(path, rng):
    _remove(path)
    os.mkfifo(path)


def make_endless(path, rng):
    _remove(path)
    path.symlink_to("/dev/zero")


def make_dangling(path, rng):
    _remove(path)
    path.symlink_to("nowhere")


def delete(path, rng):
    _remove(path)


FILE_DAMAGES = (
    truncate, flip, empty, randomize, lengthen,
    make_folder, make_pipe, make_endless, make_dangling, delete,
)  # fmt: skip


def damage_file(path, damage, rng):
    """Damages a file, which is made if it is missing or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    if not path.exists():
        path.write_bytes(b"something else")
    damage(path, rng)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def rename_checkpoint(run, rng):
    """Gives a checkpoint the update of none, or of another one."""
    update, path = rng.choice(list_checkpoints(run / "checkpoints"))
    other = rng.choice([1, 2, 4, 6, 8, 99_999_999])
    path.rename(path.with_name(path.name.replace(f"{update:08d}", f"{other:08d}")))


def swap_checkpoints(run, rng):
    """Gives two checkpoints the other's name."""
    (_, first), (_, last) = list_checkpoints(run / "checkpoints")[-2:]
    first_bytes, last_bytes = first.read_bytes(), last.read_bytes()
    first.write_bytes(last_bytes)
    last.write_bytes(first_bytes)


def delete_older_checkpoint(run, rng):
    list_checkpoints(run / "checkpoints")[-2][1].unlink()


def delete_all_checkpoints(run, rng):
    shutil.rmtree(run / "checkpoints")


def keep_checkpoints_only(run, rng):
    for path in run.iterdir():
        if path.name not in ("checkpoints", "recipe.yaml"):
            _remove(path)


RUN_DAMAGES = (
    rename_checkpoint, swap_checkpoints, delete_older_checkpoint, delete_all_checkpoints,
    keep_checkpoints_only,
)  # fmt: skip


def reorder(path, rng):
    """Puts the lines of a text into another order."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    rng.shuffle(lines)
    path.write_text("".join(lines), "utf-8")


def change_a_line(path, rng):
    lines = path.read_text("utf-8").splitlines(keepends=True)
    number = rng.randrange(len(lines))
    lines[number] = "eins\tone\n" if lines[number] != "eins\tone\n" else "zwei\ttwo\n"
    path.write_text("".join(lines), "utf-8")


def delete_a_line(path, rng):
    lines = path.read_text("utf-8").splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    path.write_text("".join(lines), "utf-8")


TEXT_DAMAGES = (reorder, change_a_line, delete_a_line)
