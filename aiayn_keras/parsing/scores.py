"""Labelled bracketing scores of constituency trees, computed like evalb with COLLINS.prm.

Evalb (https://nlp.cs.nyu.edu/evalb) compares constituents by label and words. It ignores
punctuation, constituents that contain nothing else, and the root `TOP`, and treats `PRT` as `ADVP`.
A constituent that occurs twice in a tree, one inside the other, counts twice.
"""

from collections import Counter
from dataclasses import dataclass

from aiayn_keras.parsing.trees import (
    ROOT_LABELS,
    MalformedTreeError,
    parse_linearized,
    repair_linearized,
)
from aiayn_keras_light.checks import check_sides

PUNCTUATION_TAGS = frozenset([",", ":", "``", "''", "."])
EQUAL_LABELS = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores:
    """Scores of trees compared with reference trees; all but the counts are percentages.

    Attributes:
        f1: Harmonic mean of precision and recall of labelled constituents.
        precision: Percentage of constituents that occur in the reference.
        recall: Percentage of reference constituents that were found.
        exact_match: Percentage of sentences with exactly the constituents of the reference.
        well_formed: Percentage of sentences that have a tree.
        sentences: Number of sentences.
        reference_brackets: Number of constituents in the references.
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
        is_punctuation: List with a boolean for each word; the default uses the parts of speech in
            the tree.

    Returns:
        `Counter` of tuples `(label, start, end)`, with positions in words, punctuation excluded.
    """
    found = Counter()
    if is_punctuation is None:
        is_punctuation = _punctuation_of(tree)
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


def _punctuation_of(tree):
    """Returns a boolean for each word: whether its part of speech is punctuation.

    Brackets, hyphens and symbols have other parts of speech and count as words.
    """
    return [leaf.label in PUNCTUATION_TAGS for leaf in tree.leaves()]


def score_trees(trees, references):
    """Computes labelled bracketing scores.

    Args:
        trees: List of `Tree`s with the same words as the references and any parts of speech, or
            `None` for a sentence without a tree. In such a sentence, no constituent of the
            reference is found. (Evalb skips these sentences, which would reward a model for failing
            on the difficult ones.)
        references: Non-empty list of `Tree`s with parts of speech, one for each tree.

    Returns:
        `BracketScores`.

    Raises:
        ValueError: If the lists are empty or differ in length, or a tree and its reference have
            different words.
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
                f"`trees[{number}]` must have the same words as its reference, "
                f"{' '.join(reference.words())!r:.60}. Received: {' '.join(tree.words())!r:.60}."
            )
        tree_brackets = brackets(tree, _punctuation_of(reference))
        matched += (tree_brackets & reference_brackets).total()
        found += tree_brackets.total()
        exact += tree_brackets == reference_brackets
    sentences = len(references)
    return BracketScores(
        # If both sides are empty, the ratio is 0, as in evalb.
        f1=200 * matched / max(1, found + wanted),
        precision=100 * matched / max(1, found),
        recall=100 * matched / max(1, wanted),
        exact_match=100 * exact / sentences,
        well_formed=100 * sum(tree is not None for tree in trees) / sentences,
        sentences=sentences,
        reference_brackets=wanted,
    )


def read_outputs(texts, references, repair=False):
    """Parses a model's outputs for the sentences of reference trees.

    Args:
        texts: List of linearized trees.
        references: List of `Tree`s, one for each text.
        repair: Whether malformed texts are parsed by `repair_linearized`.

    Returns:
        List of `Tree`s, with `None` for texts that are malformed and not repaired.
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
