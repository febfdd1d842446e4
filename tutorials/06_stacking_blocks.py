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
# # 06 · Stacking blocks
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/06_stacking_blocks.ipynb)
#
# **How do attention and a small network become an encoder and a decoder?** We build what stands
# between them by hand: the feed-forward network, the residual connection, layer normalization,
# dropout. Then we write Figure 1 of the paper in a dozen lines, get the package's logits, and count
# the parameters of Table 3 (paper, sections 3.1, 3.3 and 5.4).
#
# *Short path, 5 of 7 · 70 minutes in three sittings · you need notebooks 03 to 05.* The first
# sitting builds a block and Figure 1 (40 minutes), the second trains a model of your own (20), the
# third counts parameters (10). Each ends at a line that says so. Afterwards you can write an
# encoder and a decoder from memory.
#
# The paper calls one floor of a stack a *layer*. For Keras everything with weights is a layer, so
# here a floor is called a *block*; N counts blocks.

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

# %%
draw_architecture("encoder", "decoder")

# %% [markdown]
# Here is one block of the encoder, with random weights; we rebuild it part by part.

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
# Attention gathers: with given weights its output is a weighted sum of the vectors of all
# positions, multiplied by matrices. The feed-forward network then works on what was gathered, on
# each position alone (equation 2): $\max(0, x W_1 + b_1) W_2 + b_2$, first wider, then back to D.
# Thanks to its max(0, ·) it can compute what sums and matrices alone cannot.

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
# Every vector is shifted and scaled to mean 0 and variance 1, and then once more by two learned
# vectors, γ and β. So numbers stay in one range, however many blocks they pass through. This needs
# no other position and no other sentence of the batch. The tiny ε keeps the root away from 0.
#
# **Predict:** we normalize x, and then 5x + 3. What is the difference?


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
# the same frame around it: $\text{LayerNorm}(x + \text{Sublayer}(x))$. The paper normalizes *after*
# the sum ("post-norm"). In training the sublayer's output passes through dropout first; that comes
# below.
#
# Many later models normalize *before* the sublayer ("pre-norm"): $x +
# \text{Sublayer}(\text{LayerNorm}(x))$. The sum itself is then never normalized, so such a stack
# needs one more LayerNorm at its end.


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
# In training, a share P_drop = 0.1 of the numbers, drawn afresh for each update, is set to 0, so
# that the network cannot lean on any single one. The others are divided by 0.9, which keeps the
# mean. When the model is used, nothing is dropped.


# %%
def dropout(x, keep, rate):
    """The kept numbers of x, larger by 1 / (1 - rate); `keep` is True where a number stays."""
    return np.where(keep, x / (1 - rate), 0)


# %% [markdown]
# **Predict:** of 100,000 ones, what share becomes 0, what becomes of the others, and what is the
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
# Section 5.4 names two places: the output of *each sublayer*, before the sum ("residual dropout"),
# and the *sum of embedding and position*. To compare with the package we must know which numbers
# its layer keeps. A layer of our own makes that simple: it draws once, keeps the draw, and uses it
# again. We put it in place of the package's.


# %%
class KnownDropout(keras.layers.Layer):
    """Keeps the numbers where `keep` is True; `(~keep).mean()` is the rate."""

    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def call(self, x, training=False):
        return dropout(x, self.keep, rate=0.1)


# %%
keep = np.random.random(x.shape) >= 0.1
print(f"{(~keep).sum()} of {keep.size} numbers will be dropped")


# %% [markdown]
# First place: around a sublayer, $\text{LayerNorm}(x + \text{Dropout}(\text{Sublayer}(x)))$.

# %%
frame = layers.AddNorm(dropout=0.1)
frame.dropout_layer = KnownDropout(keep)
frame.build(x.shape)
packaged = frame(x, sublayer=lambda x: y, training=True)
by_hand = layer_norm(x + dropout(y, keep, rate=0.1), gamma=1, beta=0)
print("largest difference to the package:", np.abs(packaged - by_hand).max())
np.testing.assert_allclose(packaged, by_hand, atol=1e-5)
assert not np.allclose(packaged, layer_norm(x + y, gamma=1, beta=0), atol=1e-2)

