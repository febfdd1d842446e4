"""A baseline that uses only the number of words: all constituents end with the sentence."""

from collections import Counter

from aiayn_keras.parsing import Tree
from aiayn_keras.parsing.scores import score_trees
from aiayn_keras.parsing.trees import LEAF

SAMPLE = 1000
"""Number of evenly spaced training trees on which the label is chosen."""


class RightBranching:
    """Trees `(ROOT w1 (LABEL w2 (LABEL w3 w4)))`; both labels are chosen on training trees.

    The root's label is the most frequent root; the other is the one with the best F1.

    Args:
        trees: List of `Tree`s with parts of speech.
    """

    def __init__(self, trees):
        self.root = Counter(tree.label for tree in trees).most_common(1)[0][0]
        sample = trees[:: -(-len(trees) // SAMPLE)]
        labels = sorted({label for tree in sample for label in _labels(tree)})
        scores = {label: self._f1(label, sample) for label in labels}
        self.label = max(scores, key=scores.get)

    def _f1(self, label, trees):
        self.label = label
        return score_trees([self.parse(tree.words()) for tree in trees], trees).f1

    def parse(self, words):
        """The `Tree` of a sentence, a list of at least one word."""
        *leaves, last = (Tree(LEAF, (word,)) for word in words)
        rest = (last,)
        for leaf in reversed(leaves):
            rest = (leaf, *rest) if len(rest) == 1 else (leaf, Tree(self.label, rest))
        return Tree(self.root, rest)


def _labels(tree):
    if not tree.is_word:
        yield tree.label
        for child in tree.children:
            yield from _labels(child)
