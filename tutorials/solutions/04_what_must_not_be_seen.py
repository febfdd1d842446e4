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
# # Solutions to 04 · What must not be seen
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/04_what_must_not_be_seen.ipynb)
#
# These are answers to the exercises of [04 · What must not be
# seen](../04_what_must_not_be_seen.ipynb).

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

import keras
import numpy as np
from keras import ops

from aiayn_keras import layers

# %% [markdown]
# **1.** Write a *local* mask: each position sees itself and the two before it. How far does a
# change reach after one block, and after two? (For two, give the output of an `EncoderBlock` to
# the same block once more.)

# %%
T = 8
causal = np.tril(np.ones((1, T, T), dtype=bool))
local = causal & ~np.tril(causal, k=-3)
local[0].astype(int)

# %%
keras.utils.set_random_seed(1)
block = layers.EncoderBlock(num_heads=3, key_dim=4, intermediate_dim=24)
x = np.random.normal(size=(1, T, 12)).astype("float32")
other = x + np.eye(T)[0][None, :, None].astype("float32")  # position 0 changes
once = [ops.convert_to_numpy(block(y, local)) for y in (x, other)]
twice = [ops.convert_to_numpy(block(y, local)) for y in once]
changed = [np.flatnonzero(np.abs(a - b).max(axis=(0, 2)) > 1e-5) for a, b in (once, twice)]
print("changed after one block", changed[0], "after two", changed[1])
assert [positions.max() for positions in changed] == [2, 4]

# %% [markdown]
# A change reaches two positions further with each block, so a stack of N local blocks reaches 2·N
# positions.

# %% [markdown]
# **2.** The decoder's attention to the source needs a mask too, of shape (B, T, S). Make it for two
# sources of lengths 5 and 3, and targets of T = 4 pieces. Which of its rows are equal, and why?

# %%
padding_mask = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0]], dtype="int32")
target_mask = np.ones((2, 4), dtype="int32")
memory_mask = ops.convert_to_numpy(layers.make_attention_mask(target_mask, padding_mask))
print(memory_mask.shape, memory_mask[1].astype(int), sep="\n")
assert memory_mask.shape == (2, 4, 7)
assert (memory_mask == padding_mask[:, None, :].astype(bool)).all()

# %% [markdown]
# All rows of a sentence are equal, because they hide padding only. The whole source is known before
# the first word is written, so no part of it lies in the future.
