"""Split a corpus by a hash of the source sentence: the same on every machine, without a seed."""

import hashlib

SPLITS = ("train", "validation", "test")


def split_of(source: str, held_out: float) -> str:
    """The split a source sentence belongs to, by BLAKE2b of its letters and digits.

    Case, spaces and punctuation do not count: "Hello!" and "hello" fall into the same split, and
    so do all translations of one sentence.

    Args:
        source: The source sentence.
        held_out: Share of sentences for validation, and again for test, in [0, 0.5].

    Returns:
        `"train"`, `"validation"` or `"test"`.
    """
    letters = "".join(filter(str.isalnum, source.casefold()))
    digest = hashlib.blake2b(letters.encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < held_out:
        return "validation"
    return "test" if place < 2 * held_out else "train"
