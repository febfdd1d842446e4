"""Decoding speed of this package and of other engines, on the same weights and sentences.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.speed.decode --workload base
    python -m benchmarks.speed.decode --workload file --model DIR --source FILE --reference FILE
    python -m benchmarks.speed.decode --workload file --rounds 5 \
        --systems ours-tensorflow-float32 --systems 'ctranslate2-*' --show-differences 3
    python -m benchmarks.speed.decode --systems ours-tensorflow-float32 \
        --systems savedmodel-float32 --against OTHER_CHECKOUT

Workloads, all with 4 beams and no length penalty, so that all systems search for the same thing:

- `file`: a trained model translates a file, from strings to strings, in batches of 64, and its
  first 100 lines one at a time. Unit: sentences/s. With --reference, BLEU of what was measured.
  Without --model and --source it is the demo model with 1,000 sentences of the demo language.
- `base`: the paper's base model with random weights and 32,000 tokens translates 32 tokens to
  exactly 30, in one batch of 32, and 5 sentences one at a time. Unit: target tokens/s. Ours
  also scores the end token, one more step, so one translation in thirty differs.

Every system has its own process, with its model loaded; the others are idle while one runs. Systems
run in turn, every other round in reverse order. The first run of each is not counted, since it
compiles shapes. A ratio is the median of the ratios of the rounds; a round in which a system takes
three times its median is left out. A system that cannot run, such
as one that is not installed, is left out, and the reason is printed.
"""

import contextlib
import json
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks.processes import ROOT, WorkerError
from benchmarks.random_models import random_texts
from benchmarks.report import machine
from benchmarks.speed.artifacts import make_artifact
from benchmarks.speed.decode_systems import SYSTEMS, DecodeTask
from benchmarks.speed.systems import choose_systems, measuring_options
from benchmarks.speed.turns import (
    Measurement,
    left_out_list,
    reference_of,
    speed_table,
    take_turns,
)

FORCED_LENGTH = 30  # tokens
SOURCE_LENGTH = 32  # tokens, the end token included
DEMO_MODEL = ROOT / "saved_models" / "demo_en_de_keras"
DEMO_SENTENCES = 1000
# Share of the time in which a system used the processor though it was another's turn, from which
# on its row says so.
BUSY_SHARE = 0.01


class Case(NamedTuple):
    """One table: texts, and how they are translated."""

    name: str
    model: str
    texts: list[str]
    batch_size: int
    forced_length: int | None
    unit: str
    references: list[str] | None = None

    @property
    def work(self):
        """Number of units."""
        return len(self.texts) * (self.forced_length or 1)


def file_cases(model, source, reference, batch_sizes, limit):
    """The cases for a trained model and a text file, or for the demo."""
    references = None
    if reference is not None:
        references = Path(reference).read_text(encoding="utf-8").splitlines()[:limit]
    if source is None:
        from aiayn_keras.data import generate_demo_pairs

        model = DEMO_MODEL
        lines = [text for text, _ in generate_demo_pairs(DEMO_SENTENCES, 0, "test")][:limit]
    else:
        lines = Path(source).read_text(encoding="utf-8").splitlines()[:limit]
    for batch_size in batch_sizes or (64, 1):
        texts = lines[:100] if batch_size == 1 else lines
        name = f"{len(texts)} lines, {_how(batch_size)}"
        targets = references and references[: len(texts)]
        yield Case(name, str(model), texts, batch_size, None, "sentences/s", targets)


def base_cases(model, batch_sizes):
    """The cases for the base model with random weights."""
    for batch_size in batch_sizes or (32, 1):
        texts = random_texts(5 if batch_size == 1 else batch_size, SOURCE_LENGTH - 1)
        name = f"base, random weights, {len(texts)} sentences, {_how(batch_size)}"
        yield Case(name, str(model), texts, batch_size, FORCED_LENGTH, "target tokens/s")


def _how(batch_size):
    return "one after another" if batch_size == 1 else f"batches of {batch_size}"


class Laboratory:
    """Processes and converted models, each made when it is first needed.

    Args:
        systems: Dictionary of `System`.
        folder: Path of a folder for models and logs.
        stack: An `ExitStack` that ends the processes.
    """

    def __init__(self, systems, folder, stack):
        self.systems, self.folder, self.stack = systems, folder, stack
        self.workers, self.artifacts = {}, {}

    def worker(self, name):
        """The process of a system."""
        if name not in self.workers:
            worker = self.systems[name].start(self.folder / f"{name}.log")
            self.workers[name] = self.stack.enter_context(worker)
        return self.workers[name]

    def artifact(self, kind, model, checkout=None):
        """Path of a converted model, or None without a kind."""
        if kind is None:
            return None
        key = kind, model, checkout
        if key not in self.artifacts:
            target = self.folder / f"{kind}-{len(self.artifacts)}"
            make_artifact(kind, model, target, checkout)
            self.artifacts[key] = str(target)
        return self.artifacts[key]

    def start(self, name, case):
        """Loads a system for a case and runs it once."""
        system, worker = self.systems[name], self.worker(name)
        task = DecodeTask(
            model=case.model,
            artifact=self.artifact(system.artifact, case.model, system.checkout),
            precision=system.precision,
            texts=case.texts,
            batch_size=case.batch_size,
            forced_length=case.forced_length,
        )
        loaded = "benchmarks.speed.decode_systems:LoadedTask"
        worker.keep(loaded, loader=system.loader, task=asdict(task))
        facts = {"precision": system.precision, "note": worker.call("note")}
        return Measurement(name, worker, case.work, **facts)


