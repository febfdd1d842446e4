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
# # 03 · Attention by hand
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/03_attention_by_hand.ipynb)
#
# **How does one word read from all the others, and why is there a square root in it?** We build
# equation 1 of the paper in NumPy, first with loops and then with matrices, and find the same
# numbers in the package. Then we leave the √d_k out and measure what goes wrong (section 3.2.1).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from aiayn_keras import layers
from aiayn_keras.plotting import COLORS

generator = np.random.default_rng(1)

# %% [markdown]
# ## A soft dictionary
#
# A dictionary finds the one key that equals the query, and gives its value. Attention compares the
# query with *every* key, and gives a mean of all values, in which a better match weighs more. One
# query, three keys, three values:

# %%
query = np.array([1.0, 0.0])
keys = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
values = np.array([[10.0], [20.0], [30.0]])

# %% [markdown]
# 1. Score each key by its dot product with the query, over √d_k (here d_k = 2).
# 2. Make the scores positive and their sum one: the softmax.
# 3. Take the mean of the values with these weights.

# %%
scores = [sum(query * key) / np.sqrt(2) for key in keys]
exponentials = [np.exp(score) for score in scores]
weights = [e / sum(exponentials) for e in exponentials]
output = sum(weight * value for weight, value in zip(weights, values, strict=True))
print(np.round(weights, 2), np.round(output, 2))
assert np.isclose(sum(weights), 1)
assert weights[0] > weights[1] > weights[2]

# %% [markdown]
# ## Equation 1
#
# T queries as the rows of Q, S keys and values as the rows of K and V, and it is one line:
#
# $$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$


# %%
def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))  # the same, without overflow
    return x / x.sum(axis=-1, keepdims=True)


