"""Pairs of source and target files, which meet by their names.

What the wildcards of the two patterns match must be the same in both names of a pair (`part-*.en`
and `part-*.de`); or else the words and numbers in which the files of one side differ (`en/*` and
`de/*` with `en/news-1.en` and `de/news-1.de`).
"""

import re

from aiayn_keras.common.file_addresses import address_in, file_system
from aiayn_keras_light.text_files import CorpusError

_WILDCARD = re.compile(r"(\*\*/|\*+|\?|\[.[^/\]]*\])")
_MAX_NAMED = 4
"""Maximum number of names in an error."""


def pair_files(patterns, sides):
    """Pairs the files of two patterns.

    Args:
        patterns: The patterns of the sources and of the targets, as in `find_files`.
        sides: The two lists of `FoundFile`s.

    Returns:
        List of tuples of a source and a target file, in the order of the sources.

    Raises:
        CorpusError: If a file has no partner.
    """
    names = [[file.address for file in side] for side in sides]
    matched = [
        _matched_by_wildcards(pattern, side) for pattern, side in zip(patterns, names, strict=True)
    ]
    keys = [_differing_words(side) for side in names]
    if [len(side) for side in sides] == [1, 1]:  # there is nothing in which one name differs
        if not all(matched):  # they were named
            return list(zip(*sides, strict=True))
        keys = matched
    for sources, targets in (matched, keys):
        if None not in (sources, targets) and set(sources) == set(targets):
            partners = dict(zip(targets, sides[1], strict=True))
            return [(file, partners[key]) for key, file in zip(sources, sides[0], strict=True)]
    raise CorpusError(
        "There must be the same number of source and target files, and what differs between the "
        "names of one side must be the same on the other. Received: "
        f"{len(names[0])} like {names[0][0]}, {len(names[1])} like {names[1][0]}."
        f"{_without_partner(names, matched if all(matched) else keys)}"
    )


def _without_partner(names, keys):
    """Sentence that names files whose key the other side does not have."""
    alone = [
        name
        for own, other, side in ((keys[0], keys[1], names[0]), (keys[1], keys[0], names[1]))
        for key, name in zip(own, side, strict=True)
        if key not in set(other)
    ]
    more = f" and {len(alone) - _MAX_NAMED} more" if len(alone) > _MAX_NAMED else ""
    return f" Without a partner: {', '.join(alone[:_MAX_NAMED])}{more}." if alone else ""


def _matched_by_wildcards(pattern, names):
    """Tuples of what the wildcards of a pattern match in names; None if it has no wildcards."""
    literals = _WILDCARD.split(address_in(*file_system(pattern)))
    expression = "".join(
        _group_of(part) if place % 2 else re.escape(part) for place, part in enumerate(literals)
    )
    matches = [re.fullmatch(expression, name, re.DOTALL) for name in names]
    # A name with brackets may exist as it is.
    return [match.groups() for match in matches] if all(matches) and len(literals) > 1 else None


def _group_of(wildcard):
    if wildcard == "**/":
        return "((?:[^/]+/)*)"
    return "([^/]*)" if wildcard.startswith("*") else "([^/])"


def _differing_words(names):
    """Names without the beginning and the end that all share, cut between words and numbers."""
    beginning = _without_last_word(_shared_beginning(names))
    rests = [name[len(beginning) :] for name in names]
    ending = _without_last_word(_shared_beginning([rest[::-1] for rest in rests]))
    return [rest[: len(rest) - len(ending)] for rest in rests]


def _shared_beginning(texts):
    first, last = min(texts), max(texts)  # what these two share, all share
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (a, b) in pairs if a != b), len(first))]


def _without_last_word(text):
    """The text without its last word or number, which may be cut off."""
    end = len(text)
    while end and text[end - 1].isalnum():
        end -= 1
    return text[:end]
