"""Seconds from the start of `aiayn-keras translate` to its end, for one sentence.

    python -m benchmarks.speed.command --model DIR

In turn, each in a process of its own: our own search; CTranslate2 with an empty cache, so that the
model is loaded and converted first; and CTranslate2 with the model in the cache. The table has
medians of all rounds with the shortest and the longest, and the median time on the processor, which
other programs on the machine change less.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import click

from benchmarks.report import machine, markdown_table

CASES = {
    "`--engine keras`": ("keras", True),
    "`--engine ctranslate2`, for the first time": ("ctranslate2", True),
    "again": ("ctranslate2", False),
    "again, `--engine ctranslate2-int8`": ("ctranslate2-int8", False),
}
"""Engine, and whether the cache is empty, by what a row of the table says."""


def run(model, text, engine, cache):
    """Starts the command and waits for its end.

    Args:
        model: A model folder.
        text: Lines to translate.
        engine: Value of `--engine`.
        cache: Folder of the cache.

    Returns:
        Seconds by the clock, seconds on the processor.
    """
    command = [sys.executable, "-m", "aiayn_keras_cli", "translate", model, "--engine", engine]
    before, start = _processor_seconds(), time.perf_counter()
    subprocess.run(
        command,
        input=text,
        env={**os.environ, "AIAYN_KERAS_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - start, _processor_seconds() - before


def _processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@click.command()
@click.option("--model", required=True, help="A model folder.")
@click.option("--text", default="Where is the kitchen?", show_default=True)
@click.option("--rounds", type=click.IntRange(min=1), default=10, show_default=True)
def main(model, text, rounds):
    """Translate one sentence by the command, again and again."""
    seconds = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        run(model, text, "ctranslate2", kept)
        for number in range(rounds):
            for name, (engine, is_empty) in CASES.items():
                empty = Path(folder) / f"{number}-{engine}"
                seconds[name].append(run(model, text, engine, empty if is_empty else kept))
    rows = []
    for name, pairs in seconds.items():
        by_clock, on_processor = zip(*pairs, strict=True)
        numbers = median(by_clock), min(by_clock), max(by_clock), median(on_processor)
        rows.append([name, *(f"{number:.2f}" for number in numbers)])
    click.echo(f"{machine()}; medians of {rounds} starts\n")
    click.echo(
        markdown_table(["start", "seconds", "shortest", "longest", "on the processor"], rows)
    )


if __name__ == "__main__":
    main()
