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
# other, and how far a signal has to travel. On real layers we test how far signals travel, count
# the work and measure the time. Then we compare the results with the table, and say where they
# disagree with it.
#
# *45 minutes · you need notebook 05.* Afterwards you can count the work of a layer, read the
# paper's Table 1, and say what it leaves out.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Where we are
#
# Blue marks the layers that this notebook compares with a recurrent and a convolutional one.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import tensorflow as tf

from drawings import draw_architecture

tf.config.threading.set_intra_op_parallelism_threads(1)  # one core, for clean times
tf.config.threading.set_inter_op_parallelism_threads(1)
draw_architecture("encoder_self_attention", "decoder_self_attention")

# %% [markdown]
# ## Table 1
#
# This is the table as the paper prints it. n is the length of the sequence, d the width, k the
# kernel size of the convolution (how many neighbouring positions it looks at), and r the reach of a
# restricted self-attention. O(·) leaves out constant factors.
#
# | layer | work per layer | sequential steps | longest path |
# |---|---|---|---|
# | self-attention | O(n² · d) | O(1) | O(1) |
# | recurrent | O(n · d²) | O(n) | O(n) |
# | convolutional | O(k · n · d²) | O(1) | O(logₖ n) |
# | self-attention (restricted) | O(r · n · d) | O(1) | O(n / r) |
#
# The path O(logₖ n) is that of *dilated* convolutions, whose kernels have gaps. For ordinary ones
# the paper's text says O(n / k). We measure both.
#
# We take the package's attention, and from Keras a convolution and a GRU, all of the same width. (A
# GRU is a recurrent layer: it goes through the sequence position by position and keeps a state;
# notebook 19 builds one.) The queries and the memory of the attention are the same sequence: that
# makes it *self*-attention.

# %%
import keras
import numpy as np

from aiayn_keras.layers import MultiHeadAttention

