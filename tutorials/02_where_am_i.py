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
# # 02 · Where am I?
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/02_where_am_i.ipynb)
#
# **How does a model that is blind to order know where a word stands?** We show that attention alone
# cannot tell *dog bites man* from *man bites dog*, and build the paper's sinusoids from their
# formula. Then we find out why they suit attention, and why embeddings are multiplied by √d_model
# before the two are added (paper, sections 3.4 and 3.5).
#
# *40 minutes · you need notebook 00, and sine, cosine and dot products.* Afterwards you can compute
# the paper's positions by hand, say why a shift of positions is a rotation, and say what √d_model
# is for.

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

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import aiayn_keras as ak
from aiayn_keras import layers
from aiayn_keras.plotting import COLORS
from drawings import draw_architecture, draw_shapes

# %% [markdown]
# Blue marks what this notebook builds: the table of embeddings with its factor √D, and the
# positions that are added to it.

# %%
draw_architecture("embedding", "positions")

# %% [markdown]
# ## Attention is blind to order
#
# We take a sentence of T = 7 random vectors of width D = 12, each standing for a word, and the same
# vectors in a different order, as in *dog bites man* and *man bites dog*. Notebooks 03 and 05 build
# attention; here it is a black box: `attention(a, b)` gives each vector of `a` a weighted mean made
# from the vectors of `b`.

# %%
keras.utils.set_random_seed(1)
T, D = 7, 12
x = np.random.normal(size=(1, T, D)).astype("float32")
order = np.random.permutation(T)
attention = layers.MultiHeadAttention(num_heads=3, key_dim=4)
y = ops.convert_to_numpy(attention(x, x))
y_shuffled = ops.convert_to_numpy(attention(x[:, order], x[:, order]))
order, y.shape, y_shuffled.shape

# %% [markdown]
# Now we put the outputs of the shuffled sentence back into the original order.
#
# **Predict:** How far do they differ from the outputs of the sentence as it was?

