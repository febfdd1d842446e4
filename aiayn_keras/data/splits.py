"""Splits by a hash of the sentences: the same on every machine, without a seed."""

import hashlib

SPLITS = ("train", "validation", "test")


def split_of(sentence: str, held_out: float) -> str:
    """The split a sentence belongs to, by BLAKE2b of its letters and digits.

    Case, spaces and punctuation do not count: "Hello!" and "hello" fall into the same split.

    Args:
        sentence: The sentence.
        held_out: Share of sentences for validation, and again for test, in [0, 0.5].

    Returns:
        `"train"`, `"validation"` or `"test"`.
    """
    digest = hashlib.blake2b(letters_of(sentence).encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < held_out:
        return "validation"
    return "test" if place < 2 * held_out else "train"


def splits_by_component(pairs, held_out: float) -> list[str]:
    """The split of every pair, such that no two splits share a sentence on either side.

    Pairs are connected if they have the same source or the same target, by letters and digits. The
    connected components of this graph stay whole. The first source of a component, in the order of
    its letters, decides its split: pairs that are not connected to a component do not move it.

    Args:
        pairs: Iterable of tuples of source and target sentence.
        held_out: Share of components for validation, and again for test, in [0, 0.5].

    Returns:
        `"train"`, `"validation"` or `"test"` for each pair, in order.

    Example:
    >>> splits_by_component([("Go!", "Ve."), ("go", "Vete."), ("Leave!", "Vete")], 0.25)
    ['validation', 'validation', 'validation']
    """
    # Union-find. A node is `(side, letters)`; the root of a tree is its smallest node, a source.
    parents = {}

    def root_of(node):
        while parents.setdefault(node, node) != node:
            parents[node] = node = parents[parents[node]]
        return node

    sources = []
    for source, target in pairs:
        sources.append((0, letters_of(source)))
        first, second = sorted((root_of(sources[-1]), root_of((1, letters_of(target)))))
        parents[second] = first
    return [split_of(root_of(source)[1], held_out) for source in sources]


def letters_of(sentence: str) -> str:
    """The letters and digits of a sentence, in lower case."""
    return "".join(filter(str.isalnum, sentence.casefold()))
