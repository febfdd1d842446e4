"""Time of TensorFlow's operations, in a training step or in the search for single sentences.

    python -m benchmarks.speed.operations train
    python -m benchmarks.speed.operations translate --model DIR --source FILE
    python -m benchmarks.speed.operations translate --kit DIR/1 --source FILE

TensorFlow's profiler counts operations and adds up their microseconds, those side by side, too. It
makes each of them slower by about a microsecond, so shares mean more than sums. The model that is
trained is that of `benchmarks.speed.train --workload tiny`, with packed rows of random tokens.
"""

import re
import tempfile
from collections import Counter
from pathlib import Path

import click

from benchmarks.report import machine, markdown_table

_OPERATION = re.compile(r"[^ :]+:(_?[A-Z]\w+)")
_WITH_OTHERS_INSIDE = {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}
_NUM_BATCHES = 4


def measure(run):
    """Runs a function twice, the second time with the profiler.

    Args:
        run: Function without arguments.

    Returns:
        Seconds of each kind of operation and its number of calls, two `Counter`s.
    """
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    run()
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3)
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder, options):
            run()
        space = xplane_pb2.XSpace()
        for path in Path(folder).rglob("*.xplane.pb"):
            space.MergeFromString(path.read_bytes())
    seconds, calls = Counter(), Counter()
    for plane in space.planes:
        for event in (event for line in plane.lines for event in line.events):
            match = _OPERATION.fullmatch(plane.event_metadata[event.metadata_id].name)
            if match and match[1] not in _WITH_OTHERS_INSIDE:
                seconds[match[1]] += event.duration_ps / 1e12
                calls[match[1]] += 1
    return seconds, calls


def table(seconds, calls, times, num_rows):
    """Markdown: the most expensive kinds of operations.

    Args:
        seconds: `Counter` of seconds.
        calls: `Counter` of calls.
        times: Number of steps or sentences to divide by.
        num_rows: Number of kinds that have a row of their own.
    """
    total = sum(seconds.values())

    def row(kind, spent, number):
        each = f"{number / times:,.0f}", f"{1e6 * spent / number:,.1f}"
        return [kind, *each, f"{1e3 * spent / times:,.2f}", f"{spent / total:.1%}"]

    rows = [row(f"`{kind}`", spent, calls[kind]) for kind, spent in seconds.most_common(num_rows)]
    rows.append(row("all", total, sum(calls.values())))
    return markdown_table(["operation", "number", "µs each", "ms", "share"], rows)


@click.group()
def main():
    """Measure operations of TensorFlow, as Markdown."""


@main.command()
@click.option("--rows", default=16, show_default=True, type=click.IntRange(min=1))
def train(rows):
    """A training step."""
    from benchmarks.speed import train_ours
    from benchmarks.speed.train import SHAPES, make_batches
    from benchmarks.speed.train_systems import TrainTask

    with tempfile.TemporaryDirectory() as folder:
        *paths, _ = make_batches("tiny", None, None, _NUM_BATCHES, Path(folder))
        trainer = train_ours.load_packed(TrainTask(*paths, *SHAPES["tiny"], "float32"))
    seconds, calls = measure(trainer.run)
    click.echo(f"{machine()}\n\nA training step:\n")
    click.echo(table(seconds, calls, len(trainer.batches), rows))


@main.command()
@click.option("--model", help="A model folder.")
@click.option("--kit", help="A version of an exported kit, instead of --model.")
@click.option("--source", required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--limit", default=20, show_default=True, type=click.IntRange(min=1))
@click.option("--rows", default=16, show_default=True, type=click.IntRange(min=1))
def translate(model, kit, source, limit, rows):
    """The first lines of a file, one after the other."""
    if (model is None) == (kit is None):
        raise click.UsageError("Give --model or --kit.")
    lines = Path(source).read_text("utf-8").splitlines()[:limit]
    ask = _load_kit(kit) if model is None else _load_model(model)
    seconds, calls = measure(lambda: list(map(ask, lines)))
    click.echo(f"{machine()}\n\nA sentence, the mean of {len(lines)}:\n")
    click.echo(table(seconds, calls, len(lines), rows))


def _load_model(folder):
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(folder)
    return lambda line: model.translate(line, engine="keras")


def _load_kit(folder):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - registers the kit's operations

    kit = tf.saved_model.load(folder)
    signature = kit.signatures["serving_default"]
    # `kit` holds the variables.
    return lambda line, kit=kit: signature(text=tf.constant([line]))


if __name__ == "__main__":
    main()
