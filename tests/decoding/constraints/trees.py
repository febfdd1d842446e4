"""Trees as strings: a recognizer that knows nothing of stacks, and all small trees there are."""

import functools
import itertools
import re

import numpy as np
from keras import ops

from aiayn_keras.decoding.constraints.balanced_brackets import BracketRules, bracket_vocabulary
from tests.decoding.random_model import END, START

PIECES = ["<pad>", "<s>", "</s>", "(A", ")A", "▁(B", "▁)B", "▁XX"]
IS_TEXT = [False] * 3 + [True] * 5
SYMBOLS = range(3, len(PIECES))

CONSTITUENT = re.compile(r"\((\w+)(?: XX| tree)+ \)\1(?!\w)")
"""One whose children are leaves, or trees that have been replaced by a word."""


def is_tree(text):
    """Returns whether a string is one tree, found by replacing constituents from the leaves up."""
    before = None
    while text != before:
        before, text = text, CONSTITUENT.sub("tree", text)
    return text == "tree"


def depth_of(text):
    """Most brackets of a string that are open at once."""
    steps = [(word[0] == "(") - (word[0] == ")") for word in text.split()]
    return max(itertools.accumulate(steps), default=0)


def as_text(ids):
    """The string between start and end of a tuple of tokens."""
    return " ".join(PIECES[i].removeprefix("▁") for i in ids[1:-1])


@functools.cache
def all_trees(max_length, max_depth, num_words=None):
    """Set of all hypotheses that are trees of at most `max_length` pieces, as tuples of tokens."""
    found = set()
    for length in range(max_length + 1):
        for pieces in itertools.product(SYMBOLS, repeat=length):
            ids = (START, *pieces, END)
            text = as_text(ids)
            if num_words in (None, text.split().count("XX")) and depth_of(text) <= max_depth:
                found |= {ids} if is_tree(text) else set()
    return found


def prefixes_of(hypotheses):
    """Set of all their beginnings, themselves included."""
    return {ids[:end] for ids in hypotheses for end in range(1, len(ids) + 1)}


def bracket_rules(num_beams, max_depth, nums_words=None):
    """Arguments of a search for trees over sentences of so many words, or of any number."""
    vocabulary = bracket_vocabulary(PIECES, IS_TEXT)
    is_word = None if nums_words is None else vocabulary.begins_word
    rules = BracketRules(vocabulary, END, is_word, max_depth)
    word, piece = PIECES.index("▁XX"), PIECES.index("(A")  # of which only one begins a word
    nums_words = nums_words or [0, 0, 0]
    sources = np.full((len(nums_words), max(nums_words) + 2), word, "int32")
    sources[:, 0] = piece
    mask = np.arange(sources.shape[1]) < np.array(nums_words)[:, None] + 1
    sources, mask = (ops.convert_to_tensor(x.astype("int32")) for x in (sources, mask))
    return {"rules": rules, "rule_state": rules.initial_state(sources, mask, num_beams)}
