"""Rows of Table 3 in small compared with the base model, over seeds.

The unit is a training, so the test is over seeds. Dunnett's compares every row with the base by one
pooled variance, and its p-values hold for all comparisons together
(https://doi.org/10.1080/01621459.1955.10501294). sacreBLEU's paired bootstrap compares two trained
models on one text; of the next two trainings it says nothing.
"""

import statistics
from dataclasses import dataclass

import numpy as np
import scipy.stats

from experiments.table3.rows import PAPER_BASE, ROWS, Row

LEAST_SEEDS = 2
LEVEL = 0.05
"""Greatest p-value of a difference that is said to be there."""


@dataclass(frozen=True)
class ComparedRow:
    """A row's figures on the validation text, and their differences from the base model.

    Attributes:
        row: The `Row`.
        results: Its `Result`s.
        bleu: Mean BLEU.
        deviation: Standard deviation of BLEU over seeds, None for one seed.
        perplexity: Mean perplexity.
        difference: Mean BLEU less the base model's.
        error: Standard error of the difference, None if it or the base has one seed.
        p_value: Of Dunnett's test; None for the base, and where either has one seed.
        paper_difference: The paper's difference, None where it has no such row.
    """

    row: Row
    results: list
    bleu: float
    deviation: float | None
    perplexity: float
    difference: float
    error: float | None
    p_value: float | None
    paper_difference: float | None

    @property
    def verdict(self):
        """The outcome for the paper's claim, a text; empty where there is none."""
        if self.row.claim is None:
            return ""
        if self.p_value is None:
            return "too few seeds"
        sign = int(np.sign(self.difference)) if self.p_value < LEVEL else 0
        if sign == self.row.expected:
            return "holds" if sign else "holds: no difference seen"
        return "not seen" if sign == 0 else "does not hold"


def compare(results):
    """Compares rows by validation BLEU.

    Args:
        results: Dictionary of lists of `Result` by row name, one of them "base".

    Returns:
        List of `ComparedRow`, in the order of `ROWS`.
    """
    bleu = {name: [each.validation.bleu for each in found] for name, found in results.items()}
    p_values = _dunnett(bleu)
    base = ROWS[0].name
    return [
        ComparedRow(
            row=row,
            results=results[row.name],
            bleu=statistics.mean(bleu[row.name]),
            deviation=_deviation(bleu[row.name]),
            perplexity=statistics.mean(
                result.validation.perplexity for result in results[row.name]
            ),
            difference=statistics.mean(bleu[row.name]) - statistics.mean(bleu[base]),
            error=_error(bleu[row.name], bleu[base]),
            p_value=p_values.get(row.name),
            paper_difference=row.paper and round(row.paper.bleu - PAPER_BASE.bleu, 1),
        )
        for row in ROWS
        if row.name in results
    ]


def _deviation(values):
    return statistics.stdev(values) if len(values) >= LEAST_SEEDS else None


def _error(values, base):
    """Standard error of the difference of two means."""
    deviations = [_deviation(each) for each in (values, base)]
    if None in deviations:
        return None
    sizes = len(values), len(base)
    return float(np.sqrt(sum(s**2 / n for s, n in zip(deviations, sizes, strict=True))))


def _dunnett(bleu):
    """p-values of all rows that have enough seeds, by name."""
    base = ROWS[0].name
    names = [name for name in bleu if name != base and len(bleu[name]) >= LEAST_SEEDS]
    if len(bleu[base]) < LEAST_SEEDS or not names:
        return {}
    test = scipy.stats.dunnett(
        *(np.array(bleu[name]) for name in names),
        control=np.array(bleu[base]),
        rng=np.random.default_rng(0),  # of the integration: the page is the same each time
    )
    return dict(zip(names, map(float, test.pvalue), strict=True))
