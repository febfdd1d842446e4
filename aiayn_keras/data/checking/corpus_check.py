"""The check of a parallel text: all faults of all pairs, and the pairs of a cleaned copy."""

import collections
import itertools
from dataclasses import dataclass

from aiayn_keras.data.checking.characters import character_faults
from aiayn_keras.data.checking.correspondence import (
    UsualLengths,
    different_numbers,
    different_placeables,
    is_copy,
)
from aiayn_keras.data.checking.findings import KINDS, Finding
from aiayn_keras.data.checking.languages import SideProfile, wrong_language
from aiayn_keras.data.checking.repeats import HeldOut, Repeats, essence_of

_MAX_LENGTHS = 50_000
"""Number of pairs from which the usual lengths are found."""


@dataclass(frozen=True)
class CorpusCheck:
    """The result of a check.

    Attributes:
        name: Name of the text.
        num_lines: Number of lines.
        findings: List of `Finding`s, in the order of the lines.
        sides: Tuple of the `SideProfile`s of sources and targets.
        cleaned: List of the pairs of a cleaned copy: those without faults, and mended ones.
    """

    name: str
    num_lines: int
    findings: list[Finding]
    sides: tuple[SideProfile, SideProfile]
    cleaned: list[tuple[str, str]]

    def counts(self):
        """Counts the lines with a fault of each kind, a dictionary in the order of `KINDS`."""
        lines = collections.Counter(kind for _, kind in {each[:2] for each in self.findings})
        return {kind: lines[kind] for kind in KINDS if lines[kind]}

    def num_faulty(self):
        """Counts the lines with a fault of any kind."""
        return len({each.line for each in self.findings})

    def num_mended(self):
        """Counts the pairs of the cleaned copy that are mended."""
        left_out = {each.line for each in self.findings if not each.is_mended}
        return len({each.line for each in self.findings} - left_out)


def check_pairs(read, held_out=None, languages=(None, None), ignored=(), progress=iter):
    """Checks all pairs of a text.

    Characters are mended first, where that is safe, and the rest of the check reads mended text:
    so a pair is also found to repeat one from which it differs by an entity alone.

    Args:
        read: `ReadPairs`.
        held_out: Dictionary from a name, such as `"test"`, to the `ReadPairs` of a text whose
            sentences must not be in this one.
        languages: Codes of the languages of sources and targets; `None` for what most sentences
            are in.
        ignored: Kinds of faults, keys of `KINDS`, that are not looked for.
        progress: Function of an iterable of pairs that yields them, and shows how far it is.

    Returns:
        A `CorpusCheck`.

    Raises:
        ValueError: If a kind or a language is unknown.
    """
    unknown = sorted(set(ignored) - set(KINDS))
    if unknown:
        raise ValueError(
            f"`ignored` must hold kinds of faults: {', '.join(KINDS)}. Received: {unknown[0]!r}."
        )
    text = read.text
    sides = tuple(map(SideProfile, (text.sources, text.targets), languages))
    checks = _PairChecks(text, sides, HeldOut(held_out or {}), frozenset(ignored))
    findings = [
        Finding(each.line, "unreadable", f"{each.reason} ({each.file})")
        for each in read.bad
        if "unreadable" not in ignored
    ]
    cleaned = []
    for line, pair in zip(read.lines, progress(text), strict=True):
        mended, found = checks(line, pair)
        findings += found
        if all(finding.is_mended for finding in found):
            cleaned.append(mended)
    findings.sort(key=lambda finding: finding.line)
    return CorpusCheck(text.name, read.num_lines, findings, sides, cleaned)


class _PairChecks:
    """All checks of a pair, which remember the pairs before it."""

    def __init__(self, text, sides, held_out, ignored):
        self._sides, self._held_out, self._ignored = sides, held_out, ignored
        self._repeats = Repeats()
        step = -(-len(text) // _MAX_LENGTHS) or 1
        self._lengths = UsualLengths(itertools.islice(text, 0, None, step))

    def __call__(self, line, pair):
        """Checks the next pair; returns it mended, and a list of its `Finding`s."""
        found, mended = [], []
        for name, side in zip(("source", "target"), pair, strict=True):
            text, faults = character_faults(side, self._ignored)
            mended.append(text)
            found += [
                Finding(line, kind, f"{name}: {reason}", is_mended)
                for kind, (reason, is_mended) in faults.items()
            ]
        found += [
            Finding(line, kind, reason)
            for kind, reason in self._faults_of_meaning(line, *mended)
            if kind not in self._ignored
        ]
        return tuple(mended), found

    def _faults_of_meaning(self, line, source, target):
        empty = [
            name for name, side in (("source", source), ("target", target)) if not side.strip()
        ]
        if empty:
            yield "empty", f"the {' and the '.join(empty)} is empty"
            return
        essences = essence_of(source), essence_of(target)
        repeat = self._repeats.find(line, source, target, essences)
        if repeat is not None:
            yield repeat
            return
        leak = self._held_out.find(essences)
        if leak is not None:
            yield "leak", leak
        if is_copy(source, essences):
            yield "copy", "the target is the source"
            return
        script = self._wrong_script(source, target)
        if script is not None:
            yield "script", script
        elif "language" not in self._ignored:
            language = wrong_language(self._sides, (source, target))
            if language is not None:
                yield "language", language
        length = self._lengths.fault(source, target)
        if length is not None:
            yield "ratio", length
        numbers = different_numbers(source, target)
        if numbers is not None:
            yield "numbers", numbers
        placeables = different_placeables(source, target)
        if placeables is not None:
            yield "placeables", placeables

    def _wrong_script(self, source, target):
        for name, side, text in zip(
            ("source", "target"), self._sides, (source, target), strict=True
        ):
            fault = side.wrong_script(text)
            if fault is not None:
                return f"{name}: {fault}"
        return None
