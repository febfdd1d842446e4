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
# **Why does a Transformer write its hundredth word as fast as its first?** A decoder that reads
# its whole prefix again for every word does more work with each word. We find out what it computes
# twice, keep that in a cache, and check that the numbers stay the same: first by hand for one
# attention layer, then for the package's decoder. The paper does not speak of this; it follows
# from the causal mask of its section 3.1.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## The slow way
#
# The model of the other notebooks, one source sentence, and its translation as token ids. The
# source is encoded once; `memory` is what the decoder looks at.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)  # one core, for clean times
tf.config.threading.set_inter_op_parallelism_threads(1)

# %%
import keras
import numpy as np
from keras import ops

import aiayn_keras as ak

keras.utils.set_random_seed(1)

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
backbone, tokenizer = model.backbone, model.preprocessor.tokenizer

# %% [markdown]
# The source ends with the end token; what the decoder reads begins with the start token.


# %%
def as_row(text, start=(), end=()):
    return np.array([[*start, *tokenizer([text])[0], *end]], "int32")


# %%
source = as_row("The girl is happy.", end=[tokenizer.end_token_id])
target = as_row("Das Mädchen ist glücklich.", start=[tokenizer.start_token_id])
memory = backbone.encode(source, np.ones_like(source), training=False)
(_, S), (_, T) = source.shape, target.shape
print(f"S = {S}, T = {T}, D = {backbone.hidden_dim}")

# %% [markdown]
# To write a token, the slow way runs the decoder over the whole prefix and keeps one row: the
# logits behind the last token.


# %%
def slow_logits(prefix):
    """Logits (B, V) of the token that follows a prefix (B, t)."""
    ones = np.ones_like(source), np.ones_like(prefix)
    hidden = backbone.decode(memory, ones[0], prefix, ones[1], training=False)  # (B, t, D)
    return backbone.token_embedding(hidden, reverse=True)[:, -1]


# %%
slow = [ops.convert_to_numpy(slow_logits(target[:, : t + 1])) for t in range(T)]
print([tokenizer.id_to_token(int(logits.argmax())) for logits in slow])

# %% [markdown]
# Writing T tokens this way computes 1 + 2 + … + T = T(T + 1) / 2 positions, for T that are new.

# %%
positions = sum(t + 1 for t in range(T))
print(f"{positions} positions computed for {T} tokens")
assert positions == T * (T + 1) // 2

# %% [markdown]
# ## What is computed twice
#
# The causal mask lets position t see only positions up to t. So a longer prefix changes nothing at
# the earlier positions, in no layer:


# %%
def hidden_states(prefix):
    ones = np.ones_like(source), np.ones_like(prefix)
    return ops.convert_to_numpy(backbone.decode(memory, ones[0], prefix, ones[1], training=False))


# %%
whole = hidden_states(target)
for t in range(1, T):
    np.testing.assert_allclose(hidden_states(target[:, :t]), whole[:, :t], atol=1e-4)

# %% [markdown]
# What does the new position need of the earlier ones? In equation 1 only its own **query** asks;
# of the others it needs their **keys** and **values**. These do not change any more, so they can
# be kept.
#
# ## A cache by hand
#
# One attention layer over T positions, all at once with a causal mask:

# %%
from aiayn_keras.layers import MultiHeadAttention, make_causal_mask

D, H, K = 12, 3, 4
attention = MultiHeadAttention(num_heads=H, key_dim=K)
x = np.random.default_rng(0).normal(size=(1, T, D)).astype("float32")
at_once = attention(x, x, make_causal_mask(np.ones((1, T), "int32")))
print("at once:", tuple(at_once.shape))

# %% [markdown]
# And position by position. Each step projects one position, appends its key and value, and lets
# one query attend to all of them. No mask is needed: the future is not there yet.

