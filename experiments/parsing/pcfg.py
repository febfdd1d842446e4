"""A baseline that needs no download: a probabilistic context-free grammar from the training trees.

Rules with their relative frequencies, as in chapter 18 of Jurafsky and Martin's Speech and Language
Processing (https://web.stanford.edu/~jurafsky/slp3). As in Klein and Manning 2003
(https://aclanthology.org/P03-1054), a constituent knows its parent, and long rules are split into
pairs that know the last two sisters. The search for the best tree is exact (the algorithm of
Cocke, Kasami and Younger).
"""

import re
from collections import Counter, defaultdict

import numpy as np

from aiayn_keras.parsing import Tree

SISTERS = 2
"""Sisters that the rest of a long rule remembers."""
RARE = 1
"""Maximum number of occurrences of words that are also learned as shapes, for unseen words."""
MAX_ROUNDS = 6
"""Maximum length of a chain of constituents with one child."""
NEVER = np.float32(-1e30)


class Pcfg:
    """A grammar read off trees.

    Args:
        trees: List of `Tree`s with parts of speech.
    """

    def __init__(self, trees):
        roots, unary, binary = Counter(), Counter(), Counter()
        trees = [_with_parents(tree) for tree in trees]
        words = Counter(word for tree in trees for word in tree.words())
        lexicon, shapes = Counter(), Counter()
        for tree in trees:
            roots[tree.label] += 1
            for parent, children in _rules(tree):
                (unary if len(children) == 1 else binary)[parent, *children] += 1
            for leaf in tree.leaves():
                word = leaf.children[0]
                lexicon[leaf.label, word] += 1
                if words[word] <= RARE:
                    shapes[leaf.label, _shape(word)] += 1
                    shapes[leaf.label, None] += 1  # of any shape; short words have the shape ""
        totals = Counter()
        for (parent, *_), count in (*unary.items(), *binary.items()):
            totals[parent] += count
        tags = Counter()
        for (tag, _), count in lexicon.items():
            tags[tag] += count
        self.symbols = sorted({*totals, *tags}, key=str)
        number = {symbol: index for index, symbol in enumerate(self.symbols)}
        self._lexicon, self._shapes = (
            _log_probs_of_words(counts, tags, number) for counts in (lexicon, shapes)
        )
        self._unary = _arrays(unary, totals, number)
        self._binary = _arrays(binary, totals, number)
        self._roots = np.full(len(self.symbols), NEVER)
        for label, count in roots.items():
            self._roots[number[label]] = np.log(count / len(trees))

    @property
    def num_rules(self):
        """Number of rules other than words."""
        return len(self._unary[0]) + len(self._binary[0])

    def parse(self, words):
        """The most probable `Tree` of a sentence and its log-probability, or `None`.

        Args:
            words: List of at least one word.

        Returns:
            A tuple of the `Tree` and nats, or `(None, -inf)` if the grammar has no tree.
        """
        length, size = len(words), len(self.symbols)
        chart = np.full((length, length + 1, size), NEVER)
        for place, word in enumerate(words):
            for tag, log_prob in self._tags(word):
                chart[place, place + 1, tag] = log_prob
            self._close(chart[place, place + 1])
        for width in range(2, length + 1):
            for start in range(length - width + 1):
                cell = chart[start, start + width]
                self._join(chart, start, start + width, cell)
                self._close(cell)
        scores = chart[0, length] + self._roots
        root = int(scores.argmax())
        if scores[root] < NEVER / 2:
            return None, -np.inf
        return _without_parents(self._read(chart, words, 0, length, root)[0]), float(scores[root])

    def _tags(self, word):
        return (
            self._lexicon.get(word) or self._shapes.get(_shape(word)) or self._shapes.get(None, [])
        )

    def _pairs(self, chart, start, end):
        """Log-probabilities `(splits, rules)` of all pairs below a cell."""
        _, lefts, rights, log_probs = self._binary
        left, right = chart[start, start + 1 : end], chart[start + 1 : end, end]
        # --> the rules whose children both are somewhere below
        alive = (left.max(axis=0)[lefts] > NEVER / 2) & (right.max(axis=0)[rights] > NEVER / 2)
        rules = np.flatnonzero(alive)
        return rules, left[:, lefts[rules]] + right[:, rights[rules]] + log_probs[rules]

    def _join(self, chart, start, end, cell):
        rules, scores = self._pairs(chart, start, end)
        if len(rules):
            np.maximum.at(cell, self._binary[0][rules], scores.max(axis=0))

    def _close(self, cell):
        """Adds constituents with one child to a cell, best first."""
        parents, children, log_probs = self._unary
        for _ in range(MAX_ROUNDS):
            before = cell.copy()
            np.maximum.at(cell, parents, before[children] + log_probs)
            if np.array_equal(before, cell):
                return

    def _read(self, chart, words, start, end, symbol):
        """Trees that a symbol stands for: one, or several of the rest of a long rule."""
        wanted = chart[start, end, symbol]
        label = self.symbols[symbol]
        found = self._read_word(words, start, end, symbol, wanted)
        if found is None:
            found = self._read_pair(chart, words, start, end, symbol, wanted)
        if found is None:
            parents, children, log_probs = self._unary
            rules = np.flatnonzero(parents == symbol)
            scores = chart[start, end, children[rules]] + log_probs[rules]
            best = int(children[rules[np.abs(scores - wanted).argmin()]])
            found = self._read(chart, words, start, end, best)
        elif isinstance(found, Tree):
            return (found,)
        return tuple(found) if isinstance(label, tuple) else (Tree(label, tuple(found)),)

    def _read_word(self, words, start, end, symbol, wanted):
        if end - start > 1:
            return None
        for tag, log_prob in self._tags(words[start]):
            if tag == symbol and np.float32(log_prob) == wanted:
                return Tree(self.symbols[symbol], (words[start],))
        return None

    def _read_pair(self, chart, words, start, end, symbol, wanted):
        if end - start == 1:
            return None
        rules, scores = self._pairs(chart, start, end)
        own = np.flatnonzero(self._binary[0][rules] == symbol)
        if not len(own):
            return None
        split, column = np.unravel_index(scores[:, own].argmax(), (len(scores), len(own)))
        if scores[split, own[column]] != wanted:
            return None
        _, left, right, _ = (array[rules[own[column]]] for array in self._binary)
        middle = start + 1 + int(split)
        return (
            *self._read(chart, words, start, middle, int(left)),
            *self._read(chart, words, middle, end, int(right)),
        )