def agreement(measurement, other):
    """Share of translations equal to those of another system."""
    ours, theirs = (m.facts["translations"] for m in (measurement, other))
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)


def bleu(translations, references):
    """BLEU with two decimals."""
    from aiayn_keras.training.translation_scores import corpus_bleu

    return f"{corpus_bleu(translations, references).score:.2f}"


def case_table(case, measurements, reference, checkout):
    """The Markdown table for one case."""

    def notes(measurement):
        others = sum(sum(m.seconds) for m in measurements if m is not measurement)
        idle = measurement.worker.idle_cpu_seconds
        busy = f"used {idle:.2f} s of CPU while idle" if idle > BUSY_SHARE * others else ""
        return "; ".join(filter(None, [measurement.facts["note"], busy]))

    columns = {
        "precision": lambda m: m.facts["precision"],
        "same translations": lambda m: f"{agreement(m, reference):.1%}",
        "first run, s": lambda m: f"{m.first_seconds:.1f}",
        "notes": notes,
    }
    if case.references is not None:
        columns = {"BLEU": lambda m: bleu(m.facts["translations"], case.references), **columns}
    return speed_table(measurements, reference, case.unit, columns, checkout)


def differences_list(case, measurements, reference, limit):
    """A Markdown list of sources whose translations differ from the reference's."""
    lines = []
    for measurement in measurements:
        translations = (m.facts["translations"] for m in (reference, measurement))
        rows = zip(case.texts, *translations, strict=True)
        for source, expected, received in [row for row in rows if row[1] != row[2]][:limit]:
            lines.append(f"- source: {source}")
            lines.append(f"  - `{reference.name}`: {expected}")
            lines.append(f"  - `{measurement.name}`: {received}")
    return "\n".join(lines)


def report(case, measurements, baseline, show_differences, checkout):
    """The Markdown for one case."""
    reference = reference_of(measurements, baseline)
    table = case_table(case, measurements, reference, checkout)
    found = differences_list(case, measurements, reference, show_differences)
    return "\n\n".join(filter(None, [table, found]))


def make_cases(workloads, laboratory, model, source, reference, batch_sizes, limit):
    """All cases of the workloads."""
    cases = []
    if "file" in workloads:
        cases += file_cases(model, source, reference, batch_sizes, limit)
    if "base" in workloads:
        try:
            random_model = laboratory.artifact("random_model", "transformer_base")
        except WorkerError as error:
            raise click.ClickException(str(error)) from None
        cases += base_cases(random_model, batch_sizes)
    return cases


@click.command()
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(["file", "base"]),
    multiple=True,
    default=["file", "base"],
    show_default=True,
)
@click.option("--model", type=click.Path(exists=True, file_okay=False), help="Model folder.")
@click.option("--source", type=click.Path(exists=True, dir_okay=False), help="Text to translate.")
@click.option(
    "--reference",
    type=click.Path(exists=True, dir_okay=False),
    help="Reference translations for BLEU.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Number of lines to read.")
@click.option("--batch-size", "batch_sizes", type=click.IntRange(min=1), multiple=True)
@click.option(
    "--show-differences", type=int, default=0, help="Number of differences to print per system."
)
@measuring_options
def main(
    workloads,
    model,
    source,
    reference,
    limit,
    batch_sizes,
    show_differences,
    patterns,
    baseline,
    against,
    rounds,
    output,
):
    """Measure decoding speed of this package and of others, as Markdown."""
    if (model is None) != (source is None):
        raise click.UsageError("--model and --source belong together.")
    if reference is not None and source is None:
        raise click.UsageError("--reference is for translations of a --source.")
    systems = choose_systems(patterns, SYSTEMS, against)
    records = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder is removed
    click.echo(f"{machine()}\n")
    with (
        tempfile.TemporaryDirectory(prefix="benchmark-") as folder,
        contextlib.ExitStack() as stack,
    ):
        laboratory = Laboratory(systems, Path(folder), stack)
        for case in make_cases(workloads, laboratory, model, source, reference, batch_sizes, limit):
            measurements, left_out = take_turns(
                list(systems),
                lambda name, case=case: laboratory.start(name, case),
                rounds,
                case.name,
            )
            click.echo(f"### {case.name}\n")
            if measurements:
                click.echo(report(case, measurements, baseline, show_differences, against))
            click.echo(left_out_list(left_out))
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


if __name__ == "__main__":
    main()