def attention(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ V


np.testing.assert_allclose(attention(query[np.newaxis], keys, values)[0], output)

# %% [markdown]
# The shapes: Q is (T, d_k), K is (S, d_k), V is (S, d_v). The scores are (T, S), a row for each
# query; the output is (T, d_v).

# %%
T, S, d_k, d_v = 7, 5, 4, 6
Q, K, V = (generator.normal(size=size) for size in ((T, d_k), (S, d_k), (S, d_v)))
assert (Q @ K.T).shape == (T, S)
assert attention(Q, K, V).shape == (T, d_v)

# %% [markdown]
# The package's function takes a batch and several heads at once, (B, H, T, d_k); here one of each
# (heads are notebook 05's).

# %%
batched = (array[np.newaxis, np.newaxis].astype("float32") for array in (Q, K, V))
packaged = layers.scaled_dot_product_attention(*map(ops.convert_to_tensor, batched))
np.testing.assert_allclose(packaged[0, 0], attention(Q, K, V), atol=1e-5)

# %% [markdown]
# ## Between a mean and a choice
#
# The size of the scores sets how sharply attention chooses. Tiny scores: every value counts alike.
# Huge scores: one value wins, and attention is a dictionary again.

# %%
np.testing.assert_allclose(attention(1e-6 * Q, K, V), np.tile(V.mean(axis=0), (T, 1)), atol=1e-5)
best = (Q @ K.T).argmax(axis=1)
np.testing.assert_allclose(attention(1e6 * Q, K, V), V[best], atol=1e-5)

# %% [markdown]
# ## Why the square root
#
# Let the numbers of a query and of a key be independent, with mean 0 and variance 1. A score
# without the root is a sum of d_k products $q_i k_i$. Each has mean 0 and variance
# $E[q_i^2]\,E[k_i^2] = 1$, and variances of independent terms add up. So the score's variance is
# d_k, and divided by √d_k it is 1 again, at any width. We measure it:

# %%
for d_k in (4, 64, 1024):
    Q, K = generator.normal(size=(2, 10_000, d_k))
    variance = (Q * K).sum(axis=1).var()
    print(f"d_k = {d_k:4}: variance of q·k {variance:7.1f}, of q·k/√d_k {variance / d_k:.2f}")
    assert abs(variance / d_k - 1) < 0.1

# %% [markdown]
# Scores of standard deviation √1024 = 32 make a softmax that is nearly 0 or 1 everywhere. Is that
# bad? A sharp choice at the *start* of training is: it is a random one, and it is hard to
# unlearn, since hardly any gradient passes. The derivative of the softmax is
# $\partial p_i / \partial s_j = p_i (\delta_{ij} - p_j)$, and all of it vanishes as p comes near 0
# and 1.


# %%
def softmax_jacobian(p):
    return np.diag(p) - np.outer(p, p)


even, sharp = softmax(np.zeros(5)), softmax(np.array([32.0, 0, 0, 0, 0]))
print(f"{np.abs(softmax_jacobian(even)).max():.2f}, {np.abs(softmax_jacobian(sharp)).max():.0e}")
assert np.abs(softmax_jacobian(sharp)).max() < 1e-10

# %% [markdown]
# ## Measured over widths
#
# Two numbers say how sharp a softmax over S = 64 keys is. Its *entropy* $-\sum p \ln p$ is ln 64 ≈
# 4.16 nats if all weights are equal and 0 if one key has everything. The sum of the derivatives
# $\partial p_i / \partial s_i = p_i (1 - p_i)$ says how much gradient passes. We take 200 random
# queries for each width.


# %%
def entropy(p):
    return -(p * np.log(p + 1e-30)).sum(axis=-1)


def passed_gradient(p):
    return (p * (1 - p)).sum(axis=-1)


assert np.isclose(entropy(np.full(64, 1 / 64)), np.log(64))
assert np.isclose(passed_gradient(even), np.trace(softmax_jacobian(even)))

# %%
widths = [2**n for n in range(1, 11)]
measured = {"divided by √d_k": [], "not divided": []}
for d_k in widths:
    Q, K = generator.normal(size=(200, 1, d_k)), generator.normal(size=(200, 64, d_k))
    scores = (Q @ K.transpose(0, 2, 1))[:, 0]  # (200, 64)
    for divisor, name in ((np.sqrt(d_k), "divided by √d_k"), (1.0, "not divided")):
        p = softmax(scores / divisor)
        measured[name].append([entropy(p), passed_gradient(p)])
measured = {name: np.array(values) for name, values in measured.items()}

# %% [markdown]
# The package's weights have the entropy of the divided scores.

# %%
packaged = layers.attention_weights(*(ops.convert_to_tensor(x[:, None], "float32") for x in (Q, K)))
p = ops.convert_to_numpy(packaged)[:, 0, 0]
np.testing.assert_allclose(entropy(p), measured["divided by √d_k"][-1, 0], atol=1e-3)


# %%
def plot(panel, column, y_label):
    for (name, values), color, marker in zip(measured.items(), COLORS[:2], "os", strict=True):
        samples = values[:, column]
        low, high = np.percentile(samples, [10, 90], axis=1)
        panel.plot(widths, samples.mean(axis=1), f"{marker}-", color=color, label=name)
        panel.fill_between(widths, low, high, color=color, alpha=0.15, linewidth=0)
    panel.set(xlabel="width of queries and keys d_k", xscale="log", ylabel=y_label)
    panel.set_xticks(widths[1::2], widths[1::2])
    panel.set_ylim(0)


# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plot(left, 0, "entropy of the weights (nats)")
left.axhline(np.log(64), color="#555555", linestyle="--", label="all weights equal: ln 64")
left.legend(frameon=False, loc="center right")
plot(right, 1, "gradient that passes, Σ p (1 - p)")
plt.show()

# %% [markdown]
# Lines are means over 200 queries, bands hold 80 % of them. Divided, both stay the same from d_k =
# 4 to 1024. Not divided, entropy falls towards 0, and with it the gradient: attention has made up
# its mind before it has learned anything.

# %%
divided, not_divided = measured.values()
assert np.ptp(divided[1:, 0].mean(axis=1)) < 0.3
assert not_divided[-1].mean(axis=1).max() < 0.3

# %% [markdown]
# ## In three lines
#
# 1. Attention is a soft dictionary: a mean of the values, weighted by how well keys match the
# query.
# 2. It is two matrix products with a softmax between them; each row of weights sums to one.
# 3. Scores have variance d_k; the division by √d_k keeps the softmax soft and its gradient alive.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** Shuffle the keys, and the values in the same way. What changes? What if you shuffle only
# the keys?

# %% jupyter={"source_hidden": true} tags=["solution"]
Q, K, V = (generator.normal(size=size) for size in ((7, 4), (5, 4), (5, 6)))
order = np.array([3, 0, 4, 1, 2])
np.testing.assert_allclose(attention(Q, K[order], V[order]), attention(Q, K, V))
assert not np.allclose(attention(Q, K[order], V), attention(Q, K, V))

# %% [markdown]
# **2.** Two of five keys are padding. Set their scores to -∞ before the softmax, and show that
# this is the same as attention over the three real keys alone. Compare with the package's `mask`.

# %% jupyter={"source_hidden": true} tags=["solution"]
real = np.array([True, True, False, True, False])
masked = softmax(np.where(real, Q @ K.T / np.sqrt(4), -np.inf)) @ V
np.testing.assert_allclose(masked, attention(Q, K[real], V[real]))
tensors = (ops.convert_to_tensor(array[None, None], "float32") for array in (Q, K, V))
packaged = layers.scaled_dot_product_attention(*tensors, mask=real)
np.testing.assert_allclose(packaged[0, 0], masked, atol=1e-5)

# %% [markdown]
# Next: [04 · What must not be seen](04_what_must_not_be_seen.ipynb)