def _with_parents(tree, parent=""):
    """Appends the parent's label to every constituent's own."""
    if tree.is_word:
        return tree
    children = tuple(_with_parents(child, tree.label) for child in tree.children)
    return Tree(f"{tree.label}^{parent}", children)


def _without_parents(tree):
    if tree.is_word:
        return tree
    return Tree(tree.label.partition("^")[0], tuple(map(_without_parents, tree.children)))


def _rules(tree):
    """Tuples of a parent and a tuple of its one or two children, of a tree's constituents.

    The rest of a long rule is a tuple of the parent's label and the last sisters before it.
    """
    if tree.is_word:
        return
    labels = [child.label for child in tree.children]
    parent = tree.label
    for place in range(len(labels) - 2):
        rest = (tree.label, *labels[max(0, place + 1 - SISTERS) : place + 1])
        yield parent, (labels[place], rest)
        parent = rest
    yield parent, tuple(labels[-2:])
    for child in tree.children:
        yield from _rules(child)


def _arrays(counts, totals, number):
    """Columns of rules: numbers of the parent and the children, and log-probabilities."""
    rules = sorted(counts, key=lambda rule: [number[symbol] for symbol in rule])
    columns = [np.array([number[rule[i]] for rule in rules]) for i in range(len(rules[0]))]
    log_probs = np.log([counts[rule] / totals[rule[0]] for rule in rules])
    return (*columns, log_probs.astype("float32"))


def _log_probs_of_words(counts, tags, number):
    """Dictionary from a word to its tags, tuples of number and log-probability."""
    found = defaultdict(list)
    for (tag, word), count in counts.items():
        found[word].append((number[tag], np.log(count / tags[tag])))
    return dict(found)


def _shape(word):
    """The shape of a word: its ending, and capitals, digits and hyphens in it."""
    marks = [mark for mark, pattern in _MARKS.items() if re.search(pattern, word)]
    return "".join([*marks, word[-3:].lower() if word[-1:].isalpha() and len(word) > 4 else ""])


_MARKS = {"C": r"^[A-Z]", "I": r".[A-Z]", "D": r"\d", "-": "-", "Σ": r"^\W+$"}
