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
# # 09 · Not computing twice
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/09_not_computing_twice.ipynb)
#
# **Does the hundredth word of a translation cost more than the first?** A decoder that rereads its
# whole prefix for every piece does more and more work. We find out what it computes twice, keep
# that in a cache, and check that the numbers stay the same: first by hand for one attention layer,
# then for the package's decoder. Then we count and measure what a piece still costs. The paper does
# not mention this; it follows from the causal mask in its section 3.1.
#
# *45 minutes · you need notebooks 05 and 06b, and for one section the beams of 08.* Afterwards you
# can write a cache for attention, say why it changes no result, and count what a piece costs with
# it and without.

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
# Blue marks the parts whose keys and values can be kept from one piece to the next. In the
# decoder's self-attention they are those of the pieces already written; in the cross-attention,
# those of the source.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import tensorflow as tf

from drawings import draw_architecture

tf.config.threading.set_intra_op_parallelism_threads(1)  # one core, for clean times
tf.config.threading.set_inter_op_parallelism_threads(1)
draw_architecture("decoder_self_attention", "cross_attention", "memory")

# %% [markdown]
# ## The slow way
#
# We take a model that translates simple English sentences into German, one source sentence, and its
# translation as ids. The source ends with the end token; what the decoder reads begins with the
# start token. The source is encoded once; `memory` is what the decoder looks at.

# %%
import keras
import numpy as np
from keras import ops

import aiayn_keras as ak

# %%
keras.utils.set_random_seed(1)
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
source = np.array([[*tokenizer("The girl is happy."), tokenizer.end_token_id]])
target = np.array([[tokenizer.start_token_id, *tokenizer("Das Mädchen ist glücklich.")]])
memory = backbone.encode(source, np.ones_like(source), training=False)
(_, S), (_, T) = source.shape, target.shape
print(f"S = {S}, T = {T}, memory (B, S, D) = {tuple(memory.shape)}")

# %% [markdown]
# To write a piece, the slow way runs the decoder over the whole prefix and keeps one row: the
# logits after the last piece.


# %%
def hidden_states(prefix):
    """The decoder's output (B, t, D) for a prefix (B, t)."""
    masks = np.ones_like(source), np.ones_like(prefix)
    return backbone.decode(memory, masks[0], prefix, masks[1], training=False)


def slow_logits(prefix):
    """Logits (B, V) of the piece that follows a prefix (B, t)."""
    return backbone.token_embedding(hidden_states(prefix), reverse=True)[:, -1]


# %%
slow = [ops.convert_to_numpy(slow_logits(target[:, : t + 1])) for t in range(T)]
print([tokenizer.id_to_token(int(logits.argmax())) for logits in slow])

# %% [markdown]
# **Predict:** The decoder has written 7 pieces, and for each of them it computed every position of
# the prefix again. How many positions were computed in all?

# %%
positions = sum(t + 1 for t in range(T))
print(f"{positions} positions computed for {T} pieces")
assert positions == T * (T + 1) // 2

# %% [markdown]
# That is T(T + 1) / 2 positions, and only T of them are new.
#
# ## What is computed twice
#
# The causal mask lets position t see only positions up to t.
#
# **Predict:** The prefix grows from 3 pieces to 7. By how much do the decoder's outputs at the
# first 3 positions change?

# %%
whole = ops.convert_to_numpy(hidden_states(target))
for t in range(1, T):
    prefix = ops.convert_to_numpy(hidden_states(target[:, :t]))
    print(f"prefix of {t}: largest difference {np.abs(prefix - whole[:, :t]).max():.1e}")
    np.testing.assert_allclose(prefix, whole[:, :t], atol=1e-4)

# %% [markdown]
# Here they do not change at all, and on other machines at most by rounding. A longer prefix changes
# nothing at the earlier positions, in any layer.
#
# What does the new position need from the earlier ones? In equation 1 it has its own **query**;
# from the others it needs their **keys** and **values**. These no longer change, so they can be
# kept.
#
# ## A cache by hand
#
# We take one attention layer over T positions, first all at once with a causal mask:

# %%
from aiayn_keras.layers import MultiHeadAttention, make_causal_mask

# %%
D, H, K = 12, 3, 4
attention = MultiHeadAttention(num_heads=H, key_dim=K)
x = np.random.default_rng(0).normal(size=(1, T, D)).astype("float32")
at_once = attention(x, x, make_causal_mask(np.ones((1, T), "int32")))
print("at once:", tuple(at_once.shape))

# %% [markdown]
# Now the same, position by position. Each step projects one position, appends its key and value,
# and lets one query attend to all keys and values so far. No mask is needed, since the future does
# not exist yet.

# %%
keys, values = (np.zeros((1, H, 0, K), "float32") for _ in range(2))
for t in range(T):
    new = x[:, t : t + 1]  # (B, 1, D)
    key, value = attention.project_memory(new)  # (B, H, 1, K) each
    keys = np.concatenate([keys, key], axis=2)
    values = np.concatenate([values, value], axis=2)
    y = attention.attend(new, keys, values)
    np.testing.assert_allclose(y[:, 0], at_once[:, t], atol=1e-5)
    print(f"step {t}: query {new.shape[:2]}, keys {keys.shape}, output {tuple(y.shape)}")
