"""Milliseconds a sentence of CTranslate2, with one thread, two, and two that soon stop spinning.

    aiayn-keras export ctranslate2 saved_models/tatoeba_en_es_keras --output runs
    python -m benchmarks.speed.threads runs/tatoeba_en_es_keras --source FILE

Each row is a process of its own, since OpenMP reads its settings once. Run it while nothing else
runs, and again beside other programs: what differs is how long threads wait for each other.
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import click

_ROWS = ((1, None), (2, None), (2, "1000"))
"""Threads, and turns of a waiting thread's loop before it sleeps (`GOMP_SPINCOUNT`)."""
_ROUNDS = 3
_TIMEOUT = 120


def measure(folder, lines, threads, compute_type):
    """Median of the rounds, in milliseconds a sentence, of a search with four beams."""
    import ctranslate2
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.model"))
    rows = [[*processor.encode(line, out_type=str), "</s>"] for line in lines]
    translator = ctranslate2.Translator(
        str(folder), compute_type=compute_type, inter_threads=1, intra_threads=threads
    )

    def seconds():
        start = time.perf_counter()
        for row in rows:
            translator.translate_batch([row], beam_size=4, max_decoding_length=60)
        return time.perf_counter() - start

    seconds()
    return 1000 * statistics.median(seconds() for _ in range(_ROUNDS)) / len(rows)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--limit", default=60, show_default=True, help="Number of lines.")
@click.option("--threads", type=int, hidden=True)
@click.option("--compute-type", hidden=True)
def main(folder, source, limit, threads, compute_type):
    """Measure the threads of a CTranslate2 model with SentencePiece models."""
    if threads:
        lines = source.read_text(encoding="utf-8").splitlines()[:limit]
        click.echo(f"{measure(folder, lines, threads, compute_type):.1f}")
        return
    for kind in ("float32", "int8"):
        for number, spins in _ROWS:
            own = {} if spins is None else {"GOMP_SPINCOUNT": spins}
            options = ["--source", source, "--limit", str(limit), "--compute-type", kind]
            command = [sys.executable, "-m", __spec__.name, folder, *options]
            try:
                done = subprocess.run(
                    [*command, "--threads", str(number)],
                    env=os.environ | own,
                    timeout=_TIMEOUT,
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
            except subprocess.TimeoutExpired:
                answer = f"more than {1000 * _TIMEOUT / limit / (_ROUNDS + 1):.0f}"
            else:
                answer = done.stdout.strip()
            waits = "" if spins is None else f", GOMP_SPINCOUNT={spins}"
            click.echo(f"{kind}, {number} threads{waits}: {answer} ms a sentence")


if __name__ == "__main__":
    main()
