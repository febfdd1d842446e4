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
# # Solutions to 09 · Not computing twice
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/09_not_computing_twice.ipynb)
#
# These are answers to the exercises of [09 · Not computing twice](../09_not_computing_twice.ipynb).

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

from aiayn_keras.layers import MultiHeadAttention, make_causal_mask

# %% [markdown]
# **1.** How many bytes does the self-attention cache of the paper's base model take for one
# sentence of 1,024 positions and one beam, in float32? Compute it from the numbers of layers and
# heads and the width of a head. (`TransformerBackbone.presets` holds the models; the base model is
# the default.)

# %%
num_layers, num_heads, key_dim, length = 6, 8, 64, 1024
num_bytes = num_layers * 2 * num_heads * length * key_dim * 4  # keys and values, 4 bytes each
print(f"{num_bytes:,} bytes = {num_bytes / 2**20:g} MiB")
assert num_bytes == 25_165_824 == 24 * 2**20

# %% [markdown]
# **2.** What would go wrong with a cache if the decoder's self-attention had no causal mask? Show
# with a `MultiHeadAttention` that without the mask the first position's output changes when the
# prefix grows by one.

# %%
keras.utils.set_random_seed(1)
T, D = 7, 12
attention = MultiHeadAttention(num_heads=3, key_dim=4)
x = np.random.default_rng(0).normal(size=(1, T, D)).astype("float32")
shorter, longer = (np.array(attention(x[:, :t], x[:, :t])) for t in (T - 1, T))  # all see all
print(f"without a mask: first position moves by {np.abs(shorter[:, 0] - longer[:, 0]).max():.3f}")
assert np.abs(shorter[:, 0] - longer[:, 0]).max() > 1e-3

# %% [markdown]
# In this layer, the stored key and value of position 0 are still right, because they come from its
# input alone. But its output has changed, and that is the input of the next layer, whose stored
# keys and values would now be wrong. With the mask the output stays the same:

# %%
causal = [make_causal_mask(np.ones((1, t), "int32")) for t in (T - 1, T)]
shorter, longer = (
    np.array(attention(x[:, : mask.shape[1]], x[:, : mask.shape[1]], mask)) for mask in causal
)
print(f"with it: by {np.abs(shorter[:, 0] - longer[:, 0]).max():.1e}")
np.testing.assert_allclose(shorter[:, 0], longer[:, 0], atol=1e-5)
