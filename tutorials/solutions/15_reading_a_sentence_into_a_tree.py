# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Solutions to 15 · Reading a sentence into a tree
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/15_reading_a_sentence_into_a_tree.ipynb)
#
# These are answers to the exercises of [15 · Reading a sentence into a
# tree](../15_reading_a_sentence_into_a_tree.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import random

import numpy as np

from aiayn_keras.parsing import Tree, parse_linearized
from aiayn_keras.parsing.scores import score_trees

# %% [markdown]
# A small part of the lesson's grammar is enough here, with one word for each part of speech:

# %%
RULES = {
    "S": ["NP VP ."],
    "NP": ["DT NN", "DT JJ NN", "NP-short PP"],
    "NP-short": ["DT NN"],
    "PP": ["IN NP"],
    "VP": ["VBD", "VBD NP"],
}
WORDS = {"DT": "the", "NN": "cat", "JJ": "old", "IN": "of", "VBD": "saw", ".": "."}


# %%
def grow(symbol, chance):
    """A random tree with this symbol at its root."""
    label = symbol.partition("-")[0]
    if symbol in WORDS:
        return Tree(label, (WORDS[symbol],))
    parts = chance.choice(RULES[symbol]).split()
    return Tree(label, tuple(grow(part, chance) for part in parts))


# %% [markdown]
# **1.** A parser that knows nothing gives every sentence the *flat* tree: one S with all the words
# in it. What are its precision, recall and F1 for *the old cat slept .*, counted by hand? Which of
# the three stays the same for every sentence?

# %%
noun_phrase = Tree("NP", (Tree("DT", ("the",)), Tree("JJ", ("old",)), Tree("NN", ("cat",))))
verb_phrase = Tree("VP", (Tree("VBD", ("slept",)),))
example = Tree("S", (noun_phrase, verb_phrase, Tree(".", (".",))))
flat = Tree("S", tuple(example.leaves()))
print(flat)
score = score_trees([flat], [example])
print(f"precision {score.precision:.0f}, recall {score.recall:.1f}, F1 {score.f1:.0f}")
np.testing.assert_allclose([score.precision, score.recall, score.f1], [100, 100 / 3, 50])

# %% [markdown]
# The flat tree has one constituent, S, and it is right: precision 1/1. The reference has three, S,
# NP and VP, and two of them are missed: recall 1/3. F1 is 2 · 1 · ⅓ / (1 + ⅓) = 1/2. Now 20
# sentences:

# %%
chance = random.Random(1)
references = [grow("S", chance) for _ in range(20)]
flat_trees = [Tree("S", tuple(tree.leaves())) for tree in references]
for tree, reference in zip(flat_trees, references, strict=True):
    score = score_trees([tree], [reference])
    assert score.precision == 100
    assert score.recall <= 100 / 3
score = score_trees(flat_trees, references)
print(f"precision {score.precision:.0f}, recall {score.recall:.1f}, F1 {score.f1:.1f}")

# %% [markdown]
# Precision stays the same, because the one constituent is always right. The more constituents a
# sentence has, the more are missed. By precision alone this parser would be perfect, which is why
# F1 combines both.

# %% [markdown]
# **2.** Write at random: always take a random token from `may_follow`. Is every finished line a
# tree of its sentence? How long does it get, and what happens if opening brackets are taken as
# often as leaves?

# %%
LEAVES, LABELS = ["DT", "NN", "VBD"], ["S", "NP", "VP"]


# %%
def may_follow(written, num_words):
    """The lesson's rule, with lists in place of sets."""
    stack = []
    for token in written:
        stack = stack[:-1] if token[0] == ")" else stack + [token[1:]] * (token[0] == "(")
    words_left = num_words - sum(token[0] not in "()" for token in written)
    opening = [f"({label}" for label in LABELS] if words_left else []
    leaves = LEAVES if words_left and stack else []
    can_close = stack and written[-1][0] != "(" and (len(stack) > 1 or not words_left)
    return opening, leaves, [f"){stack[-1]}"] if can_close else []


# %% [markdown]
# This function writes at random. It takes leaves and opening brackets with given weights, and stops
# at a limit:


# %%
def write_by_chance(num_words, opening_weight, chance, limit=300):
    written = []
    while len(written) < limit:
        kinds = may_follow(written, num_words)
        if written and not any(kinds):
            return written
        weights = np.array([opening_weight, 1, 1]) * [bool(kind) for kind in kinds]
        kind = chance.choices(kinds, weights / weights.sum())[0]
        written.append(chance.choice(kind))
    return None


# %% [markdown]
# We write 200 lines for each weight. `parse_linearized` fails for a line that is not a tree of its
# sentence.

# %%
words, ended = ["a"] * 8, {}
for weight in (0.2, 1, 3, 10):
    lines = [write_by_chance(len(words), weight, chance) for _ in range(200)]
    whole = [line for line in lines if line]
    for line in whole:
        assert len(parse_linearized(" ".join(line), words).words()) == 8
    ended[weight] = len(whole)
    lengths = f"{np.mean([len(line) for line in whole]):.0f} tokens" if whole else "none"
    print(f"opening weighs {weight:4}: {len(whole)} of 200 end, of {lengths} on average")
assert ended[0.2] == 200

# %% [markdown]
# Every finished line is a tree. The more often brackets are opened, the longer the line gets,
# because nothing in the rule limits the depth. So the package's constraint also counts how many
# tokens are left until the limit, and opens no bracket that could then no longer be closed.
# Otherwise a search could end in the middle of a tree.
