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
# # 06a · Inside a block
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/06a_inside_a_block.ipynb)
#
# **What does a layer need besides attention?** A layer of the encoder or the decoder is more than
# its attention. We build the rest by hand, the feed-forward network, the residual connection,
# layer normalization and dropout, and get the numbers of the package's encoder block and decoder
# block. Then we take the residual away and see what it was for (paper, sections 3.1, 3.3 and 5.4).
#
# *Short path, 5 of 9 · 40 minutes · you need notebooks 03 to 05.* Afterwards you can write an
# encoder block and a decoder block from memory, and say what each part is there for.
#
# The paper calls one level of a stack a *layer*. In Keras almost every part is a layer, so we call
# a level a *block*; N is the number of blocks. Blocks of both kinds are stacked in [notebook
# 06b](06b_the_whole_transformer.ipynb), and trained in [notebook
# 06c](06c_your_own_model_learns.ipynb).

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

from aiayn_keras import layers
from aiayn_keras.plotting import COLORS
from drawings import draw_architecture, draw_shapes

# %% [markdown]
# Blue marks what this notebook builds: one block of the encoder on the left, one block of the
# decoder on the right.

# %%
draw_architecture("encoder", "decoder")

# %% [markdown]
# Here is one block of the encoder, with random weights; we rebuild it part by part. The cell prints
# the names and shapes of its first four matrices.

# %%
keras.utils.set_random_seed(1)
B, S, T, H, K, F = 2, 5, 7, 3, 4, 24
D = H * K
block = layers.EncoderBlock(num_heads=H, key_dim=K, intermediate_dim=F)
x = np.random.normal(size=(B, S, D)).astype("float32")
output = ops.convert_to_numpy(block(x))
print([f"{weight.path.split('/', 1)[1]} {tuple(weight.shape)}" for weight in block.weights][:4])
assert output.shape == x.shape

# %% [markdown]
# ## The feed-forward network
#
# Attention gathers: once its weights are known, its output is a weighted sum of the vectors of all
# positions, multiplied by matrices. The feed-forward network then works on what was gathered, on
# each position alone (equation 2): $\max(0, x W_1 + b_1) W_2 + b_2$, first to F numbers, where F is
# larger than D, then back to D. Thanks to max(0, ·), called *ReLU*, it can compute what sums and
# matrices alone cannot.

# %%
draw_shapes(
    "(B, S, D)", "· W₁ + b₁", "(B, S, F)", "max(0, ·)", "(B, S, F)", "· W₂ + b₂", "(B, S, D)"
)


# %%
def feed_forward(x, block):
    W_1, b_1, W_2, b_2 = block.feed_forward.get_weights()
    return np.maximum(0, x @ W_1 + b_1) @ W_2 + b_2


print([weight.shape for weight in block.feed_forward.get_weights()])
np.testing.assert_allclose(block.feed_forward(x), feed_forward(x, block), atol=1e-5)

# %% [markdown]
# *Alone* means that one position gives the same result with its neighbours and without.

# %%
with_neighbours, alone = feed_forward(x, block)[:, 2], feed_forward(x[:, 2], block)
print(f"{with_neighbours.shape}, largest difference {np.abs(with_neighbours - alone).max():.7f}")
np.testing.assert_allclose(with_neighbours, alone, atol=1e-5)

# %% [markdown]
# ## Layer normalization
#
# Every vector is shifted and scaled to mean 0 and variance 1. Then it is multiplied by a learned
# vector γ, and a learned vector β is added. So numbers stay in one range, however many blocks they
# pass through. Each position is normalized without regard to other positions or other sentences of
# the batch. The tiny ε keeps the division from failing if the variance is 0.
#
# **Predict:** We normalize x, and then 5x + 3. What is the difference?


# %%
def layer_norm(x, gamma, beta, epsilon=1e-6):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(variance + epsilon) + beta


