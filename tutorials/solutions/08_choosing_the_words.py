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
# # Solutions to 08 · Choosing the words
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/08_choosing_the_words.ipynb)
#
# These are answers to the exercises of [08 · Choosing the words](../08_choosing_the_words.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
from itertools import pairwise, product

import keras
import numpy as np

import aiayn_keras as ak

# %% [markdown]
# The table, and the package's search in it, are those of the lesson.

# %%
PAD, START, END = 0, 1, 2
words = ["<pad>", "<s>", "</s>", "it", "the", "rain", "rains", "falls", "now"]
follows = {
    "<s>": {"the": 0.45, "it": 0.35, "rain": 0.20},
    "the": {"rain": 0.55, "falls": 0.25, "now": 0.20},
    "it": {"rains": 0.90, "falls": 0.10},
    "rain": {"falls": 0.70, "</s>": 0.30},
    "rains": {"</s>": 0.53, "now": 0.47},
    "falls": {"</s>": 0.80, "now": 0.20},
    "now": {"</s>": 1.00},
}

# %%
table = np.full((len(words), len(words)), 1e-9)
for first, row in follows.items():
    for second, probability in row.items():
        table[words.index(first), words.index(second)] = probability
log_table = np.log(table).astype("float32")
print("(V, V) =", log_table.shape)


# %%
def next_token(token_ids, cache, index):
    last = keras.ops.take(token_ids, index - 1, axis=1)
    return keras.ops.take(log_table, last, axis=0), None, cache


def search(W, alpha, max_words=4):
    options = {"num_beams": W, "length_penalty": alpha, "num_return_sequences": W}
    limits = {"min_length": 0, "max_length": max_words, "forbidden_token_ids": (PAD, START)}
    ids, scores = ak.search_tokens(next_token, [START], END, **options, **limits)
    return np.array(ids)[0], np.array(scores)[0]


# %% [markdown]
# **1.** From what α on does *it rains now* beat *it rains*? Solve for α with the two
# log-probabilities, log 0.16695 for *it rains* and log 0.14805 for *it rains now*, then let
# `package_search` confirm it on both sides.

# %% [markdown]
# The two are equal where short / l₁^α = long / l₂^α, that is
# α = log(long / short) / log(l₂ / l₁), with l = (5 + |y|) / 6.

# %%
short, long = np.log(0.16695), np.log(0.14805)
alpha = np.log(long / short) / np.log((5 + 4) / (5 + 3))  # three and four tokens with the end
for near in (alpha - 0.01, alpha + 0.01):
    ids, _ = search(2, near)
    print(f"α = {near:.3f}: {' '.join(words[i] for i in ids[0] if i > END)}")
    assert ("now" in [words[i] for i in ids[0]]) == (near > alpha)

# %% [markdown]
# **2.** How wide must a beam be to be certain of finding the best sentence in any table? Show that
# with a beam that wide the package's whole ranking is that of all sentences, for sentences of at
# most two pieces.

# %% [markdown]
# A beam that is as wide as the number of sentences is certainly enough, because then nothing is
# ever cut. It is a little more than necessary. With at most two words no step has more than 6 · 7 =
# 42 candidates. With α = 0 at most 36 unfinished candidates can be more probable than the best
# sentence, so 37 beams always find it; with 36 beams, there is a table on which the search fails.
# Here we take all 43, so that the search also returns all sentences.

# %%
sentences = [(START, *ids, END) for n in range(3) for ids in product(range(3, 9), repeat=n)]
totals = {ids: sum(log_table[a, b] for a, b in pairwise(ids)) for ids in sentences}
ranking = sorted(sentences, key=totals.get, reverse=True)
W = len(ranking)
assert W == 1 + 6 + 6**2
ids, scores = search(W, alpha=0.0, max_words=2)
print(f"W = {W}; best: {' '.join(words[i] for i in ids[0] if i > END)} {scores[0]:.3f}")
np.testing.assert_allclose(scores, [totals[sentence] for sentence in ranking], rtol=1e-4)
assert tuple(ids[0][: len(ranking[0])]) == ranking[0]
