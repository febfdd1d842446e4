"""Labelled bracketing scores of constituency trees, by the rules of evalb with COLLINS.prm.

Evalb (https://nlp.cs.nyu.edu/evalb) compares constituents by label and words: punctuation is left
out, with constituents that hold nothing else; the root `TOP` is no constituent; `PRT` counts as
`ADVP`. A constituent that is in a tree twice, one inside the other, counts twice.
"""

from collections import Counter
from dataclasses import dataclass

from aiayn_keras.common.checks import check_sides
from aiayn_keras.parsing.trees import (
    ROOT_LABELS,
    MalformedTreeError,
    parse_linearized,
    repair_linearized,
)

PUNCTUATION_TAGS = frozenset([",", ":", "``", "''", "."])
EQUAL_LABELS = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores:
    """Figures of trees against reference trees, in percent but for the counts.

    Attributes:
        f1: Harmonic mean of precision and recall of labelled constituents.
        precision: Share of the constituents that are in the reference.
        recall: Share of the reference's constituents that are found.
        exact_match: Share of the sentences whose constituents are all those of the reference.
        well_formed: Share of the sentences that have a tree.
        sentences: Number of sentences.
        reference_brackets: Number of constituents of the references.
    """

    f1: float
    precision: float
    recall: float
    exact_match: float
    well_formed: float
    sentences: int
    reference_brackets: int


def brackets(tree, is_punctuation=None):
    """Counts the constituents of a tree that are compared.

    Args:
        tree: A `Tree`.
        is_punctuation: List of a boolean for each word, for trees that have no parts of speech; by
            default those of the tree's own.

    Returns:
        `Counter` of tuples `(label, start, end)` in words without punctuation.
    """
    found = Counter()
    if is_punctuation is None:
        is_punctuation = punctuation_of(tree)
    places = iter(is_punctuation)

    def measure(node, start):
        if node.is_word:
            return start if next(places) else start + 1
        end = start
        for child in node.children:
            end = measure(child, end)
        if end > start and node.label not in ROOT_LABELS:
            found[EQUAL_LABELS.get(node.label, node.label), start, end] += 1
        return end

    measure(tree, 0)
    return found


def punctuation_of(tree):
    """List of a boolean for each word of a tree: whether it is punctuation by its part of speech.

    Brackets, hyphens and symbols have parts of speech of their own and are words.
    """
    return [leaf.label in PUNCTUATION_TAGS for leaf in tree.leaves()]


def score_trees(trees, references):
    """Labelled bracketing scores of trees.

    Args:
        trees: List of `Tree`s of the references' words, with any parts of speech; `None` for a
            sentence without a tree, which then has no constituent: its reference's are not found.
            (Evalb leaves such sentences out, which would reward a model that fails on the hard
            ones.)
        references: List of `Tree`s with their parts of speech, as many and at least one.

    Returns:
        `BracketScores`.

    Raises:
        ValueError: For lists of different lengths, empty ones, or a tree of other words than its
            reference.
    """
    check_sides(trees, references)
    matched = found = wanted = exact = 0
    for number, (tree, reference) in enumerate(zip(trees, references, strict=True)):
        reference_brackets = brackets(reference)
        wanted += reference_brackets.total()
        if tree is None:
            continue
        if tree.words() != reference.words():
            raise ValueError(
                f"`trees[{number}]` must have the words of its reference, "
                f"{' '.join(reference.words())!r:.60}. Received: {' '.join(tree.words())!r:.60}."
            )
        tree_brackets = brackets(tree, punctuation_of(reference))
        matched += (tree_brackets & reference_brackets).total()
        found += tree_brackets.total()
        exact += tree_brackets == reference_brackets
    sentences = len(references)
    return BracketScores(
        # Of two empty sides the ratio is 0, as in evalb.
        f1=200 * matched / max(1, found + wanted),
        precision=100 * matched / max(1, found),
        recall=100 * matched / max(1, wanted),
        exact_match=100 * exact / sentences,
        well_formed=100 * sum(tree is not None for tree in trees) / sentences,
        sentences=sentences,
        reference_brackets=wanted,
    )


def read_outputs(texts, references, repair=False):
    """Trees of a model's outputs for the sentences of reference trees.

    Args:
        texts: List of linearized trees.
        references: List of `Tree`s, one for a text.
        repair: Whether lines that are no tree are read by `repair_linearized`.

    Returns:
        List of `Tree`s, `None` for a line that is no tree of its sentence.
    """
    trees = []
    for text, reference in zip(texts, references, strict=True):
        words = reference.words()
        try:
            tree = parse_linearized(text, words)
        except MalformedTreeError:
            tree = repair_linearized(text, words) if repair else None
        trees.append(tree)
    return trees