normed = layer_norm(5 * x + 3, gamma=1, beta=0)
print(np.round(layer_norm(x, gamma=1, beta=0)[0, 0, :4], 3), np.round(normed[0, 0, :4], 3))
np.testing.assert_allclose(normed.mean(axis=-1), 0, atol=1e-5)
np.testing.assert_allclose(normed, layer_norm(x, gamma=1, beta=0), atol=1e-4)

# %% [markdown]
# ## Residual, then normalization
#
# A block consists of *sublayers*: attention is one, the feed-forward network the other. Each has
# the same frame around it: $\text{LayerNorm}(x + \text{Sublayer}(x))$. The `x +` is the *residual
# connection*: it carries the input past the sublayer and adds it to the output. The drawing shows
# it as an arrow around each sublayer, which ends in the box *Add & Norm*. The paper normalizes
# *after* the sum ("post-norm"). In training the sublayer's output passes through dropout first;
# that comes below.
#
# Many later models normalize *before* the sublayer ("pre-norm"): $x +
# \text{Sublayer}(\text{LayerNorm}(x))$. Deep stacks train more stably that way, even without the
# warm-up of notebook 07. The sum itself is then never normalized, so a LayerNorm has to be added at
# the end of such a stack.


# %%
def add_norm(x, sublayer_output, layer):
    return layer_norm(x + sublayer_output, *layer.layer_norm.get_weights())


y = np.random.normal(size=x.shape).astype("float32")
packaged = block.self_attention_add_norm(x, sublayer=lambda x: y)
print(x.shape, "+", y.shape, "->", tuple(packaged.shape))
np.testing.assert_allclose(packaged, add_norm(x, y, block.self_attention_add_norm), atol=1e-5)

# %% [markdown]
# Attention, frame, feed-forward, frame: that is an encoder block.


# %%
def encoder_block(x, block, mask=None):
    y = ops.convert_to_numpy(block.self_attention(x, x, mask))
    x = add_norm(x, y, block.self_attention_add_norm)
    return add_norm(x, feed_forward(x, block), block.feed_forward_add_norm)


