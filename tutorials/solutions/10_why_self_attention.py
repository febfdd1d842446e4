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
# # Solutions to 10 · Why self-attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/10_why_self_attention.ipynb)
#
# These are answers to the exercises of [10 · Why self-attention](../10_why_self_attention.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
import keras
import numpy as np

import aiayn_keras as ak
from aiayn_keras.data import load_corpus
from aiayn_keras.layers import MultiHeadAttention

# %% [markdown]
# This function of the lesson finds out which outputs move when one input changes.


# %%
def who_moves(layer, n, D=64):
    x = np.random.default_rng(0).normal(size=(1, n, D)).astype("float32")
    changed = np.repeat(x, n, axis=0)
    changed[np.arange(n), np.arange(n)] += 1.0
    moved = np.abs(np.array(layer(changed)) - np.array(layer(x))).max(axis=-1)
    return moved.T > 1e-4


# %% [markdown]
# **1.** The last row of Table 1 is *restricted* self-attention: each position looks only at those
# at most r positions away. Build it with `MultiHeadAttention` and a mask, and measure with
# `who_moves` how many layers position 0 needs to depend on position n − 1, for n = 13 and r = 3.

# %%
keras.utils.set_random_seed(1)
attention = MultiHeadAttention(num_heads=4, key_dim=16)
n, r = 13, 3
near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= r
one_layer = who_moves(lambda x: attention(x, x, near[None]), n)
np.testing.assert_array_equal(one_layer, near)
number, reached = 1, one_layer
while not reached[0, -1]:
    number, reached = number + 1, reached @ one_layer
print(f"{number} layers")
assert number == 4 == (n - 1) // r  # the table's n / r

# %% [markdown]
# **2.** By the counts of Table 1 (without projections), from what length on does a recurrent layer
# need less work than self-attention? How long is the longest of 3,000 English sentences of the demo
# corpus, in pieces of a vocabulary of 500 (notebook 01 shows how to get both), and which layer is
# cheaper for it at the paper's d = 512?

# %% [markdown]
# n²·d < n·d² exactly if n < d. For n larger than d, the recurrent layer needs less work.

# %%
assert all((n * n * d < n * d * d) == (n < d) for n in range(1, 99) for d in range(1, 99))
corpus = load_corpus("demo", train_size=3000)
tokenizer = ak.TransformerTokenizer.train(corpus.train.sources, vocabulary_size=500)
longest = max(map(len, tokenizer(list(corpus.train.sources))))
print(f"longest: {longest} pieces, far below 512: self-attention is cheaper")
assert longest < 512
