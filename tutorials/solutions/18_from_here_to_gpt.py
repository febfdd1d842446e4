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
# # Solutions to 18 · From here to GPT
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/18_from_here_to_gpt.ipynb)
#
# These are answers to the exercises of [18 · From here to GPT](../18_from_here_to_gpt.ipynb).

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
# **1.** How many numbers does one block's cache keep for a text of 1,024 pieces at H = 32 heads of
# K = 128, with 32, 8 and 1 heads of keys and values? By what factor does sharing make it smaller?

# %%
numbers = {G: 2 * 1024 * G * 128 for G in (32, 8, 1)}  # keys and values
for G, count in numbers.items():
    print(f"G = {G:2}: {count:,}, a factor of {numbers[32] // count}")
assert [numbers[32] // count for count in numbers.values()] == [1, 4, 32]

# %% [markdown]
# The factor is H / G, for any length.

# %% [markdown]
# **2.** Show that an encoder block without a mask is *not* a GPT: change the last piece of an input
# and find the first output that moves, with `use_causal_mask` and without.

# %%
keras.utils.set_random_seed(1)
block = layers.EncoderBlock(num_heads=3, key_dim=4, intermediate_dim=24)
x = np.random.normal(size=(1, 7, 12)).astype("float32")
changed = x.copy()
changed[:, -1] += 1
first = {}
for use_causal_mask in (True, False):
    before, after = (block(y, use_causal_mask=use_causal_mask) for y in (x, changed))
    moved = np.abs(ops.convert_to_numpy(after - before)).max(axis=(0, 2)) > 1e-5
    first[use_causal_mask] = int(moved.argmax())
print("first output that moves:", first)
assert first == {True: 6, False: 0}
