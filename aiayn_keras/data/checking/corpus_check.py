"""The check of a parallel text: all faults of all pairs, and the pairs of a cleaned copy.

Repeats, and sentences of the validation and test text, are found here; all else that may be wrong
with a pair is in `suspicious_pairs`.
"""

import collections
import itertools
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

from aiayn_keras.data.checking.suspicious_pairs import (
    SideProfile,
    UsualLengths,
    character_faults,
    different_numbers,
    different_placeables,
    is_copy,
    wrong_language,
)
from aiayn_keras_light.placeables import TARGET_TAG

KINDS = {
    "unreadable": "lines that cannot be read: no tab, not UTF-8, too long",
    "empty": "pairs with an empty side",
    "duplicate": "pairs that occur before",
    "near_duplicate": "pairs that occur before, apart from case, spaces and punctuation",
    "copy": "targets that repeat their sources untranslated",
    "language": "sides in a wrong language, or swapped",
    "script": "sides in a wrong script, or with letters of two scripts in a word",
    "ratio": "pairs with one side unusually long for the other",
    "numbers": "pairs whose sides have different numbers",
    "placeables": "pairs whose sides have different URLs, e-mail addresses, {name} and the like",
    "markup": "tags and other markup",
    "mojibake": "characters decoded from a wrong encoding",
    "entities": "HTML entities",
    "invisible": "byte-order marks, zero-width and other invisible characters",
    "leak": "pairs with a sentence of the validation or test text",
}
"""Description of each kind of fault, in the order of a report."""
_MAX_LENGTHS = 50_000
"""Number of pairs from which the usual lengths are found."""


class Finding(NamedTuple):
    """A fault in a pair.

    Attributes:
        line: Number of the pair's line, from 1.
        kind: A key of `KINDS`.
        reason: What is wrong.
        is_mended: Whether a cleaned copy has the pair without its fault; otherwise it is left out.
    """

    line: int
    kind: str
    reason: str
    is_mended: bool = False


class _Essentials(dict):
    """Table for `str.translate` that keeps letters, digits and marks, such as Indic vowels."""

    def __missing__(self, code):
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else None
        return self[code]


_ESSENTIALS = _Essentials()


def essence_of(text):
    """Reduces a text to its letters, with their marks, and digits, in lower case.

    A text without any is returned as it is, except for spaces at its ends.

    Example:
        >>> essence_of("¡Cállate, Tom!")
        'cállatetom'
    """
    return text.casefold().translate(_ESSENTIALS) or text.strip()


class Repeats:
    """Finds pairs that occurred before.

    Memory grows with the number of pairs: 16 bytes for the hashes, and a dictionary's share.
    """

    def __init__(self):
        self._seen, self._essences = {}, {}

    def find(self, line, source, target, essences):
        """Takes the next pair.

        Args:
            line: Number of its line.
            source: The source.
            target: The target.
            essences: Tuple of `essence_of` both.

        Returns:
            Tuple of a kind of `KINDS` and the reason, or `None`.
        """
        first = self._seen.setdefault(hash((source.strip(), target.strip())), line)
        nearest = self._essences.setdefault(hash(essences), line)
        if first != line:
            return "duplicate", f"the same as line {first:,}"
        if nearest != line:
            return "near_duplicate", f"nearly the same as line {nearest:,}"
        return None


class _HeldOut:
    """The sentences of the validation and test text.

    Args:
        texts: Dictionary from the name of a text, such as `"test"`, to its `ReadPairs`.
    """

    def __init__(self, texts):
        self._places = {}, {}
        for name, read in texts.items():
            for line, pair in zip(read.lines, read.text, strict=True):
                for places, side in zip(self._places, pair, strict=True):
                    places.setdefault(essence_of(side), (name, line))

    def find(self, essences):
        """Returns where either side of a pair, given by `essence_of` both, is held out, or None."""
        for side, places, essence in zip(("source", "target"), self._places, essences, strict=True):
            if essence in places:
                name, line = places[essence]
                return f"its {side} is in the {name} text, line {line:,}"
        return None


@dataclass(frozen=True)
class CorpusCheck:
    """The result of a check.

    Attributes:
        name: Name of the text.
        num_lines: Number of lines.
        findings: List of `Finding`s, in the order of the lines.
        sides: Tuple of the `SideProfile`s of sources and targets.
        tagged: Dictionary from a tag of a target language, such as `<2de>`, to the `SideProfile` of
            the targets of sources with it; empty if no source has one.
        cleaned: List of the pairs of a cleaned copy: those without faults, and mended ones.
    """

    name: str
    num_lines: int
    findings: list[Finding]
    sides: tuple[SideProfile, SideProfile]
    tagged: dict[str, SideProfile]
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
    so a pair is also found to repeat one from which it differs by an entity alone. Sources may
    begin with the tag of a target language, `<2de>` or `>>deu<<`: targets are then compared with
    others of the same tag.

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
    sources, targets_of = _without_tags(text)
    sides = tuple(map(SideProfile, (sources, text.targets), languages))
    tagged = {
        tag: sides[1] if languages[1] else SideProfile(targets)
        for tag, targets in targets_of.items()
    }
    lengths = zip(sources, text.targets, strict=True)
    lengths = UsualLengths(itertools.islice(lengths, 0, None, -(-len(text) // _MAX_LENGTHS) or 1))
    checks = _PairChecks(sides, tagged, lengths, _HeldOut(held_out or {}), frozenset(ignored))
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
    return CorpusCheck(text.name, read.num_lines, findings, sides, tagged, cleaned)


def _tag_of(source):
    """The tag of a target language at the beginning of a source, without spaces; often empty."""
    return TARGET_TAG.match(source)[0].strip()


def _without_tags(text):
    """The sources of a text without tags, and a dictionary from each tag to its targets."""
    tags = [_tag_of(source) for source in text.sources]
    if not any(tags):
        return text.sources, {}
    targets_of = {}
    for tag, target in zip(tags, text.targets, strict=True):
        targets_of.setdefault(tag, []).append(target)
    return [_untagged(source) for source in text.sources], targets_of


def _untagged(source):
    return source[TARGET_TAG.match(source).end() :]


class _PairChecks:
    """All checks of a pair, which remember the pairs before it."""

    def __init__(self, sides, tagged, lengths, held_out, ignored):
        self._sides, self._tagged, self._lengths = sides, tagged, lengths
        self._held_out, self._ignored = held_out, ignored
        self._repeats = Repeats()

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
        sides = self._sides
        if self._tagged:
            sides = sides[0], self._tagged.get(_tag_of(source), sides[1])
            source = _untagged(source)
            essences = essence_of(source), essences[1]
        if is_copy(source, essences):
            yield "copy", "the target is the source"
            return
        script = _wrong_script(sides, (source, target))
        if script is not None:
            yield "script", script
        elif "language" not in self._ignored:
            language = wrong_language(sides, (source, target))
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


def _wrong_script(sides, pair):
    for name, side, text in zip(("source", "target"), sides, pair, strict=True):
        fault = side.wrong_script(text)
        if fault is not None:
            return f"{name}: {fault}"
    return None
