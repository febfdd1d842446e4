"""Translations by several systems, compared: scores, paired bootstrap, lengths, numbers, lines."""

import math
from dataclasses import dataclass

import sacrebleu
from sacrebleu.significance import PairedTest

from aiayn_keras.data.checking.suspicious_pairs import different_numbers
from aiayn_keras.training.translation_scores import (
    check_bleu_tokenizer,
    open_bleu,
    warn_of_empty_references,
    warn_of_missing_spaces,
)

_SIGNIFICANT = 0.05
"""p-value below which a difference is called significant."""

METRICS = ("BLEU", "chrF2", "TER")
_TEST = "bs"  # sacreBLEU's name of its paired bootstrap


@dataclass(frozen=True)
class SystemScore:
    """The score of a system on one metric.

    Attributes:
        score: The score of all lines.
        mean: Mean of the scores of the resampled texts.
        interval: Half of the width of their 95 % confidence interval.
        p_value: Probability of a difference from the first system as large as this one if both were
            equally good; 1 for the first system's score, and None for the first system itself.
    """

    score: float
    mean: float
    interval: float
    p_value: float | None

    @property
    def is_significant(self):
        """True if the difference from the first system is significant."""
        return self.p_value is not None and self.p_value < _SIGNIFICANT


@dataclass(frozen=True)
class SystemReport:
    """Everything about one system.

    Attributes:
        name: Its name.
        scores: Dictionary from `METRICS` to `SystemScore`s.
        length_ratio: Number of tokens of the translations divided by that of the references.
        empty: Number of empty translations.
        source_numbers: Number of lines whose numbers differ from those of the source; None without
            sources.
        reference_numbers: Number of lines whose numbers differ from those of every reference.
    """

    name: str
    scores: dict
    length_ratio: float
    empty: int
    source_numbers: int | None
    reference_numbers: int


@dataclass(frozen=True)
class DifferentLine:
    """A line that systems translate differently.

    Attributes:
        line: Its number, from 1 on.
        source: Its source, or None.
        references: Tuple of its references.
        outputs: Tuple of the systems' translations.
        chrf: Tuple of the sentence chrF2 of each translation.
    """

    line: int
    source: str | None
    references: tuple
    outputs: tuple
    chrf: tuple

    @property
    def difference(self):
        """The highest chrF2 minus the lowest."""
        return max(self.chrf) - min(self.chrf)


@dataclass(frozen=True)
class Comparison:
    """The result of `compare_translations`.

    Attributes:
        systems: Tuple of `SystemReport`s.
        signatures: Dictionary from `METRICS` to sacreBLEU's signatures.
        lines: Tuple of the `DifferentLine`s that differ most, the largest difference first.
        num_lines: Number of lines.
        num_different: Number of lines that the systems do not all translate alike.
    """

    systems: tuple
    signatures: dict
    lines: tuple
    num_lines: int
    num_different: int


def compare_translations(
    systems,
    references,
    sources=None,
    *,
    max_lines=10,
    tokenizer="13a",
    lowercase=False,
    num_samples=1000,
):
    """Compares translations of one text by several systems.

    The scores, and the paired bootstrap against the first system, are sacreBLEU's
    (https://aclanthology.org/W04-3250).

    Args:
        systems: Dictionary from the names of at least two systems to their translations, lists of
            strings.
        references: List of at least one list of references.
        sources: List of the sources, or None.
        max_lines: Maximum number of lines that differ most.
        tokenizer: sacreBLEU's tokenizer for BLEU.
        lowercase: Whether to ignore case.
        num_samples: Number of resampled texts.

    Returns:
        A `Comparison`.

    Raises:
        ValueError: If there are fewer than two systems, no references or lines, or lists of
            different lengths, or the tokenizer is unknown or cannot be used.
    """
    _check(systems, references, sources)
    bleu = open_bleu(check_bleu_tokenizer(tokenizer), lowercase)
    warn_of_missing_spaces(references[0], tokenizer, has_ter=True)
    warn_of_empty_references(references)
    metrics = {
        "BLEU": bleu,
        "chrF2": sacrebleu.CHRF(lowercase=lowercase),
        "TER": sacrebleu.TER(case_sensitive=not lowercase),
    }
    named = list(systems.items())
    signatures, results = PairedTest(named, metrics, references, _TEST, num_samples)()
    reports = []
    for place, (name, outputs) in enumerate(named):
        scores = {metric: _as_score(results[metric], place) for metric in METRICS}
        reports.append(
            SystemReport(
                name,
                scores,
                float(bleu.corpus_score(outputs, references).ratio),
                sum(not text.strip() for text in outputs),
                None if sources is None else _count_other_numbers(outputs, [sources]),
                _count_other_numbers(outputs, references),
            )
        )
    different = _different_lines(list(systems.values()), references, sources, metrics["chrF2"])
    return Comparison(
        tuple(reports),
        {metric: str(signatures[metric]) for metric in METRICS},
        tuple(different[:max_lines]),
        len(references[0]),
        len(different),
    )