# %% [markdown]
# Second place: on embeddings times √D plus positions (notebook 02).

# %%
embedding = layers.PositionalEmbedding(max_sequence_length=S, dropout=0.1)
embedding.dropout_layer = KnownDropout(keep)
embedding.build(x.shape, (B, S))
packaged = embedding(x, np.ones((B, S), dtype="int32"), training=True)
by_hand = dropout(np.sqrt(D) * x + layers.sinusoidal_encoding(S, D), keep, rate=0.1)
print("largest difference to the package:", np.abs(packaged - by_hand).max())
np.testing.assert_allclose(packaged, by_hand, atol=1e-5)

# %% [markdown]
# What dropout is worth is in rows (D) of the paper's Table 3. (*Perplexity* is e to the mean loss
# of a piece, lower is better; *BLEU* is likeness to a human translation, from 0 to 100, higher is
# better; notebook 05 says more.)
#
# | P_drop | perplexity | BLEU |
# |---|---|---|
# | 0 | 5.77 | 24.6 |
# | 0.1, base | 4.92 | 25.8 |
# | 0.2 | 4.95 | 25.5 |

# %% [markdown]
# ## Why the residual
#
# The output of attention is a mean over positions, and such means are very similar to each other.
# `x +` adds each position's own vector. Without `x +`, after a few blocks all positions hold nearly
# the same vector, and the words are gone; a feed-forward network cannot bring them back, since it
# turns similar inputs into similar outputs. We measure how similar two positions are, by the cosine
# of their outputs, in a stack of N = 6 blocks of width 64.


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
# **Predict:** random vectors have a cosine near 0. After how many blocks is it near 1, with and
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
# Without the residual, two random blocks make all positions almost the same. Whatever comes after
# them can hardly tell the words apart. With it, positions approach each other only slowly, and more
# slowly with the smaller variance.

# %% [markdown]
# ## The decoder block
#
# It has one more sublayer, in the middle: *cross-attention* to the *memory*, the output of the
# encoder's last block. In self-attention, queries, keys and values all come from one array,
# `attention(x, x)`. In cross-attention, **queries come from the decoder, keys and values from the
# memory**, `attention(x, memory)`: each position of the target reads from all positions of the
# source.
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
# ## Figure 1 in code
#
# Embeddings times √D plus positions; N encoder blocks; N decoder blocks; and the embedding matrix
# once more, transposed, for the logits. All of it uses functions from above and the weights of the
# included English-Spanish model.

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
backbone = model.backbone
E = ops.convert_to_numpy(backbone.token_embedding.embeddings)  # (V, D)


def embed(ids):
    length, D = len(ids), E.shape[1]
    return (np.sqrt(D) * E[ids] + layers.sinusoidal_encoding(length, D))[np.newaxis]


print("E", E.shape, "blocks", len(backbone.encoder_blocks), "+", len(backbone.decoder_blocks))


# %%
def transformer(source_ids, target_ids):
    memory = embed(source_ids)
    for block in backbone.encoder_blocks:
        memory = encoder_block(memory, block)
    x = embed(target_ids)
    causal = layers.make_causal_mask(np.ones((1, len(target_ids)), dtype="int32"))
    for block in backbone.decoder_blocks:
        x = decoder_block(x, memory, block, causal)
    return x @ E.T  # (1, T, V)


# %% [markdown]
# The logits are the package's.

# %%
tokenizer = model.preprocessor.tokenizer
source = [*tokenizer("My sister works in a hospital."), tokenizer.end_token_id]
target = [tokenizer.start_token_id, *tokenizer("Mi hermana trabaja en un")]
ids = {"encoder_token_ids": np.array([source]), "decoder_token_ids": np.array([target])}
logits = transformer(source, target)
print("logits (1, T, V):", logits.shape)
masks = {name.replace("token_ids", "padding_mask"): np.ones_like(i) for name, i in ids.items()}
np.testing.assert_allclose(model({**ids, **masks}, training=False), logits, atol=1e-3)

