"""Decoding speed of this package and of other engines, on the same weights and sentences.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.decode --workload base
    python -m benchmarks.decode --workload file --model DIR --source FILE
    python -m benchmarks.decode --workload file --model DIR --source FILE --rounds 5 \
        --systems ours-tensorflow-float32 --systems 'ctranslate2-*' --show-differences 3

Workloads, all with 4 beams and no length penalty, so that all systems look for the same thing:

- `file`: a trained model translates a file, from strings to strings, in batches of 64, and its
  first 100 lines one after another. Unit: sentences/s.
- `base`: the paper's base model with random weights and 32,000 tokens translates 32 tokens to
  exactly 30, in one batch of 32, and 5 sentences one after another. Unit: target tokens/s. Ours
  also scores the end token, one step more, for which a translation in thirty is another.

Every system has a process of its own, with its model loaded; the others are idle while one runs.
Systems run in turn, every other round in reverse order. A first run of each is not counted: there
shapes are compiled. A ratio is the median of the ratios of the rounds. A system that cannot run,
such as one that is not installed, is left out and the reason printed.
"""

import contextlib
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click
from tqdm import tqdm

from benchmarks.artifacts import make_artifact, random_texts
from benchmarks.processes import Worker, WorkerError
from benchmarks.report import (
    Measurement,
    agreement_table,
    differences,
    machine,
    speed_table,
)
from benchmarks.tasks import SYSTEMS, Task, choose_systems

FORCED_LENGTH = 30  # tokens
SOURCE_LENGTH = 32  # tokens, the end token included


class Case(NamedTuple):
    """One table: texts, and how they are translated."""

    name: str
    model: str
    texts: list[str]
    batch_size: int
    forced_length: int | None
    unit: str

    @property
    def work(self):
        """Number of units."""
        return len(self.texts) * (self.forced_length or 1)


def file_cases(model, source, batch_sizes, limit):
    """The cases of a trained model and a text file."""
    lines = Path(source).read_text(encoding="utf-8").splitlines()[:limit]
    for batch_size in batch_sizes or (64, 1):
        texts = lines[:100] if batch_size == 1 else lines
        yield Case(
            f"{len(texts)} lines, {_how(batch_size)}",
            str(model),
            texts,
            batch_size,
            None,
            "sentences/s",
        )


def base_cases(model, batch_sizes):
    """The cases of the base model with random weights."""
    for batch_size in batch_sizes or (32, 1):
        texts = random_texts(5 if batch_size == 1 else batch_size, SOURCE_LENGTH - 1)
        name = f"base, random weights, {len(texts)} sentences, {_how(batch_size)}"
        yield Case(name, str(model), texts, batch_size, FORCED_LENGTH, "target tokens/s")


def _how(batch_size):
    return "one after another" if batch_size == 1 else f"batches of {batch_size}"


class Laboratory:
    """Processes and converted models, each made when it is first needed.

    Args:
        folder: Where to put models and logs.
        stack: An `ExitStack` that ends the processes.
    """

    def __init__(self, folder, stack):
        self.folder, self.stack = Path(folder), stack
        self.workers, self.artifacts = {}, {}

    def worker(self, name):
        """The process of a system."""
        if name not in self.workers:
            worker = Worker(SYSTEMS[name], self.folder / f"{name}.log")
            self.stack.callback(worker.close)
            self.workers[name] = worker
        return self.workers[name]

    def artifact(self, kind, model):
        """Path of a converted model, or None for no kind."""
        if kind is None:
            return None
        if (kind, model) not in self.artifacts:
            target = self.folder / f"{kind}-{len(self.artifacts)}"
            try:
                make_artifact(kind, model, target)
            except RuntimeError as error:
                raise WorkerError(str(error)) from None
            self.artifacts[kind, model] = str(target)
        return self.artifacts[kind, model]

    def start(self, name, case):
        """Loads a system for a case and runs it once."""
        spec, worker = SYSTEMS[name], self.worker(name)
        task = Task(
            model=case.model,
            artifact=self.artifact(spec.artifact, case.model),
            precision=spec.precision,
            texts=case.texts,
            batch_size=case.batch_size,
            forced_length=case.forced_length,
        )
        note = worker.load(task)
        first_seconds, translations = worker.run()
        return Measurement(name, spec.precision, case.work, first_seconds, translations, note)


