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
# **How does a model that is blind to order know where a word stands?** We show that attention
# alone cannot tell *dog bites man* from *man bites dog*, build the paper's sinusoids from their
# formula, find out why they suit attention, and why embeddings are multiplied by √d_model before
# the two are added (paper, sections 3.4 and 3.5).

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

# %% [markdown]
# ## Attention is blind to order
#
# A sentence of T = 7 vectors of width D = 12, and the same vectors in another order. Notebooks 03
# and 05 build attention; here it is a black box: `attention(x, y)` gives each vector of x a
# weighted mean of the vectors of y.

# %%
keras.utils.set_random_seed(1)
T, D = 7, 12
x = np.random.normal(size=(1, T, D)).astype("float32")
order = np.random.permutation(T)
attention = layers.MultiHeadAttention(num_heads=3, key_dim=4)
y = ops.convert_to_numpy(attention(x, x))
y_shuffled = ops.convert_to_numpy(attention(x[:, order], x[:, order]))

# %% [markdown]
# Every vector gets the very same answer, only elsewhere: whoever reads the outputs cannot know the
# order of the inputs. So the position must be *in* the vectors.

# %%
np.testing.assert_allclose(y_shuffled, y[:, order], atol=1e-5)

# %% [markdown]
# ## The formula, one number at a time
#
# The paper gives each position `pos` a vector of D numbers: sine and cosine in turn, and each pair
# turns more slowly than the one before.
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
# The package computes the same without loops.

# %%
D = 128
encoding = layers.sinusoidal_encoding(100, D)
assert encoding.shape == (100, D)
np.testing.assert_allclose(encoding, encoding_by_hand(100, D), atol=1e-6)

# %% [markdown]
# ## Clocks
#
# Each pair of columns is the hand of a clock. The fastest turns once in 2π ≈ 6.3 positions, the
# slowest here takes nearly 10000 · 2π. A fast hand tells neighbours apart, a slow one tells the
# beginning of a text from its end.

# %%
wavelengths = 2 * np.pi * 10_000 ** (np.arange(0, D, 2) / D)
print(f"{wavelengths[0]:.1f}, {wavelengths[1]:.1f}, ... {wavelengths[-1]:,.0f} positions")
assert np.isclose(wavelengths[0], 2 * np.pi)
assert 0.8 < wavelengths[-1] / (10_000 * 2 * np.pi) < 1

# %% [markdown]
# ## Why sines: a shift is a rotation
#
# To look "three back" a model needs one rule for all positions. With clocks there is one: from
# `pos` to `pos + k` each hand turns by the same angle, wherever it stands. A rotation is a matrix,
# so a learned projection can do it.


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


# %%
k = 3
np.testing.assert_allclose(encoding[k:], encoding[:-k] @ shift_matrix(k, D).T, atol=1e-5)

# %% [markdown]
# And the dot product of two positions, which is what attention compares, depends on their distance
# alone: $\sum_i \cos\left(k / 10000^{2i/D}\right)$. At distance 0 it is D/2, for each pair gives
# sin² + cos² = 1.

# %%
products = encoding @ encoding.T
for k in (0, 1, 10):
    expected = np.cos(k / 10_000 ** (np.arange(0, D, 2) / D)).sum()
    np.testing.assert_allclose(np.diagonal(products, k), expected, rtol=1e-4)
assert np.isclose(products[0, 0], D / 2)

# %% [markdown]
# ## Why √d_model
#
# One matrix serves as embedding and as output (section 3.4). For the output its rows must be
# short, for a logit is a dot product of a row with the decoder's output; their numbers begin with
# standard deviation 1/√D, so a row has length about 1. The encoding has length √(D/2) = 8. Added
# like this, it would drown the words. (The paper multiplies without saying why; this is the usual
# explanation.)

# %%
embedding = keras.layers.ReversibleEmbedding(
    1_000, D, embeddings_initializer=keras.initializers.RandomNormal(stddev=D**-0.5)
)
vectors = ops.convert_to_numpy(embedding(np.arange(1_000)))
lengths = np.linalg.norm(vectors, axis=1)
print(f"word {lengths.mean():.2f}, position {np.linalg.norm(encoding[0]):.2f}")
assert abs(lengths.mean() - 1) < 0.05
assert np.isclose(np.linalg.norm(encoding[0]), 8)

# %% [markdown]
# Times √D, the word is the longer of the two: √128 ≈ 11.3 against 8. The trained model has kept
# that order.

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
table = ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
trained = np.sqrt(D) * np.linalg.norm(table, axis=1).mean()
print(f"begins at {np.sqrt(D) * lengths.mean():.1f}, trained {trained:.1f}, positions 8.0")
assert trained > 8