assert keys.shape == values.shape == (1, H, T, K)

# %% [markdown]
# The numbers are the same as all at once, and the third axis of the keys grows by one in each step.
# The drawing shows the step that writes position t:

# %%
from drawings import draw_shapes

draw_shapes(
    "new (B, 1, D)",
    "project",
    "key (B, H, 1, K)",
    "append",
    "keys (B, H, t + 1, K)",
    "attend",
    "(B, 1, D)",
)

# %% [markdown]
# ## The package's step
#
# `start_decoding` encodes the source, projects its keys and values for all layers **once**, and
# returns a function that makes one step with a cache.

# %%
from aiayn_keras.decoding.cached_decoding import start_decoding

next_token, cache = start_decoding(backbone, source, np.ones_like(source), length=T + 1)
for t in range(T):
    logits, _, cache = next_token(target, cache, ops.convert_to_tensor(t + 1))
    np.testing.assert_allclose(logits, slow[t], atol=1e-3)
    print(f"step {t}: largest difference {np.abs(np.array(logits) - slow[t]).max():.1e}")

# %% [markdown]
# The logits are the same at each of the T steps. The keys of the source are (B, H, S, K) for each
# layer: they are shared by all steps, and by all beams of a sentence.

# %%
H, K = backbone.num_heads, backbone.key_dim
print(f"source: {backbone.num_layers} layers × 2 × {(1, H, S, K)}")
assert len(cache.memory) == backbone.num_layers
assert all(key.shape == value.shape == (1, H, S, K) for key, value in cache.memory)

# %% [markdown]
# ## Beams share the cache
#
# In a beam search, sentences branch and die at each step, and a naive cache reorders all keys and
# values each time. Here each key and value stays in the *slot* of the beam that wrote it. Only a
# small table is reordered, which says through which slots a beam's sentence has come. The page
# below shows them in its grid "Keys and values in the cache", a column for each step and a row for
# each beam. Choose a step, then a hypothesis. Its slots are dark; they change rows wherever the
# hypothesis came from the other beam. (The page is shown where the notebook runs, and in the web
# site that `make book` builds, but not in GitHub's preview.)

# %%
from aiayn_keras.plotting import decoding_steps

decoding_steps(model.record_search("The girl is happy.", beam_counts=(2,)))

# %% [markdown]
# ## What a piece still costs, counted
#
# A step with the cache projects one position and runs it through the feed-forward network: the same
# work for every piece. But its query meets t keys and t values, so the attention of step t costs
# 2·t·D multiply-adds for each layer, and over all T steps this grows with T². (Without the cache
# each step runs the attention of t positions anew, and the sum grows with T³.) For this model,
# these are the multiply-adds of step t:


# %%
def work_of_step(t):
    """Multiply-adds that do not depend on t, and those of attention over the cache."""
    N, D, F = backbone.num_layers, backbone.hidden_dim, backbone.intermediate_dim
    V = backbone.vocabulary_size
    one_position = N * (6 * D * D + 2 * S * D + 2 * D * F) + V * D  # six projections per layer
    return one_position, N * 2 * t * D


# %% [markdown]
# **Predict:** Here N = 2, D = 128, F = 256, V = 1,000 and S = 6. At the hundredth piece, what share
# of a step's work is attention over the cache? And at the ten-thousandth?

# %%
for t in (1, 100, 1000, 10_000):
    fixed, grows = work_of_step(t)
    print(f"piece {t:6,}: {fixed:,} + {grows:,}, {grows / (fixed + grows):.0%} over the cache")
fixed, grows = map(sum, zip(*map(work_of_step, range(1, 101)), strict=True))
assert grows == backbone.num_layers * backbone.hidden_dim * 100 * 101  # quadratic in the length
assert grows < 0.1 * fixed

# %% [markdown]
# So the hundredth piece takes a tenth more work than the first, and in a text of ten thousand
# pieces attention over the cache would be most of the work. With the cache, the decoder computes T
# positions instead of T²/2. The work of its attention grows with T² instead of T³, but still faster
# than T.
#
# ## Time for each piece, measured
#
# To measure both ways, we use the same greedy search for them, so that nothing else differs:
# `forced_searches`, in `lesson_tools.py` beside this notebook, makes the two. The slow one runs the
# decoder over the whole prefix in each step; both are compiled into one graph. The length is
# forced: the end token is forbidden until the limit.
#
# Before we time anything: do both write the same? We take a batch of 4 sentences, 32 pieces each.

# %%
from lesson_tools import forced_searches

# %%
B, lengths = 4, [16, 32, 64, 128, 192]
ways = forced_searches(model)
sources = np.repeat(source, B, axis=0)
ids = {name: write(sources, lengths[1]) for name, write in ways.items()}
print({name: rows.shape for name, rows in ids.items()}, "and the first:", ids["cache"][0, :9])
assert ids["cache"].shape == (B, lengths[1] + 1)  # <s> and the pieces
np.testing.assert_array_equal(ids["cache"], ids["whole prefix"])

