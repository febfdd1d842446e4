"""Holds a SavedModel to what its model card promises, whatever it is sent.

Run from the repository's root, where TensorFlow and TensorFlow Text are installed:

    python -m tests.claims.hardening fuzz VERSION_FOLDER --source SENTENCES
    python -m tests.claims.hardening invariance VERSION_FOLDER --source SENTENCES
    python -m tests.claims.hardening soak VERSION_FOLDER --source SENTENCES

`fuzz` sends hostile text in batches of all sizes, and some rows once more alone. `invariance`
translates every sentence in random batchings and counts translations that differ from those of
batches of one. `soak` sends as many requests as an hour has seconds and watches the memory. Each
prints a JSON object and fails if a promise is broken.
"""

import json
import os
import random
import sys
import time
from pathlib import Path
from statistics import median

import click
import numpy as np

from tests.claims.hostile_text import hostile_texts

BATCH_SIZES = (0, 1, 2, 3, 5, 8, 13, 16, 31, 32, 64, 64, 64, 512)
MEGABYTE = 1 << 20


def load(folder):
    """Function from a signature's name and texts (bytes) to arrays, of TensorFlow alone."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    loaded = tf.saved_model.load(str(folder))

    def predict(signature, texts):
        outputs = loaded.signatures[signature](text=tf.constant(texts, tf.string))
        return {name: value.numpy() for name, value in outputs.items()}

    return predict


def random_batches(items, sizes, rng):
    """Yields items in lists of random sizes."""
    start = 0
    while start < len(items):
        size = rng.choice(sizes)
        yield items[start : start + size]
        start += size


def fuzz(predict, texts, seed=0, num_alone=200, progress=lambda num_texts, broken: None):
    """Sends all texts, and some once more alone.

    Args:
        predict: From `load`.
        texts: List of bytes.
        seed: Of the batching.
        num_alone: Number of texts sent alone.
        progress: Called with the number of texts and a list of failures after each request.

    Returns:
        Dictionary of counts, the slowest request in seconds, resident memory in MB, and a list of
        failures.
    """
    rng = random.Random(seed)
    failures, answers, slowest, resident = [], {}, 0.0, []
    signatures = ("serving_default", "serving_default", "translate_nbest", "align")
    num_requests = 0
    for batch in random_batches(texts, BATCH_SIZES, rng):
        signature = signatures[num_requests % len(signatures)]
        start = time.perf_counter()
        try:
            outputs = predict(signature, batch)
            broken = list(broken_promises(signature, len(batch), outputs))
        except Exception as error:
            broken = [f"{signature}, {len(batch)} rows: {type(error).__name__}: {error}"]
        num_requests += 1
        slowest = max(slowest, time.perf_counter() - start)
        resident.append(_resident_bytes() / MEGABYTE)
        failures += broken
        progress(len(batch), broken)
        if signature == "serving_default" and not broken:
            answers.update(zip(batch, outputs["translation"], strict=True))
    alone = rng.sample(sorted(answers), min(num_alone, len(answers)))
    for text in alone:
        answer = predict("serving_default", [text])["translation"][0]
        if answer != answers[text]:
            failures.append(f"{text[:60]!r}: {answers[text]!r} in a batch, {answer!r} alone")
            progress(0, failures[-1:])
    return {
        "inputs": len(texts),
        "requests": num_requests,
        "alone": len(alone),
        "slowest_request_seconds": slowest,
        "every_tenth_mb": every_tenth(resident),
        "failures": failures,
    }


def broken_promises(signature, num_rows, outputs):
    """Describes the fault of an answer."""
    for name, value in outputs.items():
        if len(value) != num_rows:
            yield f"{signature}: {len(value)} rows of {name} for {num_rows}"
        if value.dtype == object:
            for text in value.flat:
                try:
                    text.decode("utf-8")
                except UnicodeDecodeError:
                    yield f"{signature}: {name} is not UTF-8: {text!r:.60}"
        elif np.isnan(value).any():
            yield f"{signature}: {name} is not a number"
        elif "score" in name and (value > 1e-4).any():
            yield f"{signature}: {name} is greater than 0"


def invariance(predict, texts, num_batchings=10, seed=0, progress=lambda num_texts: None):
    """Counts translations that depend on their neighbours.

    Returns:
        Dictionary of counts; `differing` are rows of any batching that differ from batches of one.
    """
    rng = random.Random(seed)
    expected = []
    for text in texts:
        expected.append(predict("serving_default", [text])["translation"][0])
        progress(1)
    differing = []
    for _ in range(num_batchings):
        order = rng.sample(range(len(texts)), len(texts))
        for rows in random_batches(order, range(1, 65), rng):
            answer = predict("serving_default", [texts[row] for row in rows])["translation"]
            differing += [
                (texts[row].decode(), expected[row].decode(), text.decode())
                for row, text in zip(rows, answer, strict=True)
                if text != expected[row]
            ]
            progress(len(rows))
    return {"sentences": len(texts), "batchings": num_batchings, "differing": differing}


def soak(predict, texts, num_requests=3600, seed=0, progress=lambda num_requests: None):
    """Sends requests of all sizes and compares the memory of the last quarter with the second's.

    The first quarter fills the allocator's pools.

    Returns:
        Dictionary of counts, seconds, and resident memory in MB.
    """
    rng = random.Random(seed)
    resident, start = [], time.perf_counter()
    for _ in range(num_requests):
        size = rng.choice((1, 1, 1, 1, 2, 4, 8, 16))
        predict("serving_default", rng.choices(texts, k=size))
        resident.append(_resident_bytes() / MEGABYTE)
        progress(1)
    quarter = num_requests // 4
    early, late = median(resident[quarter : 2 * quarter]), median(resident[-quarter:])
    return {
        "requests": num_requests,
        "seconds": time.perf_counter() - start,
        "second_quarter_mb": early,
        "last_quarter_mb": late,
        "growth_mb": late - early,
        "every_tenth_mb": every_tenth(resident),
    }


def every_tenth(values):
    """About ten of them, from the first on."""
    return values[:: max(1, len(values) // 10)]


def _resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@click.group()
def main():
    """Hold a SavedModel to its promises."""


def _arguments(command):
    for option in (
        click.option("--source", type=click.Path(exists=True, path_type=Path), required=True),
        click.argument("version_folder", type=click.Path(exists=True, path_type=Path)),
    ):
        command = option(command)
    return command


def _lines(source):
    return source.read_bytes().splitlines()


def _finish(result, is_bad):
    click.echo(json.dumps(result, indent=1, ensure_ascii=False))
    raise SystemExit(1 if is_bad else 0)


@main.command("fuzz")
@_arguments
@click.option("--count", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def fuzz_command(version_folder, source, count, seed):
    from tqdm import tqdm

    sentences = [line.decode() for line in _lines(source)]
    with tqdm(total=count, unit="text") as bar:

        def report(num_texts, broken):
            bar.update(num_texts)
            for failure in broken:
                bar.write(failure, file=sys.stderr)

        texts = hostile_texts(count, sentences, seed)
        result = fuzz(load(version_folder), texts, seed, progress=report)
    _finish(result, result["failures"])


@main.command("invariance")
@_arguments
@click.option("--batchings", default=10, show_default=True)
def invariance_command(version_folder, source, batchings):
    from tqdm import tqdm

    texts = _lines(source)
    with tqdm(total=len(texts) * (batchings + 1), unit="text") as bar:
        result = invariance(load(version_folder), texts, batchings, progress=bar.update)
    _finish(result, result["differing"])


@main.command("soak")
@_arguments
@click.option("--requests", default=3600, show_default=True)
@click.option("--most-growth", default=32.0, show_default=True, help="MB.")
def soak_command(version_folder, source, requests, most_growth):
    from tqdm import tqdm

    with tqdm(total=requests, unit="request") as bar:
        result = soak(load(version_folder), _lines(source), requests, progress=bar.update)
    _finish(result, result["growth_mb"] > most_growth)


if __name__ == "__main__":
    main()