difference = np.abs(encoder_block(x, block) - output).max()
print(f"{output.shape}, largest difference {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# ## Dropout
#
# In training, each number is set to 0 with probability P_drop = 0.1, drawn afresh for each update,
# so that the network cannot lean on any single one. The others are divided by 0.9, which keeps the
# mean. When the model is used, nothing is dropped.


# %%
def dropout(x, keep, rate):
    """The kept numbers of x, larger by 1 / (1 - rate); `keep` is True where a number stays."""
    return np.where(keep, x / (1 - rate), 0)


# %% [markdown]
# **Predict:** Of 100,000 ones, what share becomes 0, what becomes of the others, and what is the
# mean?

# %%
ones = np.ones(100_000, dtype="float32")
by_hand = dropout(ones, keep=np.random.random(ones.shape) >= 0.1, rate=0.1)
packaged = ops.convert_to_numpy(layers.Dropout(0.1, seed=1)(ones, training=True))
for name, dropped in (("by hand", by_hand), ("package", packaged)):
    share, mean = (dropped == 0).mean(), dropped.mean()
    print(f"{name}: {share:.3f} are 0, the others {dropped.max():.4f}, mean {mean:.3f}")
    assert abs(share - 0.1) < 0.005
    assert abs(mean - 1) < 0.005
np.testing.assert_allclose(np.unique(packaged), [0, 1 / 0.9], rtol=1e-6)

# %% [markdown]
# Section 5.4 applies dropout in two places. The first is the output of *each sublayer*, before the
# sum: $\text{LayerNorm}(x + \text{Dropout}(\text{Sublayer}(x)))$. To compare with the package, we
# replace its dropout by ours, so that both keep the same numbers.

# %%
keep = np.random.random(x.shape) >= 0.1
print(f"{(~keep).sum()} of {keep.size} numbers will be dropped")

# %%
frame = layers.AddNorm()
frame.build(x.shape)
frame.dropout_layer = lambda y: dropout(y, keep, rate=0.1)
packaged = frame(x, sublayer=lambda x: y)
by_hand = layer_norm(x + dropout(y, keep, rate=0.1), gamma=1, beta=0)
print("largest difference to the package:", np.abs(packaged - by_hand).max())
np.testing.assert_allclose(packaged, by_hand, atol=1e-5)
assert not np.allclose(packaged, layer_norm(x + y, gamma=1, beta=0), atol=1e-2)

# %% [markdown]
# The second place is at the bottom of each stack: on the *sum of embedding and position*,
# embeddings times √D plus sinusoids. Attention by itself does not see order: if you shuffle the
# pieces, the same vectors come out, shuffled. So a vector of sines and cosines that tells the
# position is added to each embedding. The factor √D makes sure that the embedding is the longer of
# the two vectors (notebook 02).

# %%
embedding = layers.PositionalEmbedding(max_sequence_length=S)
embedding.build(x.shape)
embedding.dropout_layer = lambda x, training: dropout(x, keep, rate=0.1)
packaged = embedding(x)
by_hand = dropout(np.sqrt(D) * x + layers.sinusoidal_encoding(S, D), keep, rate=0.1)
print("largest difference to the package:", np.abs(packaged - by_hand).max())
np.testing.assert_allclose(packaged, by_hand, atol=1e-5)

# %% [markdown]
# Rows (D) of the paper's Table 3 show how much dropout helps. (*Perplexity* is e to the mean loss
# of a piece, lower is better; *BLEU* is likeness to a human translation, from 0 to 100, higher is
# better; notebook 05 says more.)
#
# | P_drop | perplexity | BLEU |
# |---|---|---|
# | 0 | 5.77 | 24.6 |
# | 0.1, base | 4.92 | 25.8 |
# | 0.2 | 4.95 | 25.5 |

# %% [markdown]
# ## The decoder block
#
# The decoder block has one more sublayer, in the middle: *cross-attention* to the *memory*, the
# output of the encoder's last block. In self-attention, queries, keys and values all come from one
# array, `attention(x, x)`. In cross-attention, **queries come from the decoder, keys and values
# from the memory**, `attention(x, memory)`: each position of the target reads from all positions of
# the source.
#
# So there are three steps, each with the same frame around it. The self-attention has the causal
# mask. The cross-attention does not need one, because the whole source is known; its mask would
# hide padding, but there is none here (notebook 04).


# %%
def decoder_block(x, memory, block, self_mask):
    y = ops.convert_to_numpy(block.self_attention(x, x, self_mask))
    x = add_norm(x, y, block.self_attention_add_norm)
    y = ops.convert_to_numpy(block.cross_attention(x, memory))
    x = add_norm(x, y, block.cross_attention_add_norm)
    return add_norm(x, feed_forward(x, block), block.feed_forward_add_norm)


# %%
block = layers.DecoderBlock(num_heads=H, key_dim=K, intermediate_dim=F)
target = np.random.normal(size=(B, T, D)).astype("float32")
causal = layers.make_causal_mask(np.ones((B, T), dtype="int32"))
packaged = block(target, output, causal)
print("target", target.shape, "memory", output.shape, "->", tuple(packaged.shape))
assert packaged.shape == (B, T, D)
np.testing.assert_allclose(packaged, decoder_block(target, output, block, causal), atol=1e-5)

# %% [markdown]
# ## Why the residual
#
# The output of attention is a mean over positions, and such means are very similar to each other.
# The residual connection, `x +`, adds each position's own vector. Without it, after a few blocks
# all positions have nearly the same vector, and nothing tells the words apart. A feed-forward
# network cannot restore the difference, since it turns similar inputs into similar outputs. (The
# residual has a second use, which we do not measure: through `x +` the gradient also has a direct
# way past each sublayer.) We measure how similar two positions are, by the cosine of their vectors
# (1: same direction, 0: nothing in common), in a stack of N = 6 blocks of width 64.


# %%
def similarity(x):
    """Mean cosine between the vectors of different positions of `x (1, S, D)`."""
    unit = x[0] / np.linalg.norm(x[0], axis=-1, keepdims=True)
    cosines = unit @ unit.T
    return cosines[~np.eye(len(cosines), dtype=bool)].mean()


# %%
def go_through(stack, x, residual):
    """Similarity of the positions before and after each block."""
    similarities = [similarity(x)]
    for block in stack:
        y = ops.convert_to_numpy(block.self_attention(x, x))
        x = layer_norm(residual * x + y, gamma=1, beta=0)
        x = layer_norm(residual * x + feed_forward(x, block), gamma=1, beta=0)
        similarities.append(similarity(x))
    return similarities


# %% [markdown]
# **Predict:** Random vectors have a cosine near 0. After how many blocks is it near 1, with and
# without `x +`?

# %%
stack = [layers.EncoderBlock(num_heads=4, key_dim=16, intermediate_dim=256) for _ in range(6)]
words = np.random.normal(size=(1, 20, 64)).astype("float32")
for one in stack:
    one.build(words.shape)
with_residual = go_through(stack, words, residual=1)
without_residual = go_through(stack, words, residual=0)
print("with    x + :", np.round(with_residual, 2))
print("without x + :", np.round(without_residual, 2))
assert min(without_residual[3:]) > 0.98
assert max(with_residual) < 0.85

# %% [markdown]
# The size of the sublayers' outputs at the start matters, too. The paper names no initialization. A
# common one is Glorot's, random numbers of variance 2 / (rows + columns). The package gives the
# matrices for queries, keys and values half of that. To see the full variance, we multiply these
# matrices by √2.

# %%
for one in stack:
    *inner, W_O = one.self_attention.get_weights()
    one.self_attention.set_weights([np.sqrt(2) * W for W in inner] + [W_O])
full_variance = go_through(stack, words, residual=1)
print("full variance:", np.round(full_variance, 2))
assert full_variance[-1] > with_residual[-1]

# %%
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(without_residual, "s--", color=COLORS[1], label="without residual")
axes.plot(full_variance, "^:", color=COLORS[2], label="with residual, full variance")
axes.plot(with_residual, "o-", color=COLORS[0], label="with residual")
axes.set(xlabel="blocks passed", ylabel="cosine of two positions", ylim=(-0.1, 1.05))
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# Without the residual, two random blocks make all positions almost the same. The blocks after them
# can hardly tell the words apart. With the residual, positions become similar only slowly, and more
# slowly with the smaller variance.

# %% [markdown]
# ## In three lines
#
# 1. A block is attention between positions and a small network at each of them, each followed by
#    Add & Norm; the decoder's block has a second attention, whose keys and values come from the
#    encoder.
# 2. The residual keeps the words apart; without it a few blocks make all positions nearly equal.
# 3. Normalization keeps numbers in one range, position by position; dropout zeroes some of them in
#    training, and never afterwards.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/06a_inside_a_block.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Many later models normalize *before* the sublayer and leave the sum alone: x + Sublayer(
# LayerNorm(x)). Write such an encoder block and compare it with
# `EncoderBlock(..., normalize_first=True)`.

# %% [markdown]
# **2.** *Batch* normalization takes the mean and the variance of each of the D columns, over all
# positions of all sentences in the batch. Write it, and show that a sentence's result then depends
# on the other sentence in the batch, and that with `layer_norm` it does not.

# %% [markdown]
# ## Your turn
#
# Take the stack of "Why the residual" to N = 24 blocks. Are the positions still different at its
# end? Then give the residual more weight, `residual=2`: what changes?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [06b · The whole Transformer](06b_the_whole_transformer.ipynb), where blocks become Figure
# 1.
