"""A job's open parts worked on, with progress."""

import contextlib
import time
from typing import NamedTuple

from aiayn_keras.common.text_files import CorpusError
from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress


class Totals(NamedTuple):
    """Sums over all parts of a job.

    Attributes:
        lines: Number of lines.
        bad_lines: Those among them that could not be used.
    """

    lines: int
    bad_lines: int


def finish_job(job, engine, work_class, arguments, *, uses_accelerator=False, description=""):
    """Works on the parts of a job that are not done yet.

    Args:
        job: An opened `Job`.
        engine: `Engine`.
        work_class: Its objects return the number of a part that they are called with, and its
            `Manifest`, or a `CorpusError` if its file is damaged.
        arguments: As in `Engine.run`.
        uses_accelerator: As in `Engine.run`.
        description: Of the progress bar.

    Returns:
        List of the `Manifest`s of all parts, in their order.

    Raises:
        CorpusError: For the first of the files that are damaged, when all other parts are done.
        RuntimeError: If workers have written into a folder that this process does not see.
    """
    left, done = job.open_parts()
    results = engine.run(
        work_class, (job.output, *arguments), left, uses_accelerator=uses_accelerator
    )
    start, lines, problems = time.perf_counter(), 0, []
    with (
        contextlib.closing(results),
        open_progress(
            SECONDS_BETWEEN_LINES,
            total=len(job.parts),
            initial=len(done),
            unit="part",
            desc=description,
        ) as bar,
    ):
        for number, manifest in results:
            if isinstance(manifest, CorpusError):
                problems.append(manifest)
                continue
            done[number] = manifest
            lines += manifest.lines
            rate = lines / (time.perf_counter() - start)
            bar.set_postfix_str(f"{lines:,} lines, {rate:,.0f} lines/s", refresh=False)
            bar.update()
    job.clean()
    if problems:
        raise first_of(
            problems, "All other parts are done; the same command goes on with these."
        ) from problems[0]
    if job.missing():
        raise RuntimeError(
            f"Workers wrote into another {job.output} than this machine's: give a folder that all "
            "machines share, or a URL."
        )
    return [done[part.number] for part in job.parts]


def first_of(problems, consequence):
    """The error of the first of some parts whose files are damaged.

    Args:
        problems: List of `CorpusError`s.
        consequence: What comes of it, as a sentence.
    """
    others = f" Parts with such errors: {len(problems)}." if len(problems) > 1 else ""
    return CorpusError(f"{problems[0]}{others} {consequence}")


def totals(manifests):
    """The `Totals` of `Manifest`s."""
    return Totals(sum(each.lines for each in manifests), sum(each.bad_lines for each in manifests))
