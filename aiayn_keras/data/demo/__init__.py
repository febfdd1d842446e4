"""The demo language: English sentences and their German translations, made by a grammar."""

from aiayn_keras.data.demo.sentences import SentenceWriter
from aiayn_keras.data.parallel_text import SPLITS, ParallelText, split_of

# Share of all sentences for validation, and again for test.
HELD_OUT = 0.05


def generate_demo_pairs(count: int, seed: int = 0, split: str = "train") -> ParallelText:
    """Write English sentences and their German translations.

    Short main clauses, questions, subordinate clauses with the verb at the end, numbers up to
    999,999, times of day, three genders and three cases over some 160 lemmas. The German is a
    function of the English: each source has one correct translation, so a model can reach nearly
    100 BLEU. More than 10^9 different sentences can occur.

    A hash of the English sentence decides its split, whatever the seed: no sentence is ever in
    two splits. Within a call all sources are different, and a smaller `count` gives the first
    pairs of a larger one.

    Args:
        count: How many pairs.
        seed: Seed of the sentences.
        split: `"train"`, `"validation"` or `"test"`.

    Returns:
        A `ParallelText` of `count` pairs.

    Raises:
        ValueError: If `count` is negative or there is no such split.

    Example:
    >>> generate_demo_pairs(3, seed=1)
    ParallelText(name='demo-train', pairs=3)
    """
    if split not in SPLITS:
        raise ValueError(f"`split` must be one of {', '.join(SPLITS)}. Received: split={split!r}.")
    if count < 0:
        raise ValueError(f"`count` must not be negative. Received: count={count}.")
    writer = SentenceWriter(f"aiayn_keras demo {seed} {split}")
    pairs = {}
    while len(pairs) < count:
        english, german = writer.sentence()
        if split_of(english, HELD_OUT) == split:
            pairs[english] = german
    return ParallelText(pairs.keys(), pairs.values(), name=f"demo-{split}")