def measure(case, names, laboratory, rounds):
    """Runs systems in turn.

    Returns:
        A list of `Measurement`, and a dictionary of reasons for systems left out.
    """
    measurements, left_out = {}, {}
    with tqdm(total=len(names) * (rounds + 1), desc=case.name, disable=None) as bar:
        for name in names:
            bar.set_postfix_str(f"{name}, first run")
            try:
                measurements[name] = laboratory.start(name, case)
            except WorkerError as error:
                left_out[name] = str(error)
            bar.update()
        for number in range(rounds):
            order = list(measurements) if number % 2 == 0 else list(measurements)[::-1]
            for name in order:
                bar.set_postfix_str(name)
                try:
                    seconds, _ = laboratory.worker(name).run()
                    measurements[name].seconds.append(seconds)
                except WorkerError as error:
                    left_out[name] = str(error)
                    del measurements[name]
                bar.update()
    for name, measurement in measurements.items():
        measurement.idle_cpu_seconds = laboratory.worker(name).take_idle_cpu_seconds()
    return list(measurements.values()), left_out


@click.command()
@click.option("--workload", "workloads", type=click.Choice(["file", "base"]), multiple=True)
@click.option("--model", type=click.Path(exists=True, file_okay=False), help="Model folder.")
@click.option("--source", type=click.Path(exists=True, dir_okay=False), help="Text to translate.")
@click.option("--limit", type=click.IntRange(min=1), help="Read only so many lines.")
@click.option(
    "--systems", "patterns", multiple=True, metavar="PATTERN", help="Such as 'ours-*'; repeatable."
)
@click.option("--baseline", help="System of ratio 1. Default: the first one.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--batch-size", "batch_sizes", type=click.IntRange(min=1), multiple=True)
@click.option("--show-differences", type=int, default=0, help="Print so many of every system.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="JSON to write.")
@click.option("--list", "list_systems", is_flag=True, help="List the systems and stop.")
def main(
    workloads,
    model,
    source,
    limit,
    patterns,
    baseline,
    rounds,
    batch_sizes,
    show_differences,
    output,
    list_systems,
):
    """Measure decoding speed of this package and of others, as Markdown."""
    if list_systems:
        click.echo("\n".join(SYSTEMS))
        return
    workloads = workloads or ("base", *(["file"] if model and source else []))
    if "file" in workloads and not (model and source):
        raise click.UsageError("The workload `file` needs --model and --source.")
    try:
        names = choose_systems(patterns or ["*"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if baseline is not None and baseline not in names:
        raise click.UsageError(f"--baseline must be one of the systems: {', '.join(names)}.")

    records = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder is removed
    click.echo(f"{machine()}\n")
    with (
        tempfile.TemporaryDirectory(prefix="benchmark-") as folder,
        contextlib.ExitStack() as stack,
    ):
        laboratory = Laboratory(folder, stack)
        cases = []
        if "file" in workloads:
            cases += file_cases(model, source, batch_sizes, limit)
        if "base" in workloads:
            try:
                random_model = laboratory.artifact("random_model", "transformer_base")
            except WorkerError as error:
                raise click.ClickException(str(error)) from None
            cases += base_cases(random_model, batch_sizes)
        for case in cases:
            measurements, left_out = measure(case, names, laboratory, rounds)
            click.echo(f"### {case.name}\n")
            if measurements:
                _report(case, measurements, baseline, show_differences)
            for name, reason in left_out.items():
                click.echo(f"- `{name}` is left out: {reason}.")
            click.echo()
            records.append(
                {
                    "case": case.name,
                    "unit": case.unit,
                    "systems": [measurement.as_dict() for measurement in measurements],
                    "left_out": left_out,
                }
            )
            if output is not None:
                output.write_text(json.dumps({"machine": machine(), "cases": records}, indent=1))


def _report(case, measurements, baseline, show_differences):
    reference = next((m for m in measurements if m.name == baseline), measurements[0])
    click.echo(speed_table(measurements, reference, case.unit) + "\n")
    if len(measurements) > 2:
        click.echo("Share of identical translations:\n")
        click.echo(agreement_table(measurements) + "\n")
    for measurement in measurements:
        found = differences(reference, measurement, case.texts)[:show_differences]
        for source, expected, received in found:
            click.echo(f"- source: {source}")
            click.echo(f"  - `{reference.name}`: {expected}")
            click.echo(f"  - `{measurement.name}`: {received}")
        if found:
            click.echo()


if __name__ == "__main__":
    main()