# %%
difference = np.abs(y_shuffled - y[:, order]).max()
print(f"largest difference: {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# They differ only by rounding. Every vector gets the same answer as before, in a different place,
# so the outputs do not reveal the order of the inputs. The outputs of a whole encoder would not
# reveal it either, since its other parts work on each position alone (notebook 06a): if you shuffle
# the source, you get the same vectors, shuffled. So the position must be *in* the vectors.

# %% [markdown]
# ## The formula, one number at a time
#
# The paper gives each position `pos` a vector of D numbers: sines and cosines alternate, and along
# `pos` each pair of them goes round more slowly than the pair before (section 3.5).
#
# $$PE_{(pos,\,2i)} = \sin\left(pos / 10000^{2i/D}\right) \qquad
# PE_{(pos,\,2i+1)} = \cos\left(pos / 10000^{2i/D}\right)$$


# %%
def encoding_by_hand(length, D):
    encoding = np.zeros((length, D))
    for pos in range(length):
        for i in range(D // 2):
            angle = pos / 10_000 ** (2 * i / D)
            encoding[pos, 2 * i] = np.sin(angle)
            encoding[pos, 2 * i + 1] = np.cos(angle)
    return encoding


# %% [markdown]
# Here are three positions with vectors of D = 6 numbers. Each row is a position.
#
# **Predict:** What is the first row, at position 0?

# %%
np.round(encoding_by_hand(3, 6), 3)

# %% [markdown]
# sin 0 = 0 and cos 0 = 1, alternating. The package computes the same without loops.

# %%
D = 256
encoding = layers.sinusoidal_encoding(100, D)
np.testing.assert_allclose(encoding, encoding_by_hand(100, D), atol=1e-6)
encoding.shape

# %% [markdown]
# ## Clocks
#
# Each pair of columns is the hand of a clock. The fastest turns once in 2π ≈ 6.3 positions, the
# slowest here takes nearly 10000 · 2π. A fast hand distinguishes neighbours; a slow one
# distinguishes the beginning of a text from its end.

# %%
wavelengths = 2 * np.pi * 10_000 ** (np.arange(0, D, 2) / D)
print(f"{wavelengths[0]:.1f}, {wavelengths[1]:.1f}, ... {wavelengths[-1]:,.0f} positions")
assert np.isclose(wavelengths[0], 2 * np.pi)
assert 0.8 < wavelengths[-1] / (10_000 * 2 * np.pi) < 1

# %% [markdown]
# ## Why sines: a shift is a rotation
#
# To look "three back" a model needs one rule for all positions. Clocks provide one: from `pos` to
# `pos + k` each hand turns by the same angle, wherever it stands. A rotation is a matrix, and
# attention multiplies its inputs by matrices that it learns (notebook 03), so it *could* learn this
# one. The paper gives this as its reason, as a hypothesis.


# %%
def shift_matrix(k, D):
    """The matrix M with PE(pos + k) = M PE(pos), for every pos."""
    M = np.zeros((D, D))
    for i in range(0, D, 2):
        angle = k / 10_000 ** (i / D)
        M[i : i + 2, i : i + 2] = [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
    return M


# %% [markdown]
# One matrix takes every position three further:

# %%
k = 3
difference = np.abs(encoding[k:] - encoding[:-k] @ shift_matrix(k, D).T).max()
print(f"largest difference over {len(encoding) - k} positions: {difference:.6f}")
assert difference < 1e-5

# %% [markdown]
# Attention compares vectors by dot products (notebook 03). The dot product of two *encodings*
# depends on their distance alone: $\sum_i \cos\left(k / 10000^{2i/D}\right)$.
#
# **Predict:** What is it at distance 0, where each of the D/2 = 128 pairs gives sin² + cos²?

# %%
products = encoding @ encoding.T
for k in (0, 1, 10, 50):
    expected = np.cos(k / 10_000 ** (np.arange(0, D, 2) / D)).sum()
    np.testing.assert_allclose(np.diagonal(products, k), expected, rtol=1e-4)
    print(f"distance {k:2}: {expected:5.1f}, for all {100 - k} pairs of positions")
assert np.isclose(products[0, 0], D / 2)

# %% [markdown]
# This holds for the encodings as they are. But attention first multiplies them by its matrices W_Q
# and W_K, and these can destroy the property.
#
# **Predict:** With two random matrices, is the product of positions 0 and 1 still that of positions
# 50 and 51?

# %%
W_Q, W_K = np.random.default_rng(1).normal(size=(2, D, D)) / np.sqrt(D)
projected = np.diagonal((encoding @ W_Q) @ (encoding @ W_K).T, 1)
print(f"distance 1, after W_Q and W_K: from {projected.min():.1f} to {projected.max():.1f}")
assert np.ptp(projected) > 1 > np.ptp(np.diagonal(products, 1))

# %% [markdown]
# No. Training may find matrices that keep the dependence on distance alone; nothing forces it to.

# %% [markdown]
# ## Why √d_model
#
# One matrix serves as embedding and as output (section 3.4). For the output its rows must be short:
# a logit is the dot product of a row with the decoder's output, and with long rows the logits would
# be so far apart that the model would be sure of some piece before it had learned anything. So the
# numbers of a row begin with standard deviation 1/√D, and a row has length about 1. The encoding
# has length √(D/2) = 11.3: added to such a row, the position would be eleven times as long as the
# word. (The paper multiplies without saying why; this is the usual explanation.) Keras calls a
# matrix that serves both ways a `ReversibleEmbedding`.

# %%
embedding = keras.layers.ReversibleEmbedding(
    1_000, D, embeddings_initializer=keras.initializers.RandomNormal(stddev=D**-0.5)
)
vectors = ops.convert_to_numpy(embedding(np.arange(1_000)))
lengths = np.linalg.norm(vectors, axis=1)
print(f"word {lengths.mean():.2f}, position {np.linalg.norm(encoding[0]):.2f}")
assert abs(lengths.mean() - 1) < 0.05
assert np.isclose(np.linalg.norm(encoding[0]), np.sqrt(128))

# %% [markdown]
# Multiplied by √D = 16, the word is the longer of the two. Training may change the lengths of the
# words, but not those of the positions. The included English-Spanish model has D = 256, too.
#
# **Predict:** Are its words, after training, longer or shorter than the 16 they began with?

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
table = ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
trained = np.sqrt(D) * np.linalg.norm(table, axis=1)
print(f"begins at {np.sqrt(D) * lengths.mean():.1f}, positions {np.sqrt(D / 2):.1f}")
print(f"trained {trained.mean():.1f}, 9 of 10 pieces over {np.percentile(trained, 10):.1f}")
assert np.percentile(trained, 10) > np.sqrt(D / 2)

# %% [markdown]
# The *directions* of the rows say more than their lengths. The cosine of the angle between two rows
# is 1 if they point the same way, and near 0 if they are unrelated.
#
# **Predict:** The model has English and Spanish pieces in one table. Which rows point most nearly
# in the direction of `▁three`? Is its translation `▁tres` among them?

# %%
pieces = model.preprocessor.tokenizer
directions = table / np.linalg.norm(table, axis=1, keepdims=True)
for word in ("▁three", "▁night", "▁eat", "▁doctor"):
    cosines = directions @ directions[pieces.token_to_id(word)]
    nearest = np.argsort(-cosines)[1:6]  # without itself
    print(f"{word:>8}:", *(f"{pieces.id_to_token(int(i))} {cosines[i]:.2f}" for i in nearest))

# %%
three, tres, five = (directions[pieces.token_to_id(word)] for word in ("▁three", "▁tres", "▁five"))
print(f"three and five: {three @ five:.2f}, three and tres: {three @ tres:.2f}")
assert three @ five > three @ tres

# %% [markdown]
# The nearest row often belongs to the same word in capitals. Numbers are near numbers, times of day
# near times of day, forms of a verb near each other: these occur in the same places, so the model
# treats them alike. Most translations are not near. The encoder reads English rows, the decoder
# reads and writes Spanish ones. Nothing in the training asks the two kinds of row to agree, since
# the whole model lies between them. (*doctor* is a word of both languages, so its row is read on
# both sides, which may be why *médico* is near.)

# %% [markdown]
# ## The layer
#
# `PositionalEmbedding` does both: scale and add. In training it also sets some numbers of the sum
# to 0, which is called *dropout* (section 5.4, notebook 06a).

# %%
draw_shapes("ids (B, T)", "look up", "(B, T, D)", "× √D, + (T, D)", "(B, T, D)")

# %% [markdown]
# By hand, scaling and adding take one line.

# %%
layer = layers.PositionalEmbedding(max_sequence_length=100, dropout=0.1)
words = vectors[np.newaxis, :T]  # (B, T, D) = (1, 7, 256)
ones = np.ones((1, T), dtype="int32")
by_hand = np.sqrt(D) * words + encoding[:T]
np.testing.assert_allclose(layer(words, ones, training=False), by_hand, atol=1e-5)
by_hand.shape

# %% [markdown]
# Two sentences may share a row, to waste less on padding. The mask numbers them, and positions
# start again with each.

# %%
packed = np.array([[1, 1, 1, 2, 2, 2, 2]], dtype="int32")
positions = ops.convert_to_numpy(layers.sentence_positions(packed))
print(positions)
assert positions.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
by_hand = np.sqrt(D) * words + encoding[positions]
np.testing.assert_allclose(layer(words, packed, training=False), by_hand, atol=1e-5)

# %% [markdown]
# With positions in the vectors, order matters. The encoder of the trained model reads a sentence,
# and then the same pieces in a different order. (Its output, a vector for each piece, is the
# *memory* that the decoder looks at.)

# %%
tokenizer = model.preprocessor.tokenizer
ids = np.array([tokenizer("The dog saw the cat.")])
order = [3, 4, 2, 0, 1, 5]
for row in (ids[0], ids[0, order]):
    print(*(tokenizer.id_to_token(int(i)) for i in row))
assert ids.shape == (1, 6)

# %% [markdown]
# **Predict:** We measure how far the encoder's vector of each piece moves. Which pieces move least?

# %%
memory, other = (
    ops.convert_to_numpy(model.backbone.encode(i, np.ones_like(i))) for i in (ids, ids[:, order])
)
moved = np.linalg.norm(other - memory[:, order], axis=-1)[0]
for i, distance in zip(ids[0, order], moved, strict=True):
    print(f"{tokenizer.id_to_token(int(i)):>6} {distance:5.1f}")
print(f"length of such a vector: {np.linalg.norm(memory, axis=-1).mean():.1f}")
assert moved.min() > 0.5

# %% [markdown]
# `▁saw` and the full stop kept their places and changed least; the four pieces that moved changed
# by about two thirds of a vector's length or more. So the vectors of the two sentences differ, and
# the decoder that reads them can tell who saw whom.

# %% [markdown]
# ## The picture
#
# The picture shows the encoding of 60 positions, each in a row. The width is only D = 64, so that
# the columns can be seen. The 32 sines (even dimensions) have one panel, and the 32 cosines (odd
# dimensions) the other. Column i of both is one clock.

# %%
narrow = layers.sinusoidal_encoding(60, 64)
halves = {"sines: dimension 2i": narrow[:, 0::2], "cosines: dimension 2i + 1": narrow[:, 1::2]}
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for panel, (name, half) in zip(panels, halves.items(), strict=True):
    image = panel.imshow(half, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    panel.set(title=name, xlabel="number of the clock i")
panels[0].set_ylabel("position (pieces)")
figure.colorbar(image, ax=panels, label="value")
plt.show()

# %% [markdown]
# Fast clocks are on the left of each panel; those on the right hardly move within a sentence: their
# sine stays near 0, their cosine near 1. The next figure shows the dot product of two positions
# against their distance. It is divided by D/2, so that widths can be compared.

# %%
figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
for width, color, style in ((32, COLORS[0], "-"), (128, COLORS[1], "--"), (512, COLORS[2], ":")):
    wide = layers.sinusoidal_encoding(60, width)
    axes.plot(wide @ wide[0] / (width / 2), color=color, linestyle=style, label=f"D = {width}")
axes.set(xlabel="distance (pieces)", ylabel="dot product / (D/2)", ylim=(0, 1.05))
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# Nearby positions are alike, distant ones less so: the dot product falls steeply over the first few
# pieces, then slowly. With a wide encoding it falls smoothly, with a narrow one it ripples.

# %% [markdown]
# ## In three lines
#
# 1. Attention treats its inputs as a set: order must be written into the vectors.
# 2. Sinusoids make a shift a rotation, and the dot product of two encodings a function of distance
#    alone; after W_Q and W_K this still holds only if training keeps it.
# 3. Embeddings are multiplied by √d_model, so that words are longer than their positions.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/02_where_am_i.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Some code puts all sines first and all cosines after them. Show that this is the paper's
# encoding with its columns in a different order. Does that change the dot product of two positions?
# (tensor2tensor's code does this, and also spaces its wavelengths a little differently.)

# %% [markdown]
# **2.** In row E of the paper's Table 3 the positions are learned, as by `PositionalEmbedding(1024,
# kind="learned")`. How many numbers does that add for each side at D = 512 and 1,024 positions?
# Does the sinusoidal layer have any weights?

# %% [markdown]
# ## Your turn
#
# Replace 10,000 by 100 in `encoding_by_hand`, and draw the dot product against the distance once
# more, up to 500. At what distance does it stop falling? And with 10,000?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [03 · Attention by hand](03_attention_by_hand.ipynb)
