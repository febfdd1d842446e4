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
# # 05 · Many heads
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/05_many_heads.ipynb)
#
# **Why several small attentions and not a single wide one?** We split the vectors into heads, let
# each attend alone, join them, and get the numbers of the package's layer and of Keras' own. Then
# we look at what the heads of a trained model do, and switch them off one by one (paper, section
# 3.2.2).

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
import numpy as np
from keras import ops

import aiayn_keras as ak
from aiayn_keras import layers
from aiayn_keras.plotting import plot_attention

keras.utils.set_random_seed(1)

# %% [markdown]
# ## One head can only take a mean
#
# A head gives each query *one* set of weights. If a verb must know its subject and its object, one
# head has to mix them, half and half, and the mixture does not say which was which. Two heads read
# them apart:

# %%
subject, obj = np.array([1.0, 0.0]), np.array([0.0, 1.0])
mean = (subject + obj) / 2
np.testing.assert_array_equal(mean, (obj + subject) / 2)  # one head: who did what is lost
assert not np.array_equal(np.concatenate([subject, obj]), np.concatenate([obj, subject]))

# %% [markdown]
# ## Split
#
# T = 7 queries and S = 5 keys of width D = 12; H = 3 heads of width K = 4. The three projections
# make queries, keys and values for all heads at once; head h owns the columns from h·K to (h+1)·K.

# %%
B, T, S, H, K = 2, 7, 5, 3, 4
D = H * K
query = np.random.normal(size=(B, T, D)).astype("float32")
memory = np.random.normal(size=(B, S, D)).astype("float32")
layer = layers.MultiHeadAttention(num_heads=H, key_dim=K)
output = ops.convert_to_numpy(layer(query, memory))
W_Q, W_K, W_V, W_O = layer.get_weights()
assert W_Q.shape == W_K.shape == W_V.shape == W_O.shape == (D, D)

# %% [markdown]
# One reshape and one transpose cut them apart: (B, T, D) to (B, T, H, K) to (B, H, T, K).


# %%
def split(x):
    return x.reshape(B, -1, H, K).transpose(0, 2, 1, 3)


queries = split(query @ W_Q)
assert queries.shape == (B, H, T, K)
for h in range(H):
    columns = slice(h * K, (h + 1) * K)
    np.testing.assert_allclose(queries[:, h], query @ W_Q[:, columns], atol=1e-5)

# %% [markdown]
# The order matters: reshaping (B, T, D) straight to (B, H, T, K) gives the right shape and the
# wrong numbers, since it mixes positions.

# %%
wrong = (query @ W_Q).reshape(B, H, T, K)
assert wrong.shape == queries.shape
assert not np.allclose(wrong, queries, atol=0.1)

# %% [markdown]
# ## Attend
#
# Each head is notebook 03's attention, on its own columns.