# %%
keys, values = (np.zeros((1, H, 0, K), "float32") for _ in range(2))
for t in range(T):
    new = x[:, t : t + 1]  # (B, 1, D)
    key, value = attention.project_memory(new)  # (B, H, 1, K) each
    keys = np.concatenate([keys, key], axis=2)
    values = np.concatenate([values, value], axis=2)
    y = attention.attend(new, keys, values)
    np.testing.assert_allclose(y[:, 0], at_once[:, t], atol=1e-5)
assert keys.shape == values.shape == (1, H, T, K)

# %% [markdown]
# ## The package's step
#
# `start_decoding` encodes the source, projects its keys and values for all layers **once**, and
# returns a function that makes one step with a cache.

# %%
from aiayn_keras.decoding.decoder_step import start_decoding

next_token, cache = start_decoding(backbone, source, np.ones_like(source), length=T + 1)
for t in range(T):
    logits, _, cache = next_token(target, cache, ops.convert_to_tensor(t + 1))
    np.testing.assert_allclose(logits, slow[t], atol=1e-3)

# %% [markdown]
# The same logits at each of the T steps. The keys of the source are (B, H, S, K) for each layer:
# they are shared by all steps, and by all beams of a sentence.

# %%
H, K = backbone.num_heads, backbone.key_dim
assert len(cache.memory) == backbone.num_layers
assert all(key.shape == value.shape == (1, H, S, K) for key, value in cache.memory)
print(f"source: {backbone.num_layers} layers × 2 × {(1, H, S, K)}")

# %% [markdown]
# ## Beams share the cache
#
# In a beam search sentences branch and die at each step, and a naive cache copies all keys and
# values each time. Here they stay where they were written, each in the slot of the beam that wrote
# it. `visible` says which slots a beam has come through, and only this small table is reordered.

# %%
from aiayn_keras.decoding.cache import DecoderCache

visible = np.array([[[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 0, 1]]], "bool")  # (B, W, L·W), L = 3, W = 2
blocks = [np.zeros((1, H, 3 * 2, K))]  # (B, H, L·W, K)
before = DecoderCache((), None, blocks, visible)
after = before.reorder(np.array([[1, 1]]))  # both go on from beam 1
print(ops.convert_to_numpy(after.visible).astype(int).tolist())
assert after.blocks is before.blocks

# %% [markdown]
# ## Seconds against length
#
# Both ways now go through the same search, with one beam, so that nothing else differs. The slow
# one runs the decoder over the whole prefix in each step; both are compiled into one graph. Length
# is forced: the end token is forbidden until the limit.


# %%
from aiayn_keras.decoding.cache import ForeignCache


def slow_next(token_ids, cache, index):
    memory, prefix = cache.rows, token_ids[:, :index]
    masks = ops.ones_like(memory[:, :, 0]), ops.ones_like(prefix)
    hidden = backbone.decode(memory, masks[0], prefix, masks[1], training=False)[:, -1]
    return backbone.token_embedding(hidden, reverse=True), hidden, cache


# %%
from aiayn_keras.decoding.beam_search import beam_search
from aiayn_keras.decoding.search_options import SearchOptions


def write(next_token, cache, prompt):
    options, end = SearchOptions(num_beams=1, length_penalty=0.0), tokenizer.end_token_id
    forbidden = {"forbidden_token_ids": (tokenizer.pad_token_id, end)}
    return beam_search(next_token, cache, prompt, prompt > 0, options, end, **forbidden)


# %% [markdown]
# Each way as one function of a source and a prompt, which is the start token and room for what
# follows.

# %%
from aiayn_keras.backend import compile_inference


def slowly(source, prompt):
    memory = backbone.encode(source, ops.ones_like(source), training=False)
    return write(slow_next, ForeignCache(memory), prompt)


def with_cache(source, prompt):
    length = ops.shape(prompt)[1]
    step, cache = start_decoding(backbone, source, ops.ones_like(source), length, num_beams=1)
    return write(step, cache, prompt)


