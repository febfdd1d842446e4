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
# # Solutions to 12 · Any backend, many devices
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/12_any_backend_many_devices.ipynb)
#
# These are answers to the exercises of [12 · Any backend, many
# devices](../12_any_backend_many_devices.ipynb).

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
# **1.** Why do the last digits differ at all? Add up the same 10,000 float32 numbers in two
# orders, and compare with the sum in float64.

# %%
numbers = np.random.default_rng(1).normal(size=10_000).astype("float32")
forward = np.cumsum(numbers)[-1]  # one after the other
backward = np.cumsum(numbers[::-1])[-1]
exact = numbers.astype("float64").sum()
print(f"{forward - exact:.1e} and {backward - exact:.1e} away from the exact sum")
assert forward != backward  # rounding happens after each addition
np.testing.assert_allclose([forward, backward], exact, atol=0.01)

# %% [markdown]
# **2.** Two devices have sentences with 30 and 2 real pieces, and mean losses of 2 and 6 nats per
# piece. What is the loss of the whole batch, and what would the mean of the two means be?

# %%
tokens, means = np.array([30, 2]), np.array([2.0, 6.0])
whole = (tokens * means).sum() / tokens.sum()
print(f"{whole} nats per token, not {means.mean()}")
assert whole == 2.25
assert means.mean() == 4.0
