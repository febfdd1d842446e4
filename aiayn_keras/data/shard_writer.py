"""Tokenize a corpus once, in parallel processes, into shards on disk."""

import contextlib
import hashlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from aiayn_keras.data.shard_index import INDEX, VERSION
from aiayn_keras.data.token_shards import TOKENIZER
from aiayn_keras.files import new_folder

WORKER = Path(__file__).with_name("shard_worker.py")
CHUNK = 1000
"""Pairs that go to a worker at a time."""


def write_shards(
    folder, pairs: Iterable, tokenizer_proto: bytes, vocabulary_size, workers, origin, progress=None
):
    """Writes a folder for `TokenShards`: one shard for each worker.

    The folder appears when it is whole.

    Args:
        folder: Path of the folder to make.
        pairs: Iterable of tuples of source and target sentence; it is read once, in order.
        tokenizer_proto: A SentencePiece model.
        vocabulary_size: Its number of tokens.
        workers: Number of processes.
        origin: Description of the corpus and tokenizer, kept in the index: any JSON value.
        progress: Function called with the number of pairs of each chunk that was handed out.

    Returns:
        Number of pairs.

    Raises:
        FileExistsError: If there is such a folder.
        ValueError: If there is no pair.
        RuntimeError: If a worker fails; the message ends with its last line on stderr.
    """
    dtype = "<u2" if vocabulary_size <= 2**16 else "<u4"
    with new_folder(folder) as written:
        (written / TOKENIZER).write_bytes(tokenizer_proto)
        stems = [written / f"train-{n:05d}-of-{workers:05d}" for n in range(workers)]
        counts = _tokenize(pairs, written / TOKENIZER, stems, dtype, written.parent, progress)
        if not sum(counts):
            raise ValueError("The corpus is empty: there is no pair to prepare.")
        shards = [
            {"name": stem.name, "pairs": count, "files": _describe(stem)}
            for stem, count in zip(stems, counts, strict=True)
            if count
        ]
        index = {"version": VERSION, "dtype": dtype, "origin": origin, "shards": shards}
        (written / INDEX).write_text(json.dumps(index, indent=1), encoding="utf-8")
    return sum(counts)


def _tokenize(pairs, tokenizer, stems, dtype, temporary, progress):
    """Hands chunks to the workers in turn, and counts the pairs of each."""
    logs = [(temporary / f"{stem.name}.log").open("w+", encoding="utf-8") for stem in stems]
    processes = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(tokenizer), str(stem), dtype],
            stdin=subprocess.PIPE,
            stderr=log,
        )
        for stem, log in zip(stems, logs, strict=True)
    ]
    counts = [0] * len(stems)
    try:
        pairs = iter(pairs)
        for worker in itertools.cycle(range(len(stems))):
            chunk = list(itertools.islice(pairs, CHUNK))
            if not chunk:
                break
            processes[worker].stdin.write(json.dumps(chunk).encode() + b"\n")
            counts[worker] += len(chunk)
            if progress is not None:
                progress(len(chunk))
        for process in processes:
            process.stdin.close()
        failed = [worker for worker, process in enumerate(processes) if process.wait()]
    except BrokenPipeError:
        failed = [worker for worker, process in enumerate(processes) if process.poll()]
    finally:
        texts = [_end(process, log) for process, log in zip(processes, logs, strict=True)]
    if failed:
        last = (texts[failed[0]].strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"A process that tokenizes failed: {last}")
    return counts


def _end(process, log):
    """Ends a process, busy or not, and gives the text of its stderr."""
    process.kill()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()
    with log:
        log.seek(0)
        return log.read()


def _describe(stem):
    """Size and SHA-256 of the files of a shard, by their ending."""
    files = {}
    for ending in ("array_record", "lengths.npy"):
        path = stem.with_name(f"{stem.name}.{ending}")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[ending] = {"bytes": path.stat().st_size, "sha256": digest}
    return files