# %%
ways = {"whole prefix": slowly, "cache": with_cache}
ways = {name: compile_inference(function, model) for name, function in ways.items()}

# %% [markdown]
# Before anything is timed: do both write the same? A batch of 4 sentences, 32 tokens each.

# %%
B, lengths = 4, [16, 32, 64, 128, 192]
sources = np.repeat(source, B, axis=0)


def prompt_of(length):
    return np.array([[tokenizer.start_token_id] + [0] * length] * B, "int32")


# %%
ids = {name: np.array(way(sources, prompt_of(32))[0]) for name, way in ways.items()}
assert ids["cache"].shape == (B, 1, 33)  # B sentences, one hypothesis each, <s> and 32 tokens
np.testing.assert_array_equal(ids["cache"], ids["whole prefix"])

# %% [markdown]
# The same tokens. Now the times on one core. `process_time` counts the time that the processor
# works for us, not for other programs. The two take turns for five rounds and we keep the fastest
# of each.

# %%
from time import process_time


def seconds(way, length):
    start = process_time()
    np.array(way(sources, prompt_of(length))[0])
    return process_time() - start


# %% [markdown]
# Five lengths, two ways, five rounds:

# %%
rounds = [[[seconds(way, n) for n in lengths] for way in ways.values()] for _ in range(5)]
measured = dict(zip(ways, np.min(rounds, axis=0), strict=True))
for name, times in measured.items():
    print(f"{name:>12}:", *(f"{time:.3f} s" for time in times))

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.subplots()

# %%
for (name, times), marker, color in zip(measured.items(), "so", COLORS[1::-1], strict=True):
    axes.plot(lengths, times, marker=marker, color=color)
    axes.annotate(name, (lengths[-1], times[-1]), (8, 0), textcoords="offset points", color=color)
axes.set(xlim=(0, 235), xticks=lengths, ylim=(0, None))
axes.set(xlabel="tokens written", ylabel=f"seconds for {B} sentences, one core")
axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# With the cache the time grows nearly in a straight line: each step computes one position. Without
# it the curve bends upward, since the number of computed positions grows with the square of the
# length.

# %% [markdown]
# ## In three lines
#
# 1. Under a causal mask earlier positions never change, so their keys and values can be kept.
# 2. A step then computes one position and attends to the cache; the logits stay the same.
# 3. T tokens cost T positions instead of T(T + 1) / 2; the price is memory.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** How many bytes does the self-attention cache of the paper's base model take for one
# sentence of 1,024 positions and one beam, in float32? Compute it from the number of layers, heads
# and the width of a head. (`TransformerBackbone.presets` holds the models; the base model is the
# default.)

# %% tags=["solution"] jupyter={"source_hidden": true}
num_layers, num_heads, key_dim, length = 6, 8, 64, 1024
num_bytes = num_layers * 2 * num_heads * length * key_dim * 4  # keys and values, 4 bytes each
print(f"{num_bytes:,} bytes = {num_bytes / 2**20:g} MiB")
assert num_bytes == 25_165_824 == 24 * 2**20

# %% [markdown]
# **2.** What would go wrong with a cache if the decoder's self-attention had no causal mask? Show
# with `attention` and `x` that without the mask the first position's output changes when the
# prefix grows by one.

# %% tags=["solution"] jupyter={"source_hidden": true}
shorter, longer = (attention(x[:, :t], x[:, :t]) for t in (T - 1, T))  # no mask: all see all
assert np.abs(shorter[:, 0] - longer[:, 0]).max() > 1e-3  # what was kept would be stale
causal = [make_causal_mask(np.ones((1, t), "int32")) for t in (T - 1, T)]
shorter, longer = (attention(x[:, : mask.shape[1]], x[:, : mask.shape[1]], mask) for mask in causal)
np.testing.assert_allclose(shorter[:, 0], longer[:, 0], atol=1e-5)

# %% [markdown]
# Next: [10 · Why self-attention](10_why_self_attention.ipynb), where three kinds of layer race.
