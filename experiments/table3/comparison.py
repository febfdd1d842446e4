"""Rows of Table 3 on a small scale compared with the base model, over seeds.

The unit is a training, so the test is over seeds. Dunnett's test compares every row with the base
using one pooled variance, and its p-values hold for all comparisons together
(https://doi.org/10.1080/01621459.1955.10501294). It assumes that all rows have the same spread,
which failed trainings violate: a training with less than half the base's mean BLEU counts as one
that did not train, and its row is not tested and is excluded from the pooled variance. (At first
the row's mean decided; then 6+6 layers gave 12.4 BLEU with one seed and 21.5 with the next.)
sacreBLEU's paired bootstrap compares two trained models on one text; it says nothing about the
next two trainings.
"""

import statistics
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats

from experiments.table3.rows import PAPER_BASE, ROWS, Row

MIN_SEEDS = 2
LEVEL = 0.05
"""Maximum p-value of a difference that counts as seen."""
TRAINED = 0.5
"""Minimum share of the base's mean BLEU for a model that counts as trained."""


@dataclass(frozen=True)
class ComparedRow:
    """A row's figures on the validation text, and their differences from the base model.

    Attributes:
        row: The `Row`.
        results: Its `Result`s.
        bleu: Mean BLEU.
        deviation: Standard deviation of BLEU over seeds, None for one seed.
        perplexity: Mean perplexity.
        difference: Mean BLEU minus the base model's.
        error: Standard error of the difference, None if it or the base has one seed.
        p_value: From Dunnett's test of BLEU; None for the base, if either has one seed, and for
            a row with a failed training.
        perplexity_difference: Mean perplexity minus the base model's.
        perplexity_p_value: The same for perplexity.
        num_failed: Number of trainings that have not learned to translate.
        paper_difference: The paper's difference in BLEU, None if it has no such row.
        paper_perplexity_difference: The same in perplexity.
    """

    row: Row
    results: list
    bleu: float
    deviation: float | None
    perplexity: float
    difference: float
    error: float | None
    p_value: float | None
    perplexity_difference: float
    perplexity_p_value: float | None
    num_failed: int
    paper_difference: float | None
    paper_perplexity_difference: float | None

    @property
    def failures(self):
        """The number of its failed trainings, as text."""
        number = len(self.results)
        return (
            "did not train"
            if self.num_failed == number
            else f"{self.num_failed} of {number} did not train"
        )

    def tested(self, figure):
        """The difference in a `Claim`'s figure, and its p-value."""
        if figure == "perplexity":
            return self.perplexity_difference, self.perplexity_p_value
        return self.difference, self.p_value

    def verdict(self, claim):
        """The outcome for a `Claim` about its row, as text."""
        if self.num_failed:
            return self.failures
        difference, p_value = self.tested(claim.figure)
        if p_value is None:
            return "too few seeds"
        if p_value >= LEVEL:
            return "not seen" if claim.expected else "no difference seen"
        return "holds" if np.sign(difference) == claim.expected else "does not hold"


def compare(results):
    """Compares rows by BLEU and perplexity on the validation text.

    Args:
        results: Dictionary of lists of `Result` by row name, one of them "base".

    Returns:
        List of `ComparedRow`, in the order of `ROWS`.
    """
    bleu = {name: [each.validation.bleu for each in found] for name, found in results.items()}
    base = ROWS[0].name
    least = TRAINED * statistics.mean(bleu[base])
    failed = {name: sum(value < least for value in values) for name, values in bleu.items()}
    perplexity = {
        name: [each.validation.perplexity for each in found] for name, found in results.items()
    }
    of_bleu, of_perplexity = (
        _dunnett({name: values for name, values in figures.items() if not failed[name]})
        for figures in (bleu, perplexity)
    )
    return [
        ComparedRow(
            row=row,
            results=results[row.name],
            bleu=statistics.mean(bleu[row.name]),
            deviation=_deviation(bleu[row.name]),
            perplexity=statistics.mean(perplexity[row.name]),
            difference=statistics.mean(bleu[row.name]) - statistics.mean(bleu[base]),
            error=_error(bleu[row.name], bleu[base]),
            p_value=of_bleu.get(row.name),
            perplexity_difference=statistics.mean(perplexity[row.name])
            - statistics.mean(perplexity[base]),
            perplexity_p_value=of_perplexity.get(row.name),
            num_failed=failed[row.name],
            paper_difference=row.paper and round(row.paper.bleu - PAPER_BASE.bleu, 1),
            paper_perplexity_difference=row.paper
            and round(row.paper.perplexity - PAPER_BASE.perplexity, 2),
        )
        for row in ROWS
        if row.name in results
    ]


