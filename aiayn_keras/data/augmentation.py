"""More kinds of text from pairs of single sentences: joined, lower-cased, without a final mark."""

import itertools

import numpy as np

from aiayn_keras.checks import check_integer, check_number
from aiayn_keras.data.parallel_text import ParallelText

FEWEST_SENTENCES, MOST_SENTENCES = 2, 4
CLOSING_MARKS = "\"'»”’)]"
FINAL_MARKS = ".!?…"


def augment(
    text: ParallelText,
    *,
    joined: float = 0.0,
    lower_cased: float = 0.0,
    unpunctuated: float = 0.0,
    seed: int = 0,
) -> ParallelText:
    """Turns part of a text of single sentences into kinds of text that people also type.

    A model that has only seen single sentences translates the first sentence of two and leaves out
    the other, with a high score. So some sentences are joined by a space to texts of 2, 3 or 4;
    each of them occurs in one such text instead of alone. Only pairs whose two sides end with a
    final mark (`.`, `!`, `?`, `…`, closing quotes after it) are joined. Then some texts lose the
    final mark of their source, and some sources are lower-cased. Their targets stay as they are,
    but for a full stop, which both sides lose: nobody who leaves it out misses it.

    Args:
        text: Pairs of sentences.
        joined: Share of the pairs that become parts of texts of several sentences, in [0, 1].
        lower_cased: Share of the resulting texts whose source is lower-cased, in [0, 1].
        unpunctuated: Share of the resulting texts that lose the final mark, in [0, 1].
        seed: Seed of all choices, not negative.

    Returns:
        A `ParallelText`, the joined texts behind the others.

    Raises:
        ValueError: If a share or the seed is out of range.
        TypeError: If a share is no number, or the seed no integer.

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
    """The pairs that stay alone, and behind them the joined ones."""
    chosen = random.random(len(pairs)) < share
    alone, parts = [], []
    for pair, is_part in zip(pairs, chosen, strict=True):
        complete = is_part and all(map(_ends_with_a_mark, pair))
        (parts if complete else alone).append(pair)
    order = (parts[number] for number in random.permutation(len(parts)))

    def draw_size():
        return int(random.integers(FEWEST_SENTENCES, MOST_SENTENCES + 1))

    while group := list(itertools.islice(order, draw_size())):
        alone.append(tuple(map(" ".join, zip(*group, strict=True))))
    return alone


def _ends_with_a_mark(sentence):
    return sentence.rstrip(CLOSING_MARKS)[-1:] in tuple(FINAL_MARKS)


def _without_final_mark(source, target):
    """The pair without the source's final mark; a full stop goes from both sides or from none."""
    if source.endswith("."):
        if target.endswith(".") and not source.endswith("..") and not target.endswith(".."):
            return source[:-1], target[:-1]
        return source, target
    return source.rstrip("!?"), target
