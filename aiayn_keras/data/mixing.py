"""Two texts mixed in given shares, so that a model fine-tuned on a new one remembers the old."""

import logging

import numpy as np

from aiayn_keras.data.parallel_text import ParallelText
from aiayn_keras_light.checks import check_integer, check_number
from aiayn_keras_light.text_files import CorpusError

logger = logging.getLogger(__name__)

_MAX_REPEATS = 20
"""Maximum number of times that a short text is repeated beside a longer one."""
_MAX_SHARE = 0.999
_MAX_ROUNDS, _MAX_DRAWN = 1_000, 100_000_000
"""Maximum number of times that the text mixed in is repeated, and of pairs drawn from it."""
_MAX_SEED = 2**32 - 1


def mix_texts(
    text: ParallelText, mixed_in: ParallelText, share: float, seed: int = 0
) -> ParallelText:
    """Mixes two texts; the second makes up a given share of the pairs.

    Beside a few hundred pairs of a new domain there would be just as few of the old one, and the
    model would learn them by heart. So `text` is repeated, at most 20 times, while `mixed_in` still
    has pairs that were not drawn; if `mixed_in` has too few pairs for its share, they are repeated
    instead, at most 1,000 times.

    This is the mixed fine-tuning of Chu et al. 2017 (https://aclanthology.org/P17-2061), which
    oversamples the smaller text, without its tags for the domains.

    Args:
        text: Pairs of the domain to learn.
        mixed_in: Pairs of other text, drawn at random.
        share: Share of the result that comes from `mixed_in`, above 0 and at most 0.999.
        seed: Seed of the draw.

    Returns:
        A `ParallelText` with the name of `text`: its pairs in order, as often as they are repeated,
        then the drawn ones.

    Raises:
        CorpusError: If one of the texts is empty.
        TypeError: If `share` or `seed` has the wrong type.
        ValueError: If `share` or `seed` is out of bounds, or `share` needs more than 1,000 times
            `mixed_in`, or more than 100,000,000 pairs from it.

    Example:
    >>> news = ParallelText(["a", "b"], ["A", "B"], name="news")
    >>> talks = ParallelText([*"cdefgh"], [*"CDEFGH"], name="talks")
    >>> "".join(sorted(mix_texts(news, talks, share=0.6).sources))
    'aabbcdefgh'
    """
    share = check_number("share", share, 1e-6, _MAX_SHARE)
    rng = np.random.default_rng(check_integer("seed", seed, 0, _MAX_SEED))
    for each in (text, mixed_in):
        if not len(each):
            raise CorpusError(f"{each.name}: no pairs to mix with others.")
    per_pair = share / (1 - share)
    repeats = int(np.clip(round(len(mixed_in) / (per_pair * len(text))), 1, _MAX_REPEATS))
    count = max(1, round(repeats * len(text) * per_pair))
    rounds = -(-count // len(mixed_in))
    if count > (most := min(_MAX_ROUNDS * len(mixed_in), _MAX_DRAWN)):
        raise ValueError(
            f"`share`={share} (in a recipe `corpus.mix.share`) needs {count:,} pairs of "
            f"{mixed_in.name}, which has {len(mixed_in):,}; repeated, they give at most {most:,}. "
            f"Make it {np.floor(1e4 * most / (most + repeats * len(text))) / 1e4:g} or less, or "
            "give more text to mix in."
        )
    drawn = np.concatenate([rng.permutation(len(mixed_in)) for _ in range(rounds)])[:count]
    logger.info(
        "%s: %s pairs, each %s times, and %s of %s pairs of %s.",
        text.name,
        f"{len(text):,}",
        repeats,
        f"{count:,}",
        f"{len(mixed_in):,}",
        mixed_in.name,
    )
    sides = (text.sources, mixed_in.sources), (text.targets, mixed_in.targets)
    return ParallelText(
        *([*new * repeats, *(old[i] for i in drawn)] for new, old in sides), name=text.name
    )
