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
# # 06c · Your own model learns
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/06c_your_own_model_learns.ipynb)
#
# **Does a model that we write ourselves learn as the package's does?** So far the weights were
# borrowed. Now Figure 1 becomes a Keras model of our own, in some fifty lines. It starts from the
# same random weights as the package's, and both learn to write letters backwards from the same
# batches.
#
# *Short path, 7 of 9 · 25 minutes · you need notebooks 05 and 06b.* Afterwards you can write a
# Transformer that trains, and test it against one that is known to work.

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
from drawings import draw_architecture

# %% [markdown]
# The model has all these boxes. What is new is that its numbers will be learned.

# %%
draw_architecture()

# %% [markdown]
# ## What Keras must know
#
# A model can learn if Keras can follow what it computes: `keras.ops` takes the place of NumPy, and
# layers hold the matrices. Otherwise these are the functions of notebooks 05 and 06a; `visible` is
# the mask of notebook 04. `Dense(D, use_bias=False)` is a product with one learned matrix, and
# `Sequential` calls its layers one after the other. We begin with the functions that split and join
# heads:


# %%
def split(y, H):
    """(B, T, D) to (B, H, T, K)."""
    _, T, D = y.shape
    return ops.transpose(ops.reshape(y, (-1, T, H, D // H)), (0, 2, 1, 3))


def join(y):
    """(B, H, T, K) to (B, T, D)."""
    _, H, T, K = y.shape
    return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, T, H * K))


# %%
class Attention(keras.layers.Layer):
    def __init__(self, H, D):
        super().__init__()
        self.H, self.matrices = H, [keras.layers.Dense(D, use_bias=False) for _ in "QKVO"]

    def call(self, x, memory, visible=True):
        W_Q, W_K, W_V, W_O = self.matrices
        Q, K, V = (split(y, self.H) for y in (W_Q(x), W_K(memory), W_V(memory)))
        scores = Q @ ops.swapaxes(K, -1, -2) / Q.shape[-1] ** 0.5
        return W_O(join(ops.softmax(ops.where(visible, scores, -1e9)) @ V))


# %% [markdown]
# Next come a sublayer with its frame, and the two kinds of block. Both models here are trained
# without dropout, since it would drop different numbers in each.


# %%
def feed_forward(D, F):
    return keras.Sequential([keras.layers.Dense(F, "relu"), keras.layers.Dense(D)])


def layer_norm():
    return keras.layers.LayerNormalization(epsilon=1e-6)


# %%
class OwnEncoderBlock(keras.layers.Layer):
    def __init__(self, H, D, F):
        super().__init__()
        self.self_attention, self.norm_1 = Attention(H, D), layer_norm()
        self.network, self.norm_2 = feed_forward(D, F), layer_norm()

    def call(self, x):
        x = self.norm_1(x + self.self_attention(x, x))
        return self.norm_2(x + self.network(x))


# %%
class OwnDecoderBlock(keras.layers.Layer):
    def __init__(self, H, D, F):
        super().__init__()
        self.self_attention, self.norm_1 = Attention(H, D), layer_norm()
        self.network, self.norm_3 = feed_forward(D, F), layer_norm()
        self.cross_attention, self.norm_2 = Attention(H, D), layer_norm()

    def call(self, x, memory):
        x = self.norm_1(x + self.self_attention(x, x, visible=np.tri(x.shape[1], dtype=bool)))
        x = self.norm_2(x + self.cross_attention(x, memory))
        return self.norm_3(x + self.network(x))


# %% [markdown]
# ## Letters, backwards
#
# The task suits a small model: write six letters backwards. 0 is padding, 1 the start, 2 the end,
# and 3 to 11 are the letters A to I. The decoder reads the same letters that it should say, shifted
# right by one.


# %%
def letters(ids):
    return "".join("_<>ABCDEFGHI"[i] for i in np.ravel(ids))


# %%
keras.utils.set_random_seed(1)
V, S, T, N, H, D, F = 12, 6, 7, 2, 4, 32, 64
source = np.random.default_rng(1).integers(3, V, (4000, S)).astype("int32")
says = np.pad(source[:, ::-1], ((0, 0), (0, 1)), constant_values=2)
reads = np.pad(source[:, ::-1], ((0, 0), (1, 0)), constant_values=1)
print("source", letters(source[0]), "reads", letters(reads[0]), "says", letters(says[0]))

# %% [markdown]
# ## Figure 1 as a Keras model
#
# A `ReversibleEmbedding` is a table of embeddings that also computes the logits, with the same
# matrix transposed (`reverse=True`).


# %%
def embed(ids):
    return embedding(ids) * D**0.5 + layers.sinusoidal_encoding(ids.shape[1], D)


# %%
embedding = keras.layers.ReversibleEmbedding(V, D)
source_ids, target_ids = keras.Input((S,), dtype="int32"), keras.Input((T,), dtype="int32")
memory, x = embed(source_ids), embed(target_ids)
for _ in range(N):
    memory = OwnEncoderBlock(H, D, F)(memory)
for _ in range(N):
    x = OwnDecoderBlock(H, D, F)(x, memory)
own = keras.Model([source_ids, target_ids], embedding(x, reverse=True))
print(f"{own.count_params():,} parameters")

# %% [markdown]
# ## The same weights, the same logits
#
# The package's model of these sizes has weights of the same shapes, in the same order. We copy its
# initial weights into ours.

# %%
packaged = ak.TransformerSeq2SeqLM(ak.TransformerBackbone(V, N, H, D, F, dropout=0.0))
own.set_weights(packaged.get_weights())
text = ak.pack_token_ids(source, reads)  # the four inputs of the package's model
logits = own.predict([source, reads], verbose=0)
print("logits (B, T, V):", logits.shape)
assert packaged.count_params() == own.count_params()
np.testing.assert_allclose(packaged.predict(text, verbose=0), logits, atol=1e-5)

# %% [markdown]
# **Predict:** Nobody has trained these weights. What is the loss of a model that finds all 12
# pieces equally probable? Is the loss of our two models near that?

# %%
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
print(f"a guess: {np.log(12):.2f} nats, the untrained model: {float(loss(says, logits)):.2f} nats")

# %% [markdown]
# It is worse than a guess: the random logits are confident, and wrong.
#
# ## Both learn
#
# Both learn from the same 320 batches of 50, in the same order. An *update* takes one batch, finds
# out how the loss changes with every weight, and moves each weight a little in the direction that
# lowers it; [notebook 07](07_learning_to_translate.ipynb) does one by hand. `losses_of_updates`, in
# `lesson_tools.py` beside this notebook, makes one update after the other and records the loss of
# each batch before its update.


# %%
from lesson_tools import losses_of_updates


def learn(model, inputs):
    adam = keras.optimizers.Adam(0.003, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    model.compile(adam, loss, jit_compile=False)
    return losses_of_updates(model, inputs, says, batch_size=50, epochs=4)


# %% [markdown]
# **Predict:** A model that guesses among nine letters, and knows that the seventh piece is the end,
# has a loss of 6/7 · ln 9 = 1.88 nats. Will the losses of the two models stay together over all 320
# updates?

# %%
losses = {"own": learn(own, [source, reads]), "package": learn(packaged, text)}
for name, values in losses.items():
    print(f"{name:8}", *(f"{update}: {values[update - 1]:.5f} " for update in (1, 5, 20, 80, 320)))
np.testing.assert_allclose(losses["own"][:5], losses["package"][:5], rtol=1e-4)
assert max(np.median(values[-20:]) for values in losses.values()) < 0.05

# %% [markdown]
# They learn alike, and at first agree to the last digit. The two models add numbers up in different
# orders, so their results differ by a millionth or so, and each update magnifies the difference.
#
# ## It has learned a rule
#
# There are 531,441 rows of six letters, and the models have seen 4,000. Ours writes greedily: it
# takes the letter it finds most probable, reads it, and goes on.
#
# **Predict:** Can it reverse letters that it has never seen?

# %%
new = np.array([[7, 3, 3, 9, 11, 4]], "int32")
written = np.array([[1, 0, 0, 0, 0, 0, 0]], "int32")
for t in range(S):
    logits = ops.convert_to_numpy(own([new, written]))
    written[0, t + 1] = logits[0, t].argmax()
print(letters(new), "→", letters(written[0, 1:]))
assert not (source == new).all(axis=1).any()
assert (written[0, 1:] == new[0, ::-1]).all()

# %% [markdown]
# It can: it has not learned a list of rows, but where to look. Its letter number t is a copy of the
# letter at place 7 − t (both counted from 1).
#
# ## The two trainings
#
# On the left is the loss of each batch, on the right the difference between the two models, on a
# logarithmic axis.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
updates = np.arange(1, 321)
for (name, values), style, color in zip(losses.items(), ("-", ":"), COLORS, strict=False):
    left.plot(updates, values, style, color=color, label=name)
left.axhline(6 / 7 * np.log(9), color="#555555", linewidth=0.8, label="a guess among letters")
left.set(xlabel="update", ylabel="loss (nats per piece)", ylim=0)
left.legend(frameon=False)
right.semilogy(updates, np.abs(losses["own"] - losses["package"]) + 1e-8, color=COLORS[2])
right.set(xlabel="update", ylabel="difference of the losses (nats)")
plt.show()

# %% [markdown]
# The curves lie on top of each other, though their difference grows by orders of magnitude. If only
# one of them has a bump, rounding is the cause: it can decide when a bump comes, but here it did
# not decide whether the training succeeds.

# %% [markdown]
# ## In three lines
#
# 1. A model can learn if Keras can follow what it computes; the formulas stay the same.
# 2. Equal weights must give equal logits: test that first when you write a model of your own,
#    before any training.
# 3. Equal batches then give equal losses, until differences in rounding have grown.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/06c_your_own_model_learns.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Leave the positions out of a model of the package and train it on the same task: set the
# sinusoids to zero, `backbone.get_layer("encoder_embedding").table *= 0`, and do the same for
# `"decoder_embedding"`. How low does its loss get, and why not lower?

# %% [markdown]
# **2.** Now let the model without positions write the letters in *alphabetical* order instead of
# backwards. Does it learn that? Why does it not need positions here?

# %% [markdown]
# ## Your turn
#
# Let the model do something else with its letters: write each of them twice, leave out every second
# one, or exchange only the first and the last. Which tasks are learned in fewer updates?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [07 · Learning to translate](07_learning_to_translate.ipynb), where the model learns words
# instead of letters.