# %% [markdown]
# They write the same. Next we measure the times, on one core. `process_time` counts the time that
# the processor works for us, not for other programs. The two take turns, and we keep the fastest
# time of each.

# %%
from time import process_time


def seconds(write, length):
    start = process_time()
    write(sources, length)
    return process_time() - start


# %%
rounds = [[[seconds(write, n) for n in lengths] for write in ways.values()] for _ in range(5)]
measured = dict(zip(ways, np.min(rounds, axis=0), strict=True))
print(f"{'pieces':>12}", *(f"{n:7}" for n in lengths))
for name, times in measured.items():
    print(f"{name:>12}", *(f"{time:7.3f}" for time in times), "s")

# %% [markdown]
# We divide these times by the number of pieces in all B sentences, which gives the mean time of a
# piece in a text of that length.
#
# **Predict:** How many times as long does each way take for a piece in a text of 192 pieces as in
# one of 32?

# %%
pieces = B * np.array(lengths)  # of all sentences together
assert pieces[1] == ids["cache"][:, 1:].size
per_piece = {name: 1000 * times / pieces for name, times in measured.items()}
for name, milliseconds in per_piece.items():
    factor = f"{milliseconds[-1] / milliseconds[1]:.1f} times as long"
    print(f"{name:>12}", *(f"{time:7.3f}" for time in milliseconds), f"ms per piece, {factor}")
assert per_piece["cache"][-1] < per_piece["whole prefix"][-1]
added = 1000 * np.diff(measured["cache"]) / np.diff(pieces)
print("cache, an added piece from one length to the next:", added.round(3), "ms")

# %% [markdown]
# Without the cache, the longer the text, the longer each piece takes. With it, the mean time of a
# piece stays about the same, or falls, as the fixed cost of a call is shared by more pieces. So the
# mean hides what a late piece costs; the last line removes the fixed cost by subtracting the times
# of neighbouring lengths. These differences are noisy, but they do not keep growing: at these
# lengths attention over the cache is a small part of the work. For short translations the cache may
# not save time: running the decoder over a short prefix is cheap, and the cache has costs of its
# own in each step.
#
# ## Seconds against length
#
# On logarithmic axes, a time that grows with the length is a line of slope 1, and one that grows
# with its square has slope 2. The dotted guides have these slopes, and pass through the last
# points.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

# %%
figure = Figure(figsize=(8.5, 3.8), layout="constrained")
left, right = figure.subplots(1, 2)
for (name, times), marker, color, slope in zip(
    measured.items(), "so", COLORS[1::-1], (2, 1), strict=True
):
    left.loglog(lengths, times, marker=marker, color=color, label=name)
    guide = times[-1] * (np.array(lengths) / lengths[-1]) ** slope
    left.loglog(lengths, guide, ":", color="#777777")
    left.text(lengths[2], 0.85 * guide[2], f"slope {slope}", color="#555555", va="top")
    right.plot(lengths, per_piece[name], marker=marker, color=color, label=name)

# %% [markdown]
# How near do the lines come to their guides?

# %%
last = np.log(lengths[-1] / lengths[-2])
slopes = {name: np.log(times[-1] / times[-2]) / last for name, times in measured.items()}
print("slope between the last two points:", {name: f"{x:.1f}" for name, x in slopes.items()})

# %%
left.set_xticks(lengths, lengths)
left.set_xticks([], minor=True)
left.set(xlabel="pieces in each sentence", ylabel=f"seconds for {B} sentences, one core")
left.margins(y=0.12)
right.set(
    xlabel="pieces in each sentence", ylabel="milliseconds for a piece, on average", ylim=(0, None)
)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
figure

# %% [markdown]
# The slope of the whole prefix comes near 2 but does not reach it here: at these lengths a part of
# its time is still the fixed cost of each step, and T steps cost only T times as much. The slope of
# the cache stays near 1 or below it, since longer texts share the fixed cost of a call.

# %% [markdown]
# ## In three lines
#
# 1. Under a causal mask earlier positions never change, so their keys and values can be kept.
# 2. Each step then computes one position, which attends to the cache; the logits stay the same.
# 3. T pieces cost T positions instead of T(T + 1) / 2; attention over the cache grows with T²
#    rather than T³, and the cache takes memory.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/09_not_computing_twice.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** How many bytes does the self-attention cache of the paper's base model take for one
# sentence of 1,024 positions and one beam, in float32? Compute it from the numbers of layers and
# heads and the width of a head. (`TransformerBackbone.presets` holds the models; the base model is
# the default.)

# %% [markdown]
# **2.** What would go wrong with a cache if the decoder's self-attention had no causal mask? Show
# with a `MultiHeadAttention` that without the mask the first position's output changes when the
# prefix grows by one.

# %% [markdown]
# ## Your turn
#
# From what t on is attention over the cache more work than all the rest of a step? Find it with
# `work_of_step` in the empty cell, and say what the answer would be for a model twice as wide.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [10 · Why self-attention](10_why_self_attention.ipynb), where three kinds of layer are
# compared.
