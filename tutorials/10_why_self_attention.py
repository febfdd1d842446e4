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
# # 10 · Why self-attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/10_why_self_attention.ipynb)
#
# **What does self-attention cost, and what does it buy?** The paper's section 4 compares it with
# recurrent and convolutional layers in Table 1: work per layer, steps that must wait for each
# other, and how far a signal has to travel. We measure all three on real layers and hold the
# results to the table.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Table 1
#
# n is the length of the sequence, d the width, k the kernel of the convolution.
#
# | layer | work per layer | sequential steps | longest path |
# |---|---|---|---|
# | self-attention | n² · d | 1 | 1 |
# | recurrent | n · d² | n | n |
# | convolutional | k · n · d² | 1 | n / k (or logₖ n, if dilated) |
#
# We take the package's attention, and a GRU and a convolution of Keras, all of the same width.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)  # one core, for clean times
tf.config.threading.set_inter_op_parallelism_threads(1)

# %%
import keras
import numpy as np

from aiayn_keras.layers import MultiHeadAttention

keras.utils.set_random_seed(1)

# %%
D, k, H = 64, 3, 4
attention = MultiHeadAttention(num_heads=H, key_dim=D // H)
gru = keras.layers.GRU(D, return_sequences=True)
convolution = keras.layers.Conv1D(D, k, padding="same")

# %% [markdown]
# Queries and memory of the attention are the same sequence: that makes it *self*-attention.

# %%
layers = {
    "self-attention": lambda x: attention(x, x),
    "recurrent": gru,
    "convolutional": convolution,
}
x = np.random.default_rng(0).normal(size=(2, 7, D)).astype("float32")  # (B, n, D)
for layer in layers.values():
    assert layer(x).shape == (2, 7, D)

# %% [markdown]
# All three map (B, n, D) to (B, n, D). What differs is who can learn from whom.
#
# ## Longest path, measured
#
# We change the input at one position and look which outputs move. With one copy of the sequence
# for each changed position, one call answers for all pairs.


# %%
def who_moves(layer, n):
    """Boolean (n, n): row t, column s is True if the output at t moves with the input at s."""
    x = np.random.default_rng(0).normal(size=(1, n, D)).astype("float32")
    changed = np.repeat(x, n, axis=0)
    changed[np.arange(n), np.arange(n)] += 1.0  # copy s differs at position s
    moved = np.abs(np.array(layer(changed)) - np.array(layer(x))).max(axis=-1)  # (s, t)
    return moved.T > 1e-6


# %%
n = 12
reach = {name: who_moves(layer, n) for name, layer in layers.items()}
assert reach["self-attention"].all()  # everybody hears everybody, in one layer
np.testing.assert_array_equal(reach["recurrent"], np.tri(n, dtype=bool))  # only the past
distance = np.abs(np.arange(n)[:, None] - np.arange(n))
np.testing.assert_array_equal(reach["convolutional"], distance <= k // 2)  # only neighbours

# %%
from aiayn_keras.plotting import plot_masks

plot_masks(reach, title="One layer: which outputs (queries) hear which inputs (keys)")

# %% [markdown]
# The recurrent layer reaches far back too, but the signal of position 0 passes through every state
# on its way: n steps, each of which can lose it. The convolution needs more layers: each reaches
# one position further to either side.


# %%
def layers_needed(one_layer):
    """Number of stacked layers until the first output hears the last input."""
    number, reached = 1, one_layer
    while not reached[0, -1]:
        number, reached = number + 1, reached @ one_layer
    return number


# %%
needed = {n: layers_needed(who_moves(convolution, n)) for n in (3, 6, 12, 24)}
print(needed)
assert all(number == -(-(n - 1) // (k // 2)) for n, number in needed.items())

# %% [markdown]
# That is n − 1 layers for k = 3: the longest path grows with n / k, where one layer of
# self-attention is enough for any n.
#
# ## Work per layer, counted
#
# A matrix product of (a, b) by (b, c) takes a·b·c multiply-adds. For one sequence:


# %%
def multiply_adds(n):
    return {
        "self-attention": 2 * n * n * D + 4 * n * D * D,  # QKᵀ and weights·V; four projections
        "recurrent": 3 * n * (D * D + D * D),  # a GRU has three gates, from input and state
        "convolutional": k * n * D * D,
    }


# %%
for n in (32, 128, 2048):
    counts = (f"{name} {count / 1e6:.1f}" for name, count in multiply_adds(n).items())
    print(f"n = {n:4}:", ", ".join(counts), "million")

# %% [markdown]
# Table 1 leaves out the projections, 4·n·d². While n is small against d they are most of the work,
# and self-attention too grows in a straight line. Only beyond n = 2·d is the n² part the larger
# one. The paper's sentences are shorter than its d = 512: there, self-attention is the *cheaper*
# layer.


# %%
def share_of_square(n):
    return 2 * n * n * D / multiply_adds(n)["self-attention"]


assert share_of_square(2 * D) == 0.5
print({n: f"{share_of_square(n):.0%}" for n in (16, 64, 128, 1024, 4096)})

# %% [markdown]
# ## Time, measured
#
# Forward passes of two sequences on one core, compiled once for all lengths. `process_time` counts
# the time that the processor works for us, not for other programs. The layers take turns for
# twenty rounds and we keep the fastest time of each. Only the relations mean something: your
# machine differs.

# %%
lengths = [32, 64, 128, 256, 512, 1024, 2048]
inputs = [tf.random.normal((2, n, D)) for n in lengths]
any_length = [tf.TensorSpec((2, None, D))]
compiled = {
    name: tf.function(layer, autograph=False, input_signature=any_length)
    for name, layer in layers.items()
}

# %%
from time import process_time


def seconds(layer, x):
    start = process_time()
    np.array(layer(x))
    return process_time() - start


# %%
rounds = [[[seconds(layer, x) for x in inputs] for layer in compiled.values()] for _ in range(20)]
measured = dict(zip(compiled, np.min(rounds, axis=0), strict=True))
for name, times in measured.items():
    print(f"{name:>14}:", *(f"{1000 * time:8.2f}" for time in times), "ms")

# %% [markdown]
# How steep are the curves? On logarithmic axes a cost of nᵖ is a straight line of slope p. Between
# the last two lengths:

# %%
predicted = {"self-attention": 2, "recurrent": 1, "convolutional": 1}
for name, times in measured.items():
    slope = np.log(times[-1] / times[-2]) / np.log(lengths[-1] / lengths[-2])
    print(f"{name:>14}: slope {slope:.2f}, Table 1 says {predicted[name]}")

# %% [markdown]
# The recurrent layer is slow although its work is small, and that is the third column of the
# table: its work comes in n small pieces, each of which must wait for the one before.
# Self-attention and convolution do all positions in a few large matrix products, which processors
# are best at. On many cores or a GPU the gap is wider still: they have nothing to do side by side
# in a recurrent layer.
#
# ## Time against length
#
# Dashed lines have the slopes that Table 1 predicts, drawn through the last point. At short
# lengths all curves are flatter: each call has a fixed cost, which for the fast convolution is
# most of its time.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(8, 5), layout="constrained")
axes = figure.subplots()
ends = np.array(lengths[3:])
for (name, times), marker, color in zip(measured.items(), "os^", COLORS, strict=False):
    milliseconds = 1000 * np.array(times)
    axes.loglog(lengths, milliseconds, marker=marker, color=color)
    guide = milliseconds[-1] * (ends / ends[-1]) ** predicted[name]
    axes.loglog(ends, guide, "--", color=color, lw=1)

# %%
for (name, times), color in zip(measured.items(), COLORS, strict=False):
    label = f"{name}, slope {predicted[name]}"
    where = (lengths[-1], 1000 * times[-1])
    axes.annotate(label, where, (8, 0), textcoords="offset points", color=color, va="center")
axes.grid(color="#DDDDDD", lw=0.6)

# %%
axes.set_xticks(lengths, lengths)
axes.set_yticks([0.1, 1, 10, 100], [0.1, 1, 10, 100])
axes.set_xticks([], minor=True)
axes.set(xlim=(28, 9000), xlabel="length n (positions)", ylabel="forward pass on one core (ms)")
axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# ## In three lines
#
# 1. Self-attention joins any two positions in one step; a recurrent layer takes n, a convolution
#    n/k.
# 2. Its work grows with n², which matters only when n is large against d.
# 3. A recurrent layer has little work, but must do it one step after the other.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** The last row of Table 1 is *restricted* self-attention: each position looks only at those
# at most r away. Make it with `MultiHeadAttention` and a mask, and measure with `who_moves` how
# many layers position 0 needs to hear position n − 1.

# %% tags=["solution"] jupyter={"source_hidden": true}
n, r = 13, 3
near = np.abs(np.arange(n)[:, None] - np.arange(n)) <= r
one_layer = who_moves(lambda x: attention(x, x, near[None]), n)
np.testing.assert_array_equal(one_layer, near)
number = layers_needed(one_layer)
print(f"{number} layers")
assert number == 4 == (n - 1) // r  # the table's n / r

# %% [markdown]
# **2.** By the counts of Table 1 (without projections), from which length on is a recurrent layer
# less work than self-attention? How long is the longest sentence of the demo corpus, in pieces,
# and which layer is cheaper for it at the paper's d = 512?

# %% tags=["solution"] jupyter={"source_hidden": true}
from aiayn_keras import TransformerTokenizer
from aiayn_keras.data import load_corpus

# n²·d < n·d² exactly when n < d.
assert all((n * n * d < n * d * d) == (n < d) for n in range(1, 99) for d in range(1, 99))
corpus = load_corpus("demo", train_size=3000)
tokenizer = TransformerTokenizer.train(corpus.train.sources, vocabulary_size=500)
longest = max(map(len, tokenizer(corpus.train.sources)))
print(f"longest: {longest} pieces")
assert longest < 512

# %% [markdown]
# Next: [11 · Real sentences](11_real_sentences.ipynb), where the corpus is no longer a toy.
