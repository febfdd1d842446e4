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
# # Solutions to 19 · Before attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/19_before_attention.ipynb)
#
# These are answers to the exercises of [19 · Before attention](../19_before_attention.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
import numpy as np

# %% [markdown]
# **1.** In training, how many steps of the recurrent model must wait for the one before, for a
# source and a target of 20 words each, and of 200? How many blocks of the Transformer (2 + 2) must
# wait for each other?


# %%
def steps_in_training(S, T, N=2):
    """Steps of the recurrent model, and blocks of the Transformer, that wait for each other."""
    return S + T, 2 * N


for length in (20, 200):
    recurrent, transformer = steps_in_training(length, length)
    print(f"{length:3} words: {recurrent:3} steps one after the other, or {transformer} blocks")
assert steps_in_training(20, 20) == (40, 4)
assert steps_in_training(200, 200) == (400, 4)

# %% [markdown]
# The encoder's two directions run side by side, so they count once. The Transformer's number does
# not depend on the length: in training, all positions of a block are computed at once.

# %% [markdown]
# **2.** The keys $W_k m$ do not depend on the decoder's state. Show that `look` gives the same
# weights if they are computed once for the sentence. How many multiplications does that save for
# D = 128, S = T = 20?

# %%
D, S, T = 128, 20, 20
rng = np.random.default_rng(1)
W_q, W_k, v = (rng.normal(size=size) / 8 for size in ((D, D), (2 * D, D), D))
memory, states = rng.normal(size=(S, 2 * D)), rng.normal(size=(T, D))
print("memory", memory.shape, "states", states.shape)


# %%
def look(s, keys):
    """State (D,) and keys (S, D) to the weights (S,)."""
    scores = np.tanh(s @ W_q + keys) @ v
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


# %%
keys = memory @ W_k  # once for the sentence
once = [look(s, keys) for s in states]
each_time = [look(s, memory @ W_k) for s in states]
saved = (T - 1) * S * 2 * D * D
print(f"{saved:,} multiplications saved in a sentence of {T} words")
np.testing.assert_allclose(once, each_time, rtol=1e-9)
assert saved == 12_451_840

# %% [markdown]
# The keys do not depend on the state, so they are the same at every step. Our `Recurrent.decode`
# computes them once, and the cache of notebook 09 keeps the Transformer's for the same reason.
