"""Seconds to load a model folder and to translate a file, against a different checkout.

    python -m benchmarks.speed.loading --model DIR --source FILE --against OTHER_CHECKOUT

Both versions do both in turn, in two processes (TensorFlow backend); the output is medians and the
ratio of this version to the other.
"""

import statistics
import tempfile
import time
from pathlib import Path

import click

from benchmarks.processes import Worker


def load(folder):
    """Seconds until the model in a folder is loaded."""
    from aiayn_keras import TransformerSeq2SeqLM

    start = time.perf_counter()
    TransformerSeq2SeqLM.from_preset(folder)
    return time.perf_counter() - start


class Translator:
    """A loaded model and the lines of a file."""

    def __init__(self, folder, source):
        from aiayn_keras import TransformerSeq2SeqLM

        self.model = TransformerSeq2SeqLM.from_preset(folder)
        self.lines = Path(source).read_text("utf-8").splitlines()

    def translate(self):
        """Seconds of translating all lines."""
        start = time.perf_counter()
        self.model.translate(self.lines)
        return time.perf_counter() - start


@click.command()
@click.option("--model", required=True, help="A model folder that both versions load.")
@click.option("--source", required=True, help="File of texts.")
@click.option("--against", required=True, help="A different checkout of this package.")
@click.option("--rounds", type=click.IntRange(min=1), default=7, show_default=True)
def main(model, source, against, rounds):
    """Load a model folder and translate a file with two versions of the package, in turn."""
    model, source, against = (str(Path(path).resolve()) for path in (model, source, against))
    with tempfile.TemporaryDirectory() as logs:
        workers = [
            Worker(Path(logs) / f"{n}.log", "tensorflow", checkout)
            for n, checkout in enumerate((None, against))
        ]
        seconds = {"load": ([], []), "translate": ([], [])}
        for worker in workers:
            worker.call(
                f"{__spec__.name}:load", folder=model
            )  # imports, and warms the disk's cache
        for _ in range(rounds):
            for n, worker in enumerate(workers):
                seconds["load"][n].append(worker.call(f"{__spec__.name}:load", folder=model))
        for worker in workers:
            worker.keep(f"{__spec__.name}:Translator", folder=model, source=source)
            worker.call("translate")  # traces
        for _ in range(rounds):
            for n, worker in enumerate(workers):
                seconds["translate"][n].append(worker.call("translate"))
    for what, (ours, theirs) in seconds.items():
        ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
        click.echo(
            f"{what}: {statistics.median(ours):.3f} s, before {statistics.median(theirs):.3f} s, "
            f"ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})"
        )


if __name__ == "__main__":
    main()