# %% [markdown]
# **Predict:** "My sister works in a hospital.", "Mi hermana trabaja en un". Which piece has the
# highest logit at the last position?

# %%
next_piece = tokenizer.id_to_token(int(logits[0, -1].argmax()))
print(next_piece)
assert next_piece == "▁hospital"

# %% [markdown]
# ## Your own model learns
#
# **End of the first sitting.** So far the weights were borrowed. A model can learn if Keras can
# follow what it computes: `keras.ops` takes the place of NumPy, and layers hold the matrices. The
# rest are the functions from above, with heads split and joined as in notebook 05.


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


# %%
class Block(keras.layers.Layer):
    def __init__(self, H, D, F, sublayers):
        super().__init__()
        self.attentions = [Attention(H, D) for _ in range(sublayers - 1)]
        self.network = keras.Sequential([keras.layers.Dense(F, "relu"), keras.layers.Dense(D)])
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(sublayers)]

    def call(self, x, memory=None, visible=True):
        x = self.norms[0](x + self.attentions[0](x, x, visible=visible))
        if memory is not None:
            x = self.norms[1](x + self.attentions[1](x, memory))
        return self.norms[-1](x + self.network(x))


# %% [markdown]
# Two sublayers make an encoder block, three a decoder block. The task suits a model this small:
# write six letters backwards. 0 is padding, 1 the start, 2 the end, and 3 to 11 are the letters A
# to I.


# %%
def letters(ids):
    return "".join("_<>ABCDEFGHI"[i] for i in np.ravel(ids))


# %%
keras.utils.set_random_seed(1)
V, S, T, N, H, D, F = 12, 6, 7, 2, 4, 32, 64
source = np.random.default_rng(1).integers(3, V, (4000, S)).astype("int32")
end = np.full((len(source), 1), 2, "int32")
says = np.concatenate([source[:, ::-1], end], axis=1)
reads = np.concatenate([end - 1, says[:, :-1]], axis=1)
print("source", letters(source[0]), "reads", letters(reads[0]), "says", letters(says[0]))

# %% [markdown]
# Figure 1 again, as a Keras model:

# %%
embedding = keras.layers.ReversibleEmbedding(V, D)
encoder, decoder = ([Block(H, D, F, sublayers) for _ in range(N)] for sublayers in (2, 3))
ids = [keras.Input((n,), dtype="int32", name=name) for name, n in (("source", S), ("target", T))]
memory, x = (embedding(i) * D**0.5 + layers.sinusoidal_encoding(i.shape[1], D) for i in ids)
for block in encoder:
    memory = block(memory)
for block in decoder:
    x = block(x, memory, visible=np.tri(T, dtype=bool))
own = keras.Model(ids, embedding(x, reverse=True))
print(f"{own.count_params():,} parameters")

# %% [markdown]
# The package's model of these sizes has the same number of parameters. We copy its initial weights
# into ours.

# %%
backbone = ak.TransformerBackbone(V, N, H, D, F, dropout=0.0)
packaged = ak.TransformerSeq2SeqLM(backbone)
theirs = [*backbone.encoder_blocks, *backbone.decoder_blocks]
for block, other in zip([*encoder, *decoder], theirs, strict=True):
    block.attentions[0].set_weights(other.self_attention.get_weights())
    if block in decoder:
        block.attentions[1].set_weights(other.cross_attention.get_weights())
    block.network.set_weights(other.feed_forward.get_weights())
embedding.set_weights(backbone.token_embedding.get_weights())
print(f"{packaged.count_params():,} parameters")
assert packaged.count_params() == own.count_params()