# %%
D, k, H = 64, 3, 4
keras.utils.set_random_seed(1)
attention = MultiHeadAttention(num_heads=H, key_dim=D // H)
gru = keras.layers.GRU(D, return_sequences=True)
convolution = keras.layers.Conv1D(D, k, padding="same")
layers = {"self-attention": lambda x: attention(x, x), "recurrent": gru}
layers["convolutional"] = convolution

x = np.random.default_rng(0).normal(size=(2, 7, D)).astype("float32")  # (B, n, D)
print({name: tuple(layer(x).shape) for name, layer in layers.items()})
assert all(layer(x).shape == (2, 7, D) for layer in layers.values())

# %% [markdown]
# All three map (B, n, D) to (B, n, D). They differ in which positions can influence which.
#
# ## Longest path, measured
#
# We change the input at one position and see which outputs move. A batch with one copy of the
# sequence for each changed position tests all pairs in one call.


# %%
def who_moves(layer, n):
    """Boolean (n, n): row t, column s is True if the output at t moves with the input at s."""
    x = np.random.default_rng(0).normal(size=(1, n, D)).astype("float32")
    changed = np.repeat(x, n, axis=0)
    changed[np.arange(n), np.arange(n)] += 1.0  # copy s differs at position s
    moved = np.abs(np.array(layer(changed)) - np.array(layer(x))).max(axis=-1)  # (s, t)
    return moved.T > 1e-4  # less is rounding, which differs between batches


# %% [markdown]
# **Predict:** There are 12 positions, so 144 pairs of an output and an input. How many of them are
# connected by one layer of self-attention, one GRU, and one convolution with kernel 3?

# %%
n = 12
reach = {name: who_moves(layer, n) for name, layer in layers.items()}
print({name: int(pairs.sum()) for name, pairs in reach.items()})
assert reach["self-attention"].all()  # every output depends on every input, in one layer
assert not np.triu(reach["recurrent"], 1).any()  # only the past
distance = np.abs(np.arange(n)[:, None] - np.arange(n))
np.testing.assert_array_equal(reach["convolutional"], distance <= k // 2)  # only neighbours

# %% [markdown]
# Self-attention connects all 144 pairs, the GRU the 78 pairs in which the output does not look
# ahead, and the convolution the 34 pairs of a position with itself or a neighbour. In the picture,
# outputs are rows and inputs are columns; dark squares are connected pairs.

# %%
from aiayn_keras.plotting import plot_masks

figure = plot_masks(reach, title="One layer: which outputs depend on which inputs")
for panel in figure.axes:
    panel.set(xlabel="input", ylabel="output" if panel is figure.axes[0] else "")
figure

# %% [markdown]
# The recurrent layer reaches far back too, but what comes from position 0 must pass through every
# state on the way. These are n steps, and each of them can lose it: with n = 30 in the cell above,
# only 381 of the 465 pairs are found, because too little arrives to pass the threshold of 10⁻⁴. A
# convolution with kernel 3 reaches only one position to either side, so many have to be stacked.


# %%
def layers_needed(reach_of_layer, n):
    """Number of stacked layers until the middle output depends on all inputs."""
    number, reached = 1, reach_of_layer(0)
    while not reached[n // 2].all():
        reached = reached @ reach_of_layer(number)
        number += 1
    return number


def dilated(layer):
    """A convolution whose kernel has gaps: layer i looks kⁱ positions to either side."""
    return keras.layers.Conv1D(D, k, padding="same", dilation_rate=k**layer)


# %% [markdown]
# **Predict:** For n = 27 and k = 3, how many ordinary convolutions must be stacked until the middle
# output depends on all inputs? And how many with growing gaps?

# %%
for n in (3, 9, 27, 81):
    ordinary = layers_needed(lambda i: who_moves(convolution, n), n)  # noqa: B023
    gaps = layers_needed(lambda i: who_moves(dilated(i), n), n)  # noqa: B023
    print(f"n = {n:2}: {ordinary:2} ordinary, {gaps} dilated, 1 self-attention")
    assert ordinary == -(-(n // 2) // (k // 2))
    assert k ** (gaps - 1) < n <= k**gaps

# %% [markdown]
# Each ordinary convolution reaches (k − 1) / 2 positions further to either side, so n / (k − 1)
# layers are needed for the middle, and twice as many from one end to the other: O(n / k). Each
# dilated one makes the window k times wider, so logₖ n of them are enough. One layer of
# self-attention is enough for any n.
#
# ## Work per layer, counted
#
# A matrix product of (a, b) by (b, c) takes a·b·c multiply-adds. We count them for one sequence:


# %%
def multiply_adds(n):
    return {
        "self-attention": 2 * n * n * D + 4 * n * D * D,  # QKᵀ and weights·V; four projections
        "recurrent": 3
        * n
        * (D * D + D * D),  # GRU: two gates and a candidate, from input and state
        "convolutional": k * n * D * D,
    }


# %% [markdown]
# **Predict:** Here d = 64. Which of the three does the least work at n = 32, and which at n = 2048?

# %%
for n in (32, 64, 128, 2048):
    counts = (f"{name} {count / 1e6:.1f}" for name, count in multiply_adds(n).items())
    print(f"n = {n:4}:", ", ".join(counts), "million")
for n in range(1, 200):
    work = multiply_adds(n)
    assert (work["self-attention"] < work["recurrent"]) == (n < D)
    assert work["convolutional"] < work["self-attention"]

# %% [markdown]
# Compared with the recurrent layer, the paper is right: self-attention does less work as long as n
# is smaller than d. Most sentences have fewer pieces than that (the paper's d is 512).
#
# Compared with this convolution, it does more work at **every** length. Table 1 leaves out the four
# projections, 4·n·d²; they alone are more than the convolution's 3·n·d². If only the table's terms
# are counted, n²·d against k·n·d², self-attention is cheaper below n = k·d. If everything is
# counted, it never is. The convolution is cheap because it looks at three positions; to reach
# further it needs more layers.
#
# While n is small compared with d, the projections are most of the work, and self-attention, too,
# grows in a straight line. Only when n is larger than 2·d is most of the work in the n² part:


# %%
def share_of_square(n):
    return 2 * n * n * D / multiply_adds(n)["self-attention"]


# %%
print({n: f"{share_of_square(n):.0%}" for n in (16, 64, 128, 1024, 4096)})
assert share_of_square(2 * D) == 0.5

# %% [markdown]
# ## Time, measured
#
# We time forward passes of one sequence on one core, compiled once for all lengths. `process_time`
# counts the time that the processor works for us, not for other programs. The layers take turns,
# and we keep the fastest time of each. Your machine will show different times; only their ratios
# can be compared.
#
# Besides the whole layers, we time the part of self-attention that the table counts: QKᵀ, and its
# product with V. The convolution is very fast, and at n = 256 the fixed cost of a call would be
# most of its time. So it gets sequences that are sixteen times as long.


# %%
def attention_products(x):
    return tf.matmul(tf.matmul(x, x, transpose_b=True), x)


# %%
layers["attention, products"] = attention_products
lengths = {name: np.array([256, 512, 1024, 2048, 4096]) for name in layers}
lengths["convolutional"] *= 16
inputs = {name: [tf.random.normal((1, n, D)) for n in ns] for name, ns in lengths.items()}
any_length = [tf.TensorSpec((1, None, D))]
compiled = {
    name: tf.function(layer, autograph=False, input_signature=any_length)
    for name, layer in layers.items()
}
print({name: tuple(inputs[name][-1].shape) for name in layers})

# %%
from time import process_time


def seconds(layer, x, repeat=3):
    start = process_time()
    for _ in range(repeat):
        layer(x)
    return (process_time() - start) / repeat


# %% [markdown]
# **Predict:** From one length to the next, n doubles. By what factor does each time grow, by Table
# 1?

# %%
rounds = [
    [[seconds(layer, x) for x in inputs[name]] for name, layer in compiled.items()]
    for _ in range(8)
]
measured = dict(zip(compiled, np.min(rounds, axis=0), strict=True))
for name, times in measured.items():
    milliseconds = (f"{1000 * time:7.2f}" for time in times)
    print(f"{name:>19}", *milliseconds, f"ms; the last factor: {times[-1] / times[-2]:.1f}")

# %% [markdown]
# On logarithmic axes, a cost of nᵖ is a straight line of slope p: twice the length costs 2ᵖ times
# as much. The last factor gives the slope between the two largest lengths:

# %%
predicted = dict(zip(compiled, (2, 1, 1, 2), strict=True))
slopes = {name: np.log2(times[-1] / times[-2]) for name, times in measured.items()}
for name, slope in slopes.items():
    print(f"{name:>21}: slope {slope:.2f}, Table 1 says {predicted[name]}")

# %% [markdown]
# At these lengths the law is visible: the slope is near 2 for self-attention and near 1 for the
# other two. At smaller n the curves of attention are flatter: the projections, whose work grows
# with n only, are still a part of the whole layer (a tenth at n = 1024), and every call has a fixed
# cost. That is why we have not measured everyday sentences with their few dozen pieces: the times
# would say more about TensorFlow than about the layers.
#
# The recurrent layer is slow although it has little work to do. That reflects the third column of
# the table: its work comes in n small portions, and each must wait for the one before.
# Self-attention and convolution do all positions in a few large matrix products, which processors
# are best at.
#
# ## What the count leaves out
#
# By our count the two products are 97 % of the layer's work at n = 4096, but measured alone they
# take less than half of its time. We timed them with one head of width 64; the layer has H = 4
# heads, each 16 wide. These need the same number of multiply-adds, but produce H · n² scores rather
# than n², and then the softmax goes through all of them.
#
# **Predict:** How many MB do the scores of four heads take at n = 4096, in float32? Which takes
# longer, their softmax or the two products?

# %%
heads = tf.random.normal((1, H, 4096, D // H))
scores = tf.matmul(heads, heads, transpose_b=True)
parts = {
    "products, one head": (attention_products, inputs["attention, products"][-1]),
    "products, four heads": (attention_products, heads),
    "softmax, four heads": (tf.nn.softmax, scores),
}
for name, (part, x) in parts.items():
    part = tf.function(part, autograph=False)
    print(f"{name:>20} {1000 * min(seconds(part, x, 1) for _ in range(8)):6.1f} ms")
print(f"scores {tuple(scores.shape)}: {4 * np.prod(scores.shape) / 1e6:.0f} MB")

# %% [markdown]
# The products of four heads take longer than those of one, with the same multiply-adds: there are
# four times as many scores to be written and read again, each a sum of 16 products rather than 64.
# The softmax is not a matrix product, so the count leaves it out; here it takes two thirds of the
# time of these products. Together, the two take about as long as the whole layer. All of this grows
# with n², so it changes the time but not the slope: a law of growth leaves out constant factors.
#
# ## Time against length
#
# Dotted lines have the slope that Table 1 predicts, drawn through the last point.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

# %%
figure = Figure(figsize=(8, 5.6), layout="constrained")
axes = figure.subplots()
for (name, times), style, color in zip(
    measured.items(), ("o-", "s-", "^-", "o--"), [*COLORS[:3], COLORS[0]], strict=True
):
    label = f"{name}: measured slope {slopes[name]:.2f}, Table 1 says {predicted[name]}"
    n = lengths[name]
    axes.loglog(n, 1000 * np.array(times), style, color=color, ms=5, label=label)
    axes.loglog(n, 1000 * times[-1] * (n / n[-1]) ** predicted[name], ":", color="#777777", lw=1)

# %%
ticks = [4**i for i in range(4, 9)]
axes.set_xticks(ticks, ticks)
axes.set_yticks([0.1, 1, 10, 100], [0.1, 1, 10, 100])
figure.legend(frameon=False, loc="outside upper left")
axes.set_xticks([], minor=True)
axes.set(xlabel="length n (positions)", ylabel="forward pass on one core (ms)")
axes.grid(color="#DDDDDD", lw=0.6)
axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# ## In three lines
#
# 1. Self-attention joins any two positions in one step; a recurrent layer takes n, ordinary
#    convolutions n/k, dilated ones logₖ n.
# 2. Its work grows with n²; it is less than a recurrent layer's as long as n < d.
# 3. A recurrent layer has little work, but must do it one step after another.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/10_why_self_attention.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** The last row of Table 1 is *restricted* self-attention: each position looks only at those
# at most r positions away. Build it with `MultiHeadAttention` and a mask, and measure with
# `who_moves` how many layers position 0 needs to depend on position n − 1, for n = 13 and r = 3.

# %% [markdown]
# **2.** By the counts of Table 1 (without projections), from what length on does a recurrent layer
# need less work than self-attention? How long is the longest of 3,000 English sentences of the demo
# corpus, in pieces of a vocabulary of 500 (notebook 01 shows how to get both), and which layer is
# cheaper for it at the paper's d = 512?

# %% [markdown]
# ## Your turn
#
# Set `k = 5` in the empty cell and print `multiply_adds(n)` for n = 16, 32 and 64. From what length
# on is the convolution the cheaper layer now? Then try k = 7.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [11 · Real sentences](11_real_sentences.ipynb), where the corpus is no longer a toy.