def _check(systems, references, sources):
    if len(systems) < 2:
        raise ValueError(f"`systems` must be at least two. Received: {', '.join(systems) or None}.")
    if not references or not references[0]:
        raise ValueError("`references` must hold at least one list of at least one line.")
    lists = {f"reference {number}": each for number, each in enumerate(references, 1)}
    lists |= systems | ({} if sources is None else {"sources": sources})
    for name, lines in lists.items():
        if len(lines) != len(references[0]):
            raise ValueError(
                f"All texts must have as many lines as the first reference, {len(references[0]):,}."
                f" Received: {len(lines):,} lines in {name}."
            )


def _as_score(results, place):
    first, result = results[0], results[place]
    p_value = None if result.p_value is None else float(result.p_value)
    if place and result.score == first.score:
        p_value = 1.0  # sacreBLEU counts no sample above a difference of 0, and says 1 / 1001
    return SystemScore(float(result.score), float(result.mean), float(result.ci), p_value)


def _count_other_numbers(outputs, texts):
    """The number of lines whose numbers differ from those of all their counterparts."""
    return sum(
        all(different_numbers(other, output) is not None for other in others)
        for output, *others in zip(outputs, *texts, strict=True)
    )


def _different_lines(outputs, references, sources, chrf):
    """The `DifferentLine`s, those with the largest difference first."""
    found = []
    for place, texts in enumerate(zip(*outputs, strict=True)):
        if len(set(texts)) == 1:
            continue
        targets = tuple(each[place] for each in references)
        scores = {text: float(chrf.sentence_score(text, targets).score) for text in set(texts)}
        source = None if sources is None else sources[place]
        chrfs = tuple(scores[text] for text in texts)
        found.append(DifferentLine(place + 1, source, targets, texts, chrfs))
    return sorted(found, key=lambda each: (-each.difference, each.line))


def as_plain(comparison):
    """Turns a `Comparison` into what JSON can hold.

    Args:
        comparison: A `Comparison`.

    Returns:
        Dictionary of `lines`, `different`, `signatures`, `systems` and `most_different`.
    """
    return {
        "lines": comparison.num_lines,
        "different": comparison.num_different,
        "signatures": comparison.signatures,
        "systems": [
            {
                "name": each.name,
                "scores": {
                    metric: {
                        "score": score.score,
                        "mean": _finite(score.mean),
                        "interval": _finite(score.interval),
                        "p_value": score.p_value,
                        "significant": score.is_significant,
                    }
                    for metric, score in each.scores.items()
                },
                "length_ratio": each.length_ratio,
                "empty": each.empty,
                "numbers_differ_from_source": each.source_numbers,
                "numbers_differ_from_reference": each.reference_numbers,
            }
            for each in comparison.systems
        ],
        "most_different": [
            {
                "line": each.line,
                "source": each.source,
                "references": list(each.references),
                "outputs": list(each.outputs),
                "chrf": list(each.chrf),
            }
            for each in comparison.lines
        ],
    }


def _finite(number):
    return number if math.isfinite(number) else None