# %%
text = {"encoder_token_ids": source, "decoder_token_ids": reads}
text |= {name.replace("token_ids", "padding_mask"): np.ones_like(i) for name, i in text.items()}
few = {name: i[:3] for name, i in text.items()}
logits = ops.convert_to_numpy(own({"source": source[:3], "target": reads[:3]}))
print("logits (B, T, V):", logits.shape)
np.testing.assert_allclose(packaged(few), logits, atol=1e-5)

# %% [markdown]
# The same weights, the same logits. Now both learn from the same 480 batches of 50, in the same
# order. An *update* takes one batch, finds out how the loss changes with every weight, and moves
# each weight a little in the direction that lowers it; [notebook
# 07](07_learning_to_translate.ipynb) does one by hand.


# %%
def learn(learner, inputs):
    """The loss of each batch, before its update."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    adam = keras.optimizers.Adam(0.003, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    learner.compile(adam, loss, jit_compile=False)
    losses = []
    for batch in list(np.split(np.arange(4000), 80)) * 6:
        learner.reset_metrics()
        x = {name: array[batch] for name, array in inputs.items()}
        losses.append(learner.train_on_batch(x, says[batch], return_dict=True)["loss"])
    return np.array(losses, "float32")


# %% [markdown]
# **Predict:** A model that guesses among nine letters, and knows that the seventh piece is the end,
# has a loss of 6/7 · ln 9 = 1.88 nats. Will the losses of the two models stay together over all 480
# updates?

# %%
own_text = {"source": source, "target": reads}
losses = {"own": learn(own, own_text), "package": learn(packaged, text)}
for name, values in losses.items():
    print(f"{name:8}", *(f"{update}: {values[update - 1]:.5f} " for update in (1, 5, 20, 80, 480)))
np.testing.assert_allclose(losses["own"][:5], losses["package"][:5], rtol=1e-4)
assert max(np.median(values[-20:]) for values in losses.values()) < 0.05

# %% [markdown]
# They learn alike, and at first agree to the last digit. The two add in a different order, so their
# rounding differs by a millionth, and each update magnifies that. Can ours reverse letters that it
# has never seen? It writes greedily, one letter at a time:

# %%
new = np.array([[7, 3, 3, 9, 11, 4]], "int32")  # one of 531,441
written = np.array([[1, 0, 0, 0, 0, 0, 0]], "int32")
for t in range(S):
    logits = ops.convert_to_numpy(own({"source": new, "target": written}))
    written[0, t + 1] = logits[0, t].argmax()
print(letters(new), "→", letters(written[0, 1:]))
assert not (source == new).all(axis=1).any()
assert (written[0, 1:] == new[0, ::-1]).all()

# %% [markdown]
# ## Counting
#
# **End of the second sitting.** The number of parameters follows from the parts: attention has four
# matrices, the feed-forward network two with biases, a normalization two vectors; sinusoids have
# none, and the logits borrow the embeddings.


# %%
def count(vocabulary_size, N=6, D=512, H=8, F=2048, K=None):
    attention = 2 * D * H * (K or D // H) + 2 * D * D
    return {
        "embeddings": vocabulary_size * D,
        "attention in the encoder": N * attention,
        "attention in the decoder": 2 * N * attention,
        "feed-forward": 2 * N * (2 * D * F + F + D),
        "normalization": N * (2 + 3) * 2 * D,
    }


# %%
base = count(37_000)
for part, number in base.items():
    print(f"{part:26}{number:12,}")
assert sum(base.values()) == 63_045_632

# %% [markdown]
# The package's base model has the same number.

# %%
preset = ak.TransformerBackbone.from_preset(
    "transformer_base", vocabulary_size=37_000, load_weights=False
)
print(f"{preset.count_params():,}")
assert preset.count_params() == 63_045_632

# %% [markdown]
# ### Appendix: two missing million
#
# **End of the third sitting**; the figure and the summary are below. This appendix is for those who
# compare with the paper, whose Table 3 says 65 million. Where are the other two? For each row we
# ask how many pieces V would produce the printed number.

# %%
rows = {  # from Table 3: what differs from base, millions of parameters
    "base": ({}, 65),
    "B: d_k 16": ({"K": 16}, 58),
    "B: d_k 32": ({"K": 32}, 60),
    "C: N 2": ({"N": 2}, 36),
    "C: N 4": ({"N": 4}, 50),
    "C: N 8": ({"N": 8}, 80),
    "C: D 256": ({"D": 256}, 28),
    "C: D 1024": ({"D": 1024}, 168),
    "C: F 1024": ({"F": 1024}, 53),
    "C: F 4096": ({"F": 4096}, 90),
}

# %%
for name, (changes, millions) in rows.items():
    without_embeddings = sum(count(0, **changes).values())
    pieces = (1e6 * millions - without_embeddings) / changes.get("D", 512)
    print(f"{name:10} {millions:4} million if V = {pieces:7,.0f}")

# %% [markdown]
# All are near 41,000, where the text of the paper says "about 37000". With V = 41,100 every one of
# these rows rounds to the printed number. So the difference lies in the vocabulary, 512 numbers for
# each piece, and the blocks are the paper's. (Only the row "big" does not fit: it says 213 million,
# fewer than the 214 million that even 37,000 pieces give.)

# %%
for name, (changes, millions) in rows.items():
    print(f"{name:10} {sum(count(41_100, **changes).values()) / 1e6:6.2f}, printed {millions}")
    assert round(sum(count(41_100, **changes).values()) / 1e6) == millions
big = count(37_000, D=1024, H=16, F=4096)
print(f"big        {sum(big.values()) / 1e6:6.2f}, printed 213")
assert sum(big.values()) == 214_171_648

# %% [markdown]
# ### Where the parameters are
#
# The bars are for V = 37,000; the diamonds are the paper's numbers.

# %%
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
names = list(rows)
left, parts = np.zeros(len(rows)), list(base)[:4]  # normalization is too thin to see
for part, color in zip(parts, COLORS[:4], strict=True):
    widths = np.array([count(37_000, **changes)[part] / 1e6 for changes, _ in rows.values()])
    axes.barh(names, widths, left=left, color=color, label=part, height=0.7)
    left += widths
axes.plot([m for _, m in rows.values()], names, "D", color="black", ms=5, label="paper, Table 3")
axes.invert_yaxis()
axes.set(xlabel="parameters (millions)", ylabel="row of the paper's Table 3")
axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.6))
plt.show()

# %% [markdown]
# The feed-forward networks are the largest part of the base model, 25 of 63 million; attention has
# 19 and the embeddings 19. The diamonds are a little to the right of the bars: that is the 4,100
# pieces.

# %%
print({part: f"{number / sum(base.values()):.0%}" for part, number in base.items()})
assert [round(base[part] / 1e6) for part in ("feed-forward", "embeddings")] == [25, 19]
assert round((base[parts[1]] + base[parts[2]]) / 1e6) == 19

# %% [markdown]
# ## In three lines
#
# 1. A block is attention between positions and a small network at each of them, both inside Add &
#    Norm.
# 2. The residual keeps the words apart; without it a few blocks make all positions nearly equal.
# 3. Figure 1 is a dozen lines; its parameters are those of the paper, except for the size of the
#    vocabulary.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/06_stacking_blocks.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Many later models normalize *before* the sublayer and leave the sum alone: x + Sublayer(
# LayerNorm(x)). Write such an encoder block and compare it with
# `EncoderBlock(..., normalize_first=True)`.

# %% [markdown]
# **2.** How many parameters would the base model have with *two* matrices of embeddings and a third
# for the output, instead of one for all three? How many does sharing save?

# %% [markdown]
# ## Your turn
#
# Take the stack of "Why the residual" to N = 24 blocks. Are the positions still different at its
# end? Then give the residual more weight, `residual=2`: what changes?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [07 · Learning to translate](07_learning_to_translate.ipynb)