# %% [markdown]
# ## The layer
#
# `PositionalEmbedding` does both: scale, add, and in training drop some of the sum (section 5.4).
# By hand it is one line.

# %%
layer = layers.PositionalEmbedding(max_sequence_length=100, dropout=0.1)
words = vectors[np.newaxis, :T]  # (B, T, D) = (1, 7, 128)
ones = np.ones((1, T), dtype="int32")
by_hand = np.sqrt(D) * words + encoding[:T]
np.testing.assert_allclose(layer(words, ones, training=False), by_hand, atol=1e-5)

# %% [markdown]
# Two sentences may share a row, to waste less on padding. The mask numbers them, and positions
# begin again with each.

# %%
packed = np.array([[1, 1, 1, 2, 2, 2, 2]], dtype="int32")
positions = ops.convert_to_numpy(layers.sentence_positions(packed))
assert positions.tolist() == [[0, 1, 2, 0, 1, 2, 3]]
by_hand = np.sqrt(D) * words + encoding[positions]
np.testing.assert_allclose(layer(words, packed, training=False), by_hand, atol=1e-5)

# %% [markdown]
# With positions in the vectors, order counts: the encoder of the trained model no longer gives the
# same vectors in another place.

# %%
tokenizer = model.preprocessor.tokenizer
ids = np.array([tokenizer("The girl sees the boy.")])
order = [3, 4, 2, 0, 1, 5]  # "the boy sees The girl ."
memory, other = (
    ops.convert_to_numpy(model.backbone.encode(i, np.ones_like(i))) for i in (ids, ids[:, order])
)
difference = np.abs(other - memory[:, order]).max()
print(f"{difference:.1f}")
assert difference > 0.5

# %% [markdown]
# ## The picture
#
# Left: the encoding of 60 positions, a row for each, of width D = 32 so that the columns can be
# seen. Right: the dot product of two positions against their distance, divided by D/2 so that
# widths compare.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
narrow = layers.sinusoidal_encoding(60, 32)
image = left.imshow(narrow, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
left.set(xlabel="dimension (even: sine, odd: cosine)", ylabel="position (pieces)")
figure.colorbar(image, ax=left, label="value")
for width, color, style in ((32, COLORS[0], "-"), (128, COLORS[1], "--"), (512, COLORS[2], ":")):
    wide = layers.sinusoidal_encoding(60, width)
    right.plot(wide @ wide[0] / (width / 2), color=color, linestyle=style, label=f"D = {width}")
right.set(xlabel="distance (pieces)", ylabel="dot product / (D/2)", ylim=(0, 1.05))
right.legend(frameon=False)
plt.show()

# %% [markdown]
# The fast clocks are on the left of the heat map; those on its right hardly move within a
# sentence. Near positions are alike, far ones less: the dot product falls steeply over the first
# few pieces, then slowly. A wide encoding does it smoothly, a narrow one with ripples.

# %% [markdown]
# ## In three lines
#
# 1. Attention treats its inputs as a set: order must be written into the vectors.
# 2. Sinusoids make a shift a rotation, and a dot product a function of distance alone.
# 3. Embeddings are multiplied by √d_model, and the positions do not drown the words.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** Some code puts all sines first and all cosines after them. Show that this is the paper's
# encoding with its columns in another order. Is the dot product of two positions another one?
# (tensor2tensor's code does so, and also spaces its wavelengths a little differently.)

# %% jupyter={"source_hidden": true} tags=["solution"]
halves = np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)
columns = [*range(0, D, 2), *range(1, D, 2)]
np.testing.assert_array_equal(halves, encoding[:, columns])
# A sum does not care for the order of its terms.
np.testing.assert_allclose(halves @ halves.T, encoding @ encoding.T, atol=1e-3)

# %% [markdown]
# **2.** Row E of the paper's Table 3 learns the positions: `kind="learned"`. How many numbers does
# that add for each side at D = 512 and 1,024 positions? Does the sinusoidal layer have any
# weights?


# %% jupyter={"source_hidden": true} tags=["solution"]
def weights_of(kind):
    layer = layers.PositionalEmbedding(1_024, kind=kind)
    layer.build((1, T, 512), (1, T))
    return layer.count_params()


assert weights_of("learned") == 1_024 * 512 == 524_288
assert weights_of("sinusoidal") == 0

# %% [markdown]
# Next: [03 · Attention by hand](03_attention_by_hand.ipynb)