class Spread(NamedTuple):
    """Spread of the trainings within a row, over the rows that trained with the base's seeds.

    Attributes:
        pooled: Standard deviation of BLEU within a row.
        without_seeds: The same without the effect of a seed on all rows, which share the order of
            the batches. Dunnett's test assumes independent trainings and uses `pooled`.
        best_seed: The seed that is most often the best in its row.
        times_best: Number of rows in which it is the best.
        rows: Number of the rows.
    """

    pooled: float
    without_seeds: float
    best_seed: int
    times_best: int
    rows: int


def spread_of_seeds(compared):
    """The `Spread` of a list of `ComparedRow`, the base first; None without two rows to compare.

    Only rows with the base's seeds and without a failed training count.
    """
    seeds = [result.seed for result in compared[0].results]
    whole = [
        each
        for each in compared
        if not each.num_failed and [result.seed for result in each.results] == seeds
    ]
    if len(whole) < 2 or len(seeds) < MIN_SEEDS:
        return None
    bleu = np.array([[result.validation.bleu for result in each.results] for each in whole])
    own = bleu - bleu.mean(axis=1, keepdims=True)
    rest = own - own.mean(axis=0)
    places = np.bincount(own.argmax(axis=1), minlength=len(seeds))
    freedom = (len(whole) - 1) * (len(seeds) - 1)
    return Spread(
        pooled=_pooled(bleu),
        without_seeds=float(np.sqrt((rest**2).sum() / freedom)),
        best_seed=seeds[int(places.argmax())],
        times_best=int(places.max()),
        rows=len(whole),
    )


def dunnett_by_means(compared):
    """Dunnett's test of BLEU if a row's mean decided whether it trained.

    Args:
        compared: List of `ComparedRow`, the base first.

    Returns:
        The pooled standard deviation within a row, and the labels of the rows that then differ from
        the base; None if nothing can be tested.
    """
    least = TRAINED * compared[0].bleu
    bleu = {
        each.row.name: [result.validation.bleu for result in each.results]
        for each in compared
        if each.bleu >= least
    }
    p_values = _dunnett(bleu)
    if not p_values:
        return None
    seen = [each.row.label for each in compared if p_values.get(each.row.name, 1) < LEVEL]
    return _pooled(bleu.values()), seen


def _pooled(rows):
    """Standard deviation within rows of values, which may differ in length."""
    squares = sum(((np.array(row) - np.mean(row)) ** 2).sum() for row in rows)
    return float(np.sqrt(squares / sum(len(row) - 1 for row in rows)))


def _deviation(values):
    return statistics.stdev(values) if len(values) >= MIN_SEEDS else None


def _error(values, base):
    """Standard error of the difference of two means."""
    deviations = [_deviation(each) for each in (values, base)]
    if None in deviations:
        return None
    sizes = len(values), len(base)
    return float(np.sqrt(sum(s**2 / n for s, n in zip(deviations, sizes, strict=True))))


def _dunnett(figures):
    """p-values of all rows that have enough seeds, by name; none where nothing varies."""
    base = ROWS[0].name
    names = [name for name in figures if name != base and len(figures[name]) >= MIN_SEEDS]
    if len(figures[base]) < MIN_SEEDS or not names or not any(map(np.ptp, figures.values())):
        return {}
    test = scipy.stats.dunnett(
        *(np.array(figures[name]) for name in names),
        control=np.array(figures[base]),
        rng=np.random.default_rng(0),  # for the integration, so that the page is always the same
    )
    return dict(zip(names, map(float, test.pvalue), strict=True))
