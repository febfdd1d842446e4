"""Folders of prepared shards that were damaged, or made to deceive."""

import functools
import hashlib
import io
import json
import multiprocessing
import os
import shutil

import click
import numpy as np
import sentencepiece

from aiayn_keras.data import TokenShards, generate_demo_pairs, write_shards
from tests.claims.forked_cases import MEGABYTE, Case, run_cases

PAIRS = 1_500
WRONG_VALUES = (
    *(None, True, 0, -1, 1.5, 2**40, 10**30, "", "x", "../x", "/etc/passwd", "a\0b", [], {}, [[]]),
    *("O", "<f8", "<u8", "x" * 100_000),
)


def shard_cases(rng, folder, model):
    """Yields the cases of prepared shards.

    Args:
        rng: `random.Random`.
        folder: Path of a folder for the files.
        model: Path of a model folder, which is not used.
    """
    del model
    good = folder / "good"
    # Written and read in processes of their own: the threads for records do not survive a fork.
    writer = multiprocessing.get_context("fork").Process(target=_prepare, args=(good,))
    writer.start()
    writer.join()
    (whole,) = run_cases([_case("whole", good, "answer", None)])
    right = whole.output
    yield _case("whole", good, "answer", right)
    names = [path.name for path in sorted(good.iterdir())]
    for name, index in _wrong_indexes(json.loads((good / "index.json").read_text("utf-8"))):
        copy = _copy(good, folder / f"index {len(list(folder.iterdir()))}")
        (copy / "index.json").write_text(index, "utf-8")
        yield _case(name, copy, "refusal", right)
    for name in names:
        for damage, data in _damages(rng, good / name):
            copy = _copy(good, folder / f"{name} {damage}")
            (copy / name).write_bytes(data)
            yield _case(f"{name} {damage}", copy, "either", right)
            if name.startswith("train"):
                copy = _copy(copy, folder / f"{name} {damage}, index fits")
                _fit_index(copy, name, data)
                yield _case(f"{name} {damage}, index fits", copy, "either", None)
        for special in ("/dev/zero", "pipe", "nowhere", "folder"):
            copy = _copy(good, folder / f"{name} {special.strip('/').replace('/', '-')}")
            _replace(copy / name, special)
            yield _case(f"{name} is {special}", copy, "refusal", right)


def _prepare(folder):
    text = generate_demo_pairs(PAIRS, 0, "train")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*text.sources, *text.targets]),
        model_writer=model,
        vocab_size=200,
        model_type="bpe",
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
    )
    write_shards(
        folder, text, model.getvalue(), 200, {"corpus": "demo"}, max_pairs_per_shard=PAIRS // 2
    )


def _copy(good, path):
    return shutil.copytree(good, path)


def _case(name, folder, expected, right):
    check = None if right is None else functools.partial(_is_digest, right)
    run = functools.partial(_show_ids, folder)
    return Case("prepared shards", name[:80], run, expected, "shard|index|corpus|tokenizer", check)


def _show_ids(folder):
    click.echo(_digest_of_ids(folder))


def _is_digest(right, output):
    return output == right


def _digest_of_ids(folder):
    """A checksum of all ids; every id must be one of the vocabulary."""
    shards = TokenShards(folder)
    sides = shards.read(np.arange(len(shards)), 0)
    if any(ids.max(initial=0) >= 200 or ids.min(initial=0) < 0 for ids, _ in sides):
        raise AssertionError("an id beyond the vocabulary")
    return hashlib.sha256(b"".join(ids.tobytes() for ids, _ in sides)).hexdigest()


def _wrong_indexes(index):
    """Texts of wrong indexes, by name."""
    for text in ("", "{", "[]", "null", "3", "{}", '"x"', "[" * 100_000, '{"a":' * 100_000):
        yield f"index {text[:10]!r}", text
    yield "giant index", json.dumps(index) + " " * (70 * MEGABYTE)
    for path in _places(index):
        if path[:1] != ["origin"]:
            for value in WRONG_VALUES:
                yield f"{path} is {str(value)[:20]!r}", json.dumps(_with(index, path, value))
            if path != ["shards", path[-1]]:  # one shard less is another corpus
                yield f"{path} is missing", json.dumps(_with(index, path))
    yield "a shard twice", json.dumps({**index, "shards": index["shards"] * 2})
    yield "one shard only, of more pairs", json.dumps(_with(index, ["shards", 0, "pairs"], 999_999))


def _places(value, path=()):
    """Paths of all fields."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield [*path, key]
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))


def _with(index, path, *value):
    """A copy of the index with another value at a path, or without it."""
    index = json.loads(json.dumps(index))
    inner = index
    for key in path[:-1]:
        inner = inner[key]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return index


def _damages(rng, path):
    """Damaged contents of a file, by name."""
    data = path.read_bytes()
    yield "empty", b""
    yield "zeros", bytes(len(data))
    yield "random", rng.randbytes(len(data))
    yield "cut", data[: len(data) // 2]
    yield "longer", data + b"x"
    for number in range(6):
        flipped = bytearray(data)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        yield f"flipped {number}", bytes(flipped)
    for number in range(3):
        start = rng.randrange(len(data))
        yield f"random part {number}", data[:start] + rng.randbytes(64) + data[start + 64 :]


def _fit_index(folder, name, data):
    """Writes size and checksum of a damaged file into the index."""
    index = json.loads((folder / "index.json").read_text("utf-8"))
    stem, ending = name.split(".", 1)
    digest = hashlib.sha256(data).hexdigest()
    for shard in index["shards"]:
        if shard["name"] == stem:
            shard["files"][ending] = {"bytes": len(data), "sha256": digest}
    (folder / "index.json").write_text(json.dumps(index), "utf-8")


def _replace(path, special):
    path.unlink()
    if special == "pipe":
        os.mkfifo(path)
    elif special == "folder":
        path.mkdir()
    else:
        path.symlink_to(special)
