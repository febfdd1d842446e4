"""Variants of training text: joined sentences, lower-cased sources, missing final marks."""

import itertools

import numpy as np

from aiayn_keras.common.checks import check_integer, check_number
from aiayn_keras.data.parallel_text import ParallelText

_MIN_SENTENCES, _MAX_SENTENCES = 2, 4
_CLOSING_MARKS = "\"'»”’)]"
_FINAL_MARKS = ".!?…"


def augment(
    text: ParallelText,
    *,
    joined: float = 0.0,
    lower_cased: float = 0.0,
    unpunctuated: float = 0.0,
    seed: int = 0,
) -> ParallelText:
    """Converts some single sentences into other kinds of text that people type.

    A model trained only on single sentences translates the first of two sentences, skips the
    second, and scores the result highly. So some sentences are joined with spaces into texts of 2,
    3 or 4, and then no longer occur alone. Pairs are joined only if both sides end with a final
    mark: `.`, `!`, `?` or `…`, optionally followed by closing quotes. Next, some texts lose the
    final mark of their source, and some sources are lower-cased. Targets do not change, except
    that a full stop is removed from both sides: people who omit it do not expect it in the
    translation.

    Args:
        text: Pairs of sentences.
        joined: Share of the pairs to join into longer texts, in [0, 1].
        lower_cased: Share of the resulting texts whose source is lower-cased, in [0, 1].
        unpunctuated: Share of the resulting texts that lose the final mark, in [0, 1].
        seed: Non-negative seed of all random choices.

    Returns:
        A `ParallelText`, with the joined texts at the end.

    Raises:
        ValueError: If a share or the seed is out of range.
        TypeError: If a share is not a number, or the seed is not an integer.

    Example:
    >>> text = ParallelText(["How are you?", "Hello."], ["¿Cómo estás?", "Hola."])
    >>> augment(text, joined=1.0)[0]
    ('Hello. How are you?', 'Hola. ¿Cómo estás?')
    """
    shares = {"joined": joined, "lower_cased": lower_cased, "unpunctuated": unpunctuated}
    for name, share in shares.items():
        check_number(name, share, 0, 1)
    seed = check_integer("seed", seed, 0, 2**63 - 1)
    if not any(shares.values()):
        return text
    random = np.random.default_rng(seed)
    pairs = _join(list(text), joined, random)
    changes = random.random((len(pairs), 2)) < (unpunctuated, lower_cased)
    for number, (drop_mark, to_lower) in enumerate(changes):
        if drop_mark:
            pairs[number] = _without_final_mark(*pairs[number])
        if to_lower:
            pairs[number] = (pairs[number][0].lower(), pairs[number][1])
    sides = zip(*pairs, strict=True) if pairs else ((), ())
    return ParallelText(*sides, text.name)


def _join(pairs, share, random):
    """Returns the pairs that stay alone, followed by the joined ones."""
    chosen = random.random(len(pairs)) < share
    alone, parts = [], []
    for pair, is_part in zip(pairs, chosen, strict=True):
        complete = is_part and all(map(_ends_with_a_mark, pair))
        (parts if complete else alone).append(pair)
    order = (parts[number] for number in random.permutation(len(parts)))

    def draw_size():
        return int(random.integers(_MIN_SENTENCES, _MAX_SENTENCES + 1))

    while group := list(itertools.islice(order, draw_size())):
        alone.append(tuple(map(" ".join, zip(*group, strict=True))))
    return alone


def _ends_with_a_mark(sentence):
    return sentence.rstrip(_CLOSING_MARKS)[-1:] in tuple(_FINAL_MARKS)


def _without_final_mark(source, target):
    """Removes the source's final mark; a full stop is removed from both sides or from neither."""
    if source.endswith("."):
        if target.endswith(".") and not source.endswith("..") and not target.endswith(".."):
            return source[:-1], target[:-1]
        return source, target
    return source.rstrip("!?"), target
