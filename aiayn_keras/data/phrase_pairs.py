"""Words and short phrases with their translations, found in parallel text by word alignment."""

import collections
import functools
import itertools
import re
import sys
import unicodedata

import numpy as np

from aiayn_keras_light.spaces import UNSPACED_LETTER

_ITERATIONS = 5
_MAX_SOURCE_WORDS = 4
_MAX_TARGET_WORDS = 5
_MIN_COUNT = 2
_MIN_SHARE = 0.3
"""Minimum share of a phrase's occurrences that have its most frequent translation."""
MAX_ALIGNED_PAIRS = 200_000
"""Maximum number of pairs that are aligned; evenly spaced in a larger corpus."""
_MAX_SENTENCE_WORDS = 40
"""Longer sentences are left out, since tables grow with the product of the lengths."""


def extract_phrases(pairs):
    """Extracts phrases of one to four words, each with its most frequent translation.

    A pair of phrases must occur twice and make up 0.3 of its source's occurrences. See
    `count_phrases` for what a phrase is.

    Args:
        pairs: List of tuples of two sentences.

    Returns:
        Dictionary from a number of source words to the sorted list of phrase pairs, tuples of two
        strings, written as they mostly are inside sentences.

    Example:
        >>> extract_phrases([("The cat.", "Le chat."), ("The dog.", "Le chien.")] * 3)[1]
        [('cat', 'chat'), ('dog', 'chien'), ('the', 'le')]
    """
    counts, forms = _counted(pairs)
    phrases = collections.defaultdict(list)
    for source, targets in sorted(counts.items()):
        ((target, count),) = targets.most_common(1)
        if count >= _MIN_COUNT and count >= _MIN_SHARE * targets.total():
            written = map(_usual_form, forms, (source, target))
            phrases[len(source.split())].append(tuple(written))
    return dict(phrases)


def _usual_form(forms, phrase):
    """A phrase as it is mostly written inside sentences; word by word if it always begins one."""
    if forms[phrase]:
        return forms[phrase].most_common(1)[0][0]
    words = phrase.split()
    return phrase if len(words) == 1 else " ".join(_usual_form(forms, word) for word in words)


def count_phrases(pairs):
    """Counts phrases of one to four words and their translations.

    Words are aligned by IBM Model 1 (Brown et al. 1993, https://aclanthology.org/J93-2003, section
    4.1) in both directions; links that both directions find are kept. A pair of phrases is
    consistent with them (Koehn et al. 2003, https://aclanthology.org/N03-1017), begins and ends
    with linked words on both sides, and has no punctuation inside. Text in a script without spaces
    between words, such as Chinese or Thai, yields none.

    Args:
        pairs: List of tuples of two sentences.

    Returns:
        Dictionary from a phrase to the `collections.Counter` of its translations, all of them in
        lower case.
    """
    return _counted(pairs)[0]


def _counted(pairs):
    """Counts phrases in lower case, and on both sides the forms that each has inside sentences."""
    pairs = pairs[:: -(-len(pairs) // MAX_ALIGNED_PAIRS) or 1]
    word = _word()
    found = [
        (pair, tuple([*word.finditer(side)] for side in pair))
        for pair in pairs
        if not any(map(UNSPACED_LETTER.search, pair))
    ]
    found = [
        (pair, words)
        for pair, words in found
        if all(0 < len(side) <= _MAX_SENTENCE_WORDS for side in words)
    ]
    counts = collections.defaultdict(collections.Counter)
    forms = [collections.defaultdict(collections.Counter) for _ in range(2)]
    if not found:
        return counts, forms
    lowered = [[[word[0].lower() for word in words[i]] for _, words in found] for i in (0, 1)]
    forward, backward = _aligned(*lowered), _aligned(*reversed(lowered))
    for row, (pair, words) in enumerate(found):
        links = {(i, j) for j, i in enumerate(forward[row]) if i >= 0 and backward[row][i] == j}
        for spans in _consistent(links, len(words[0])):
            phrases = [_phrase(*side) for side in zip(pair, words, spans, strict=True)]
            if None in phrases:
                continue
            counts[phrases[0].lower()][phrases[1].lower()] += 1
            for form, phrase, (first, _) in zip(forms, phrases, spans, strict=True):
                if first:  # The first word of a sentence has a capital anyway.
                    form[phrase.lower()][phrase] += 1
    return counts, forms


@functools.cache
def _word():
    """Pattern of a word: letters with the marks on them, as in Hindi and Hebrew, and joiners.

    (To Python's `re`, neither marks nor joiners, as in Persian, are parts of words.)
    """
    marks = "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character).startswith("M")
    )
    letter = rf"[^\W_](?:[{marks}]|[\u200c\u200d](?=[^\W_]))*"
    return re.compile(rf"(?:{letter})+(?:['’](?:{letter})+)*")


def _aligned(sources, targets):
    """For each target word of each pair, the index of its most probable source word; −1 if none."""
    source_ids, target_ids = ({} for _ in range(2))
    groups, source_words, target_words = [], [], []
    for source, target in zip(sources, targets, strict=True):
        row = [source_ids.setdefault(word, len(source_ids)) for word in (*source, "")]
        column = [target_ids.setdefault(word, len(target_ids)) for word in target]
        source_words.append(np.tile(row, len(column)))
        target_words.append(np.repeat(column, len(row)))
        groups.append(np.full(len(column), len(row)))
    sizes = np.concatenate(groups)
    group = np.repeat(np.arange(len(sizes)), sizes)
    keys = np.concatenate(source_words).astype("int64") * len(target_ids)
    keys += np.concatenate(target_words)
    cells, cell = np.unique(keys, return_inverse=True)
    source_of_cell = cells // len(target_ids)
    probabilities = np.ones(len(cells))
    for _ in range(_ITERATIONS):
        shares = probabilities[cell]
        shares /= np.bincount(group, shares)[group]
        probabilities = np.bincount(cell, shares, len(cells))
        probabilities /= np.bincount(source_of_cell, probabilities)[source_of_cell]
    return _places(probabilities[cell], sizes, [len(target) for target in targets])


def _places(probabilities, sizes, lengths):
    """Index of the largest probability in each group; −1 for the last one, the empty word."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    group = np.repeat(np.arange(len(sizes)), sizes)
    hits = np.nonzero(probabilities == np.maximum.reduceat(probabilities, starts)[group])[0]
    _, first = np.unique(group[hits], return_index=True)
    places = hits[first] - starts
    rows = iter(np.where(places == sizes - 1, -1, places).tolist())
    return [list(itertools.islice(rows, length)) for length in lengths]


def _consistent(links, num_sources):
    """Yields pairs of spans, `(first, last)` each, that no link leaves."""
    target_of, source_of = dict(links), {j: i for i, j in links}
    for first in sorted(target_of):
        for last in range(first, min(first + _MAX_SOURCE_WORDS, num_sources)):
            if last not in target_of:
                continue
            places = [target_of[i] for i in range(first, last + 1) if i in target_of]
            low, high = min(places), max(places)
            inside = (source_of[j] for j in range(low, high + 1) if j in source_of)
            if high - low < _MAX_TARGET_WORDS and all(first <= i <= last for i in inside):
                yield (first, last), (low, high)


def _phrase(text, words, span):
    """The words of a span, or None if there is more than spaces between them."""
    chosen = words[span[0] : span[1] + 1]
    gaps = (text[left.end() : right.start()] for left, right in itertools.pairwise(chosen))
    return None if any(gap.strip() for gap in gaps) else " ".join(word[0] for word in chosen)
