"""The largest batches that fit on a GPU, by the bytes that compiled training steps need."""

from typing import NamedTuple

import click

from benchmarks.report import markdown_table
from benchmarks.tpu.programs import Configuration
from benchmarks.tpu.projection import project

GIGABYTE = 10**9


class MemoryPlan(NamedTuple):
    """Bytes of a training step, a straight line in the rows of its batch.

    Attributes:
        preset: Name of an architecture without `transformer_`.
        precision: A Keras dtype policy.
        row: Positions of a row on each side.
        state: Bytes of weights and of Adam's two moments.
        fixed: All bytes that do not depend on the number of rows, `state` and gradients of
            weights.
        by_row: Further bytes of each row, its activations and their gradients.
    """

    preset: str
    precision: str
    row: int
    state: int
    fixed: float
    by_row: float

    def largest_batch(self, memory):
        """The maximum number of target tokens, whole rows, that fit into `memory` bytes."""
        return max(int((memory - self.fixed) // self.by_row), 0) * self.row


def plan_memory(preset, precision, row, rows, folder):
    """Compiles the steps of two batches for a GPU and draws the line through their peaks.

    Args:
        preset: Name of an architecture without `transformer_`.
        precision: A Keras dtype policy.
        row: Positions of a row on each side.
        rows: Rows of the smaller batch; the other one has twice as many.
        folder: `pathlib.Path` of a folder for the results, see `project`.

    Returns:
        A `MemoryPlan`.
    """
    small, large = (
        project(
            Configuration("train", preset, "h100:1", 1, count, row, row, precision=precision),
            folder,
        )
        for count in (rows, 2 * rows)
    )
    for record in (small, large):
        if "refusal" in record:
            raise click.ClickException(
                f"{preset} with {record['rows'] * row} tokens does not compile: "
                f"{record['refusal']}. Give fewer with --tokens."
            )
    small, large = small["memory"], large["memory"]
    by_row = (large["peak"] - small["peak"]) / rows
    fixed = small["peak"] - rows * by_row
    return MemoryPlan(preset, precision, row, small["arguments"], fixed, by_row)


def memory_table(plans, sizes, share):
    """A Markdown table of the largest batches, one row per `MemoryPlan`.

    Args:
        plans: List of `MemoryPlan`s.
        sizes: Memories of GPUs in GB.
        share: Share of the memory that programs may have.
    """
    heads = ["model, precision", "weights and moments, GB", "kB a target token"]
    heads += [f"{size} GB" for size in sizes]
    rows = [
        [
            f"{plan.preset}, {plan.precision}",
            f"{plan.state / GIGABYTE:.1f}",
            f"{plan.by_row / plan.row / 1000:,.0f}",
            *(f"{plan.largest_batch(size * GIGABYTE * share):,}" for size in sizes),
        ]
        for plan in plans
    ]
    return markdown_table(heads, rows)