# %%
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(k.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


keys, values = split(memory @ W_K), split(memory @ W_V)
heads = np.stack(
    [[attention(queries[b, h], keys[b, h], values[b, h]) for h in range(H)] for b in range(B)]
)
assert heads.shape == (B, H, T, K)

# %% [markdown]
# ## Join
#
# The heads go side by side again, and a last matrix W_O mixes them. That is the whole layer.

# %%
joined = heads.transpose(0, 2, 1, 3).reshape(B, T, D)
np.testing.assert_allclose(joined @ W_O, output, atol=1e-5)

# %% [markdown]
# Or, in other words: each head has its own rows of W_O, and the layer is a *sum of heads*. That is
# why single heads can be looked at, and switched off.

# %%
rows = W_O.reshape(H, K, D)
sum_of_heads = sum(heads[:, h] @ rows[h] for h in range(H))
np.testing.assert_allclose(sum_of_heads, output, atol=1e-5)

# %% [markdown]
# ## The same as Keras' own layer
#
# Keras keeps the projections as (D, H, K) and the last one as (H, K, D); the numbers are the same.

# %%
keras_layer = keras.layers.MultiHeadAttention(num_heads=H, key_dim=K, use_bias=False)
keras_layer(query, memory)  # builds its weights
keras_layer.set_weights([W.reshape(D, H, K) for W in (W_Q, W_K, W_V)] + [rows])
np.testing.assert_allclose(keras_layer(query, memory), output, atol=1e-5)

# %% [markdown]
# ## Heads cost no parameters
#
# With K = D / H, the number of heads changes neither the number of parameters, 4 D², nor the
# multiplications in the matrix products. Only the H tables of T·S weights become more; the paper
# calls the whole cost *similar* to that of one wide head (section 3.2.2).

# %%
for num_heads in (1, 2, 4, 8):
    layer = layers.MultiHeadAttention(num_heads, key_dim=512 // num_heads)
    layer.build((None, T, 512), (None, S, 512))
    assert layer.count_params() == 4 * 512**2 == 1_048_576

# %% [markdown]
# A frequent mistake: `key_dim` is the width of *one* head. Given D instead, the layer is H times
# too large, and it trains without a complaint.

# %%
mistaken = layers.MultiHeadAttention(num_heads=8, key_dim=512)
mistaken.build((None, T, 512), (None, S, 512))
assert mistaken.count_params() == 8 * 4 * 512**2

# %% [markdown]
# ## What trained heads do
#
# The shipped model translates a short sentence. `attention_maps` gives the weights of all layers N
# and heads H; we take the last decoder layer's attention to the source, (H, T, S).

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
source, german = "The happy mothers sing.", "Die glücklichen Mütter singen."
maps = model.attention_maps(source, german)
weights = maps.cross[-1]
assert maps.cross.shape[:2] == (2, 4)
np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)

# %%
written = [*maps.target_tokens[1:], "</s>"]  # row t writes the piece after the one it reads
plot_attention(weights, maps.source_tokens, written)

# %% [markdown]
# Rows write, columns are looked at. Heads 2, 3 and 4 find the word to be translated, each with its
# own spread. Head 1 does something else: while the article `▁Die` and the adjective `▁glücklichen`
# are written, it looks at the noun, *mothers*, whose number and gender decide their endings. One
# set of weights would have to mix the two.

# %%
noun = maps.source_tokens.index("▁mothers")
assert (weights[0, :3].argmax(axis=1) == noun).all()
assert (weights[1:, :3].argmax(axis=2) == [0, 1, 2]).all()

# %% [markdown]
# ## In three lines
#
# 1. A head is attention on its own K columns; H heads see H things at once.
# 2. Split, attend, join: the layer is a sum of heads, each with its own rows of W_O.
# 3. With K = D / H, heads cost no parameters; `key_dim` is the width of one of them.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** Switch the heads of the last decoder layer's attention to the source off, one at a time:
# set their rows of W_O to zero. Which one costs this translation the most? (None is indispensable:
# the others find the word too. Where a head looks is not yet what the model needs it for.)

# %% jupyter={"source_hidden": true} tags=["solution"]
K = model.backbone.hidden_dim // 4
kernel = model.backbone.decoder_blocks[-1].cross_attention.output_dense.kernel
trained = ops.convert_to_numpy(kernel)
(whole,), losses = model.score([source], [german]), []
for h in range(4):
    without = trained.copy()
    without[h * K : (h + 1) * K] = 0
    kernel.assign(without)
    losses.append(whole - model.score([source], [german])[0])
kernel.assign(trained)
print([f"head {h + 1}: {loss:.2f} nats" for h, loss in enumerate(losses)])
assert np.argmax(losses) == 2  # head 3

# %% [markdown]
# **2.** Are heads numbered? Put them into another order, in all four matrices, and show that the
# layer stays the same.

# %% jupyter={"source_hidden": true} tags=["solution"]
order = [2, 0, 1]
columns = np.arange(D).reshape(H, D // H)[order].reshape(-1)
layer = layers.MultiHeadAttention(num_heads=H, key_dim=D // H)
layer.build(query.shape, memory.shape)
layer.set_weights([W_Q[:, columns], W_K[:, columns], W_V[:, columns], W_O[columns]])
np.testing.assert_allclose(layer(query, memory), output, atol=1e-5)
assert columns[0] == 8  # head 3 comes first

# %% [markdown]
# Next: [06 · Stacking blocks](06_stacking_blocks.ipynb)
