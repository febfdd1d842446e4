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
# # Solutions to 03 · Attention by hand
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/03_attention_by_hand.ipynb)
#
# These are answers to the exercises of [03 · Attention by hand](../03_attention_by_hand.ipynb).

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

import numpy as np
from keras import ops

from aiayn_keras import layers


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


# %%
def attention(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ V


generator = np.random.default_rng(1)
Q, K, V = (generator.normal(size=size) for size in ((7, 4), (5, 4), (5, 6)))
print(Q.shape, K.shape, V.shape)

# %% [markdown]
# **1.** Shuffle the keys, and the values in the same way. What changes? What if you shuffle only
# the keys?

# %%
order = np.array([3, 0, 4, 1, 2])
both = np.abs(attention(Q, K[order], V[order]) - attention(Q, K, V)).max()
only_keys = np.abs(attention(Q, K[order], V) - attention(Q, K, V)).max()
print(f"keys and values shuffled alike: {both:.1e}; the keys alone: {only_keys:.1e}")
assert both < 1e-12
assert only_keys > 0.1

# %% [markdown]
# If both are shuffled in the same way, the sums have the same terms in a different order, and only
# rounding changes. If only the keys are shuffled, each weight multiplies the value of a different
# key.

# %% [markdown]
# **2.** Two of five keys are padding. Set their scores to -∞ before the softmax, and show that
# this is the same as attention over the three real keys alone. Compare with the package's `mask`,
# which is True where a query may look; one value for each key, shape (S,), is enough.

# %%
real = np.array([True, True, False, True, False])
masked = softmax(np.where(real, Q @ K.T / np.sqrt(4), -np.inf)) @ V
np.testing.assert_allclose(masked, attention(Q, K[real], V[real]))
np.round(softmax(np.where(real, Q @ K.T / np.sqrt(4), -np.inf))[0], 2)

# %% [markdown]
# The weights of padding are exactly 0. The package's function takes the mask of shape (S,) as it
# is.

# %%
tensors = (ops.convert_to_tensor(array[None, None], "float32") for array in (Q, K, V))
packaged = layers.scaled_dot_product_attention(*tensors, mask=real)
difference = np.abs(packaged[0, 0] - masked).max()
print(f"largest difference: {difference:.7f}")
assert difference < 1e-5
