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
# # Solutions to 06a · Inside a block
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/06a_inside_a_block.ipynb)
#
# These are answers to the exercises of [06a · Inside a block](../06a_inside_a_block.ipynb).

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


def layer_norm(x, gamma, beta, epsilon=1e-6):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + epsilon) + beta


# %%
def feed_forward(x, block):
    W_1, b_1, W_2, b_2 = block.feed_forward.get_weights()
    return np.maximum(0, x @ W_1 + b_1) @ W_2 + b_2


# %% [markdown]
# **1.** Many later models normalize *before* the sublayer and leave the sum alone: x + Sublayer(
# LayerNorm(x)). Write such an encoder block and compare it with
# `EncoderBlock(..., normalize_first=True)`.


# %%
def pre_norm_block(x, block):
    y = layer_norm(x, *block.self_attention_add_norm.layer_norm.get_weights())
    x = x + ops.convert_to_numpy(block.self_attention(y, y))
    y = layer_norm(x, *block.feed_forward_add_norm.layer_norm.get_weights())
    return x + feed_forward(y, block)


# %%
keras.utils.set_random_seed(1)
block = layers.EncoderBlock(num_heads=3, key_dim=4, intermediate_dim=24, normalize_first=True)
x = np.random.normal(size=(2, 5, 12)).astype("float32")
difference = np.abs(block(x) - pre_norm_block(x, block)).max()
print(f"{x.shape}, largest difference {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# **2.** *Batch* normalization takes the mean and the variance of each of the D columns, over all
# positions of all sentences in the batch. Write it, and show that a sentence's result then depends
# on the other sentence in the batch, and that with `layer_norm` it does not.


# %%
def batch_norm(x, epsilon=1e-6):
    mean, variance = x.mean(axis=(0, 1)), x.var(axis=(0, 1))
    return (x - mean) / np.sqrt(variance + epsilon)


# %%
changed = x.copy()
changed[1] += 3  # only the second sentence
results = {
    "batch": (batch_norm(x)[0], batch_norm(changed)[0]),
    "layer": (layer_norm(x, 1, 0)[0], layer_norm(changed, 1, 0)[0]),
}
for name, (before, after) in results.items():
    print(f"{name}: the first sentence changes by up to {np.abs(after - before).max():.2f}")
assert np.abs(results["batch"][1] - results["batch"][0]).max() > 0.1
np.testing.assert_array_equal(*results["layer"])
