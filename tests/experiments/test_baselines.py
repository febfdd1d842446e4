"""The baselines of parsing."""

import itertools
import math
import random

import pytest

from aiayn_keras.parsing import Tree
from experiments.parsing.pcfg import Pcfg
from experiments.parsing.right_branching import RightBranching


def tree(text):
    """A tree of brackets such as `(S (NP a/NN) b/VB)`."""
    stack = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
        elif "/" in token:
            word, tag = token.split("/")
            stack[-1].append(Tree(tag, (word,)))
        else:
            stack[-1].append(token)
    return stack[0][0]


# "p" attaches to the verb twice as often as to the noun.
TREES = [
    tree("(S (NP i/N) (VP see/V (NP you/N) (PP with/P (NP it/N))))"),
    tree("(S (NP i/N) (VP see/V (NP it/N) (PP with/P (NP you/N))))"),
    tree("(S (NP i/N) (VP see/V (NP (NP you/N) (PP with/P (NP it/N)))))"),
    tree("(S (NP you/N) (VP see/V (NP it/N)))"),
    tree("(S (NP zap/N) (VP see/V (NP it/N)))"),
]


def test_the_grammar_attaches_as_its_trees_most_often_do():
    found, log_prob = Pcfg(TREES).parse(["you", "see", "it", "with", "you"])
    assert str(found) == ("(S (NP (N you)) (VP (V see) (NP (N it)) (PP (P with) (NP (N you)))))")
    nouns = [word for each in TREES for word in each.words() if word in ("i", "you", "it", "zap")]
    # Of the five VP, two go on with more than an object; of the five objects four are a noun.
    rules = math.log(2 / 5) + math.log(4 / 5)
    words = sum(math.log(nouns.count(word) / len(nouns)) for word in ("you", "it", "you"))
    assert log_prob == pytest.approx(rules + words, abs=1e-4)


def test_a_new_word_is_taken_by_its_shape():
    found, _ = Pcfg(TREES).parse(["you", "see", "zzz"])
    assert found.words() == ["you", "see", "zzz"]
    assert [leaf.label for leaf in found.leaves()] == ["N", "V", "N"]


def test_no_tag_gives_a_new_word_more_than_the_share_of_its_rare_words():
    grammar = Pcfg([tree("(S (NP zap/N) at/P)"), tree("(S (NP longest/N) at/P)")])
    _, log_prob = grammar.parse(["new", "at"])
    assert log_prob == pytest.approx(math.log(1 / 2), abs=1e-4)  # one N of two is a short word


def test_a_sentence_outside_the_grammar_has_no_tree():
    assert Pcfg(TREES).parse(["see", "see"]) == (None, -math.inf)


def random_tree(rng, depth=0):
    if depth == 3 or rng.random() < 0.3:
        return Tree(rng.choice("NV"), (rng.choice("ab"),))
    children = tuple(random_tree(rng, depth + 1) for _ in range(rng.choice((1, 2, 2, 3, 4))))
    return Tree(rng.choice("XYZ"), children)


def log_prob_of(grammar, found):
    """Log-probability of a tree by its rules alone, independent of the chart."""
    from experiments.parsing import pcfg

    found = pcfg._with_parents(found)
    number = {symbol: index for index, symbol in enumerate(grammar.symbols)}
    rules = {}
    for columns in (grammar._unary, grammar._binary):
        *symbols, log_probs = columns
        keys = zip(*(column.tolist() for column in symbols), strict=True)
        rules |= dict(zip(keys, log_probs, strict=True))
    total = float(grammar._roots[number[found.label]])
    for parent, children in pcfg._rules(found):
        total += rules[tuple(number[symbol] for symbol in (parent, *children))]
    for leaf in found.leaves():
        total += dict(grammar._tags(leaf.children[0]))[number[leaf.label]]
    return total


def test_no_training_tree_is_more_probable_than_the_tree_that_is_found():
    rng = random.Random(0)
    trees = [each for each in (random_tree(rng) for _ in range(200)) if not each.is_word]
    grammar = Pcfg(trees)
    best = {}
    for each in trees:
        words = tuple(each.words())
        best[words] = max(best.get(words, -math.inf), log_prob_of(grammar, each))
    assert len(best) > 50
    for words, log_prob in itertools.islice(best.items(), 60):
        found, score = grammar.parse(list(words))
        assert score >= log_prob - 1e-3
        assert score == pytest.approx(log_prob_of(grammar, found), abs=1e-3)
        assert tuple(found.words()) == words


def test_right_branching_trees_end_with_the_sentence():
    parser = RightBranching(TREES)
    assert (parser.root, parser.label) == ("S", "VP")
    assert str(parser.parse(["a", "b", "c", "d"])) == ("(S (XX a) (VP (XX b) (VP (XX c) (XX d))))")
    assert str(parser.parse(["a"])) == "(S (XX a))"
