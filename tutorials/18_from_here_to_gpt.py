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
# # 18 · From here to GPT
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/18_from_here_to_gpt.ipynb)
#
# **What is left of the Transformer in a GPT?** A GPT writes text without a source, so the encoder
# and the attention to it can go. We take them out of our own blocks, train what is left on the demo
# text, and let it write. Then we replace four of its parts by those of today's large models, and
# check each against NumPy.
#
# *50 minutes · you need notebooks 05 to 07, and 02 for the rotations.* Afterwards you can make a
# GPT from an encoder-decoder, let it write, and say what RMSNorm, rotary positions, grouped queries
# and gates change.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## What a GPT keeps
#
# Blue marks what a GPT keeps: the right-hand stack without cross-attention. (The Add & Norm after
# the cross-attention goes, too, although the drawing colours all three.)

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from aiayn_keras.backend import run_one_operation_at_a_time
from drawings import draw_architecture, draw_shapes

run_one_operation_at_a_time()  # faster for a model as small as ours
draw_architecture(
    *("target_ids", "target_embedding", "target_positions", "decoder_self_attention"),
    *("decoder_add_norm", "decoder_feed_forward", "output_projection", "softmax"),
)

# %%
from itertools import pairwise

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import aiayn_keras as ak
from aiayn_keras import layers
from aiayn_keras.data import load_corpus
from aiayn_keras.plotting import COLORS

# %% [markdown]
# ## A decoder block without its middle
#
# A decoder block has three steps: self-attention under the causal mask, cross-attention,
# feed-forward. We run the first and the last of a real one, and leave out the one in between.

# %%
keras.utils.set_random_seed(1)
B, T, H, K, F = 2, 7, 3, 4, 24
x = np.random.normal(size=(B, T, H * K)).astype("float32")
causal = layers.make_causal_mask(np.ones((B, T), dtype="int32"))
decoder = layers.DecoderBlock(H, K, F)
print("with cross-attention:", tuple(decoder(x, x, causal).shape), f"{decoder.count_params():,}")


# %%
def without_cross_attention(x):
    norm = decoder.self_attention_add_norm
    x = norm(x, sublayer=lambda x: decoder.self_attention(x, x, causal))
    return decoder.feed_forward_add_norm(x, sublayer=decoder.feed_forward)


# %% [markdown]
# **Predict:** Which block of the package computes exactly this, if it gets the same weights?

# %%
block = layers.EncoderBlock(H, K, F)
block.build(x.shape)
for part in ("self_attention", "self_attention_add_norm", "feed_forward", "feed_forward_add_norm"):
    getattr(block, part).set_weights(getattr(decoder, part).get_weights())
left = ops.convert_to_numpy(block(x, use_causal_mask=True))
print(f"{block.count_params():,} parameters of {decoder.count_params():,}")
np.testing.assert_allclose(left, without_cross_attention(x), atol=1e-5)

# %% [markdown]
# It is an *encoder* block with a causal mask. Without cross-attention, the mask is the only
# difference between a decoder block and an encoder block.
#
# ## Text without a source
#
# Pairs of sentences are no longer needed. The English side of the demo corpus becomes one long
# stream: a start token, a sentence, a start token, the next sentence, and so on. We cut it into
# rows of L = 32 pieces. At every position the model must say the next piece of the stream, as in
# notebook 07.

# %%
L, V = 32, 400
corpus = load_corpus("demo", train_size=20_000, validation_size=500, test_size=1)
tokenizer = ak.TransformerTokenizer.train(list(corpus.train.sources), vocabulary_size=V)
print(f"{len(corpus.train.sources):,} sentences, {tokenizer.vocabulary_size()} pieces")


# %%
def rows_of(sentences):
    """Rows (B, L) of the stream, and the same one place further: what must be said."""
    stream = [i for ids in tokenizer(list(sentences)) for i in (tokenizer.start_token_id, *ids)]
    count = (len(stream) - 1) // L
    return (np.array(stream[k : k + count * L]).reshape(count, L) for k in (0, 1))


# %%
reads, says = rows_of(corpus.train.sources)
new_reads, new_says = rows_of(corpus.validation.sources)
print(f"{reads.size:,} pieces in rows", reads.shape)
print(*(tokenizer.id_to_token(int(i)) for i in reads[0, :16]))
np.testing.assert_array_equal(reads[0, 1:], says[0, :-1])

# %% [markdown]
# ## The model
#
# GPT-2 normalizes *before* each sublayer (notebook 06a), so one more normalization ends the stack;
# its activation is GELU, a smooth max(0, ·). (GPT-2 learns a vector for each position; we keep the
# paper's sinusoids.)

# %%
draw_shapes("ids (B, L)", "embed", "(B, L, D)", "N blocks", "(B, L, D)", "× Eᵀ", "(B, L, V)")


# %%
D, N = 64, 2  # width, blocks
SIZES = {"num_heads": 4, "key_dim": 16, "intermediate_dim": 256, "dropout": 0.0}

# %% [markdown]
# The whole model is a few lines:


# %%
def gpt(
    block_cls=layers.EncoderBlock, norm=keras.layers.LayerNormalization, positions=True, **more
):
    ids = keras.Input((L,), dtype="int32")
    embedding = keras.layers.ReversibleEmbedding(V, D)
    add_positions = layers.PositionalEmbedding(L, dropout=0.0)
    x = add_positions(embedding(ids), ops.ones_like(ids)) if positions else embedding(ids) * D**0.5
    for _ in range(N):
        x = block_cls(**SIZES, normalize_first=True, **more)(x, use_causal_mask=True)
    return keras.Model(ids, embedding(norm(epsilon=1e-6)(x), reverse=True))


# %%
def learn(model, updates=300):
    """Validation loss after each tenth of the updates, in nats per piece."""
    rate = ak.WarmupSchedule(hidden_dim=D, warmup_steps=50, peak_learning_rate=0.006)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate, beta_2=0.98), loss, jit_compile=False)
    curve = []
    rows = np.arange(updates * 32) % len(reads)  # begin again at the end of the text
    for part in np.split(rows, 10):
        model.fit(reads[part], says[part], batch_size=32, verbose=0)
        curve.append(model.evaluate(new_reads, new_says, batch_size=128, verbose=0))
    return curve


# %% [markdown]
# **Predict:** One sentence of the demo grammar has about fifteen pieces, and the model may choose
# among 400. A guess costs ln 400 = 5.99 nats. But the grammar leaves a choice only in some places.
# Where will the loss end: near 4, 2, or 0?


# %%
keras.utils.set_random_seed(1)
model = gpt(activation="gelu")
curves = {"GPT-2's parts": learn(model)}
print(f"{model.count_params():,} parameters:", *(f"{loss:.2f}" for loss in curves["GPT-2's parts"]))
assert curves["GPT-2's parts"][-1] < np.log(V)

# %% [markdown]
# The loss that is left comes from the freedom of the grammar: nobody can know *which* noun comes
# next.
#
# Does the model see the future? We use the test of notebook 04: change one piece, and see which
# outputs move.

# %%
changed = reads[:4].copy()
changed[:, 20] = (changed[:, 20] + 1) % V
moved = np.abs(model.predict_on_batch(changed) - model.predict_on_batch(reads[:4]))
moved = moved.max(axis=(0, 2))
print(f"before position 20: {moved[:20].max():.1e}, from there on: {moved[20:].max():.1f}")
assert moved[:20].max() < 1e-4 < moved[20:].max()

# %% [markdown]
# ## It writes
#
# Without a source, there is no single right answer to search for. So we draw each piece at random,
# according to its probability. The *temperature* τ divides the logits first (notebook 08): below 1
# it favours the probable pieces, above 1 it gives the others a better chance. We fill a row from
# the left; the zeros after the last piece do no harm, because nothing looks ahead.


# %%
def write(model, temperature, generator):
    """One drawn sentence: from the start token up to the next one."""
    row = np.full((1, L), 0)
    row[0, 0] = tokenizer.start_token_id
    for t in range(L - 1):
        logits = model.predict_on_batch(row)[0, t].astype("float64") / temperature
        weights = np.exp(logits - logits.max())
        row[0, t + 1] = generator.choice(V, p=weights / weights.sum())
        if row[0, t + 1] == tokenizer.start_token_id:
            return tokenizer.detokenize([row[0, 1 : t + 1].tolist()])[0]
    return tokenizer.detokenize([row[0, 1:].tolist()])[0]


# %% [markdown]
# **Predict:** Will these sentences be English, will they be new, and what will the temperature
# change?

# %%
known = set(corpus.train.sources)
pairs = {pair for text in known for pair in pairwise(text.split())}
generator = np.random.default_rng(1)
for temperature in (0.7, 1.0, 1.5):
    texts = [write(model, temperature, generator) for _ in range(8)]
    seen = [pair in pairs for text in texts for pair in pairwise(text.split())]
    print(f"τ = {temperature}: {np.mean(seen):.0%} of word pairs occur in the text,", end=" ")
    print(f"{sum(text not in known for text in texts)} of 8 sentences are new")
    print(*(f"    {text}" for text in texts[:3]), sep="\n")

# %% [markdown]
# That is a GPT. Large GPTs have more parameters and have read more text, and four of their parts
# have changed since GPT-2. We change these one by one.
#
# ## Change a part: RMSNorm
#
# Layer normalization subtracts the mean and divides by the standard deviation. RMSNorm only divides
# by the root of the mean square, and has no β ([Zhang and Sennrich
# 2019](https://arxiv.org/abs/1910.07467)). Each block of the package names the classes of its
# parts, so a subclass can replace them ([docs/change_a_part.md](../docs/change_a_part.md)).


# %%
class RMSAddNorm(layers.AddNorm):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.layer_norm = keras.layers.RMSNormalization(epsilon=self.epsilon)


# %%
frame = RMSAddNorm(dropout=0.0, normalize_first=True)
frame.build((B, T, H * K))
gamma = np.random.uniform(0.5, 2, H * K).astype("float32")
frame.layer_norm.set_weights([gamma])
by_hand = x + gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)
print("γ", gamma.shape, "and no β:", len(frame.layer_norm.weights), "array of weights")
np.testing.assert_allclose(frame(x, sublayer=lambda x: x), by_hand, atol=1e-5)

# %% [markdown]
# ## Change a part: rotary positions
#
# Notebook 02 showed that a shift by some positions *rotates* a sinusoid. But sinusoids are added to
# the embeddings, before the matrices W_Q and W_K, which may destroy this property. RoPE ([Su et al.
# 2021](https://arxiv.org/abs/2104.09864)) adds nothing to the embeddings. It rotates queries and
# keys, after the matrices. The numbers of a query are taken in pairs, as points in a plane, and
# pair i of a query at position t is turned by the angle $t / 10000^{2i/d_k}$.


# %%
def rotate(x):
    """Rotates (B, H, T, K) by position: pairs of neighbouring numbers, slower and slower."""
    _, _, T, K = x.shape
    angles = np.outer(np.arange(T), 10_000.0 ** (-np.arange(0, K, 2) / K)).astype("float32")
    cos, sin = np.cos(angles), np.sin(angles)  # (T, K/2)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = ops.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return ops.reshape(turned, (-1, x.shape[1], T, K))


# %% [markdown]
# To check it, we take each pair as one complex number: multiplying by $e^{i \cdot angle}$ turns it.
#
# **Predict:** The same query vector stands at positions 0 to 9, and the same key vector too. What
# does their product depend on, after the rotation?

# %%
q, k = np.random.normal(size=(2, 8)).astype("float32")
stood = np.tile(np.stack([q, k])[:, None, None], (1, 1, 10, 1))  # (2, 1, 10, 8)
turned = ops.convert_to_numpy(rotate(stood))
numbers = stood[..., 0::2] + 1j * stood[..., 1::2]
numbers = numbers * np.exp(1j * np.outer(np.arange(10), 10_000.0 ** (-np.arange(0, 8, 2) / 8)))
np.testing.assert_allclose(turned[..., 0::2] + 1j * turned[..., 1::2], numbers, atol=1e-5)
products = turned[0, 0] @ turned[1, 0].T  # (10, 10): query position, key position
for distance in (0, 1, 5):
    print(f"distance {distance}:", np.diagonal(products, distance).round(3)[:4], "...")
    np.testing.assert_allclose(np.ptp(np.diagonal(products, distance)), 0, atol=1e-4)

# %% [markdown]
# It depends on their distance alone, and this is true *after* the matrices. With sinusoids a model
# can learn this property; with RoPE it is built in.
#
# ## Change a part: grouped queries
#
# A cache keeps the keys and values of every head (notebook 09). Grouped queries ([Ainslie et al.
# 2023](https://arxiv.org/abs/2305.13245)) need fewer: H query heads share G heads of keys and
# values, here G = 2, so the cache is H / G times smaller. Our subclass also rotates queries and
# keys.

# %%
G = 2


class GroupedRotaryAttention(layers.MultiHeadAttention):
    def __init__(self, num_heads, key_dim, **kwargs):
        super().__init__(num_heads, key_dim, **kwargs)
        self.key_dense = self._dense(G * key_dim, "key")
        self.value_dense = self._dense(G * key_dim, "value")

    def _share(self, x):  # (B, S, G·K) --> (B, H, S, K)
        x = ops.reshape(x, (-1, x.shape[1], G, self.key_dim))
        return ops.repeat(ops.transpose(x, (0, 2, 1, 3)), self.num_heads // G, axis=1)


# %% [markdown]
# Two methods of the package's layer are replaced: the one that splits keys and values into heads,
# and the one that attends.


# %%
class ModernAttention(GroupedRotaryAttention):
    def _split_memory(self, key, value):
        return rotate(self._share(key)), self._share(value)

    def _attend(self, query, key, value, mask, training):
        query = rotate(self._split_heads(query, self.key_dim))
        mask = ops.expand_dims(mask, axis=1)
        x = layers.scaled_dot_product_attention(query, key, value, mask)
        return self.output_dense(self._join_heads(x))


# %% [markdown]
# To check it, we compute one head and one query at a time, with complex numbers.


# %%
def turn(vectors):  # (T, K) --> (T, K / 2), complex
    K = vectors.shape[1]
    angles = np.outer(np.arange(len(vectors)), 10_000.0 ** (-np.arange(0, K, 2) / K))
    return (vectors[:, 0::2] + 1j * vectors[:, 1::2]) * np.exp(1j * angles)


# %%
def head_by_hand(q, k, v):
    out, (q, k) = np.zeros_like(v), (turn(q), turn(k))
    for t in range(len(q)):
        scores = (q[t] * k[: t + 1].conj()).real.sum(axis=1) / np.sqrt(v.shape[1])
        weights = np.exp(scores) / np.exp(scores).sum()
        out[t] = weights @ v[: t + 1]
    return out


# %%
attention = ModernAttention(num_heads=4, key_dim=6)
x = np.random.normal(size=(1, T, 24)).astype("float32")
causal = layers.make_causal_mask(np.ones((1, T), dtype="int32"))
output = ops.convert_to_numpy(attention(x, x, causal))[0]
W_Q, W_K, W_V, W_O = attention.get_weights()
assert W_K.shape == W_V.shape == (24, G * 6)
heads = [np.split(x[0] @ W, n, axis=1) for W, n in ((W_Q, 4), (W_K, G), (W_V, G))]
group = 4 // G  # so many query heads share one head of keys and values
by_hand = [head_by_hand(heads[0][h], heads[1][h // group], heads[2][h // group]) for h in range(4)]
print("W_Q", W_Q.shape, "but W_K and W_V", W_K.shape)
np.testing.assert_allclose(np.concatenate(by_hand, axis=1) @ W_O, output, atol=1e-4)

# %% [markdown]
# ## Change a part: a gated feed-forward network
#
# The hidden layer is multiplied, number by number, by a second one, the *gate*: SwiGLU
# ([Shazeer 2020](https://arxiv.org/abs/2002.05202)), with silu(x) = x / (1 + e⁻ˣ).


# %%
class GatedFeedForward(layers.PositionwiseFeedForward):
    def build(self, x_shape):
        super().build(x_shape)
        self.gate = keras.layers.Dense(self.intermediate_dim, name="gate")
        self.gate.build(x_shape)

    def call(self, x, training=None):
        return self.output_dense(self.activation(self.hidden_dense(x)) * self.gate(x))


# %%
gated = GatedFeedForward(10, activation="silu")
output = ops.convert_to_numpy(gated(x))
(W_1, b_1), (W_2, b_2), (W_g, b_g) = (
    d.get_weights() for d in (gated.hidden_dense, gated.output_dense, gated.gate)
)
hidden = x @ W_1 + b_1
by_hand = hidden / (1 + np.exp(-hidden)) * (x @ W_g + b_g) @ W_2 + b_2
print("three matrices in place of two:", W_1.shape, W_g.shape, W_2.shape)
np.testing.assert_allclose(output, by_hand, atol=1e-5)

# %% [markdown]
# ## All four together
#
# A block with these parts is the block of Llama and most of its relatives. We train it on the same
# rows. The gated network has three matrices instead of two, so we make it about two thirds as wide:
# then both models have about the same number of parameters.


# %%
class ModernBlock(layers.EncoderBlock):
    attention_cls, add_norm_cls = ModernAttention, RMSAddNorm
    feed_forward_cls = GatedFeedForward


# %% [markdown]
# **Predict:** On this little text, with so small a model: will the modern parts learn faster?

# %%
SIZES["intermediate_dim"] = 176
keras.utils.set_random_seed(1)
modern = gpt(ModernBlock, keras.layers.RMSNormalization, positions=False, activation="silu")
curves["Llama's parts"] = learn(modern)
for name, curve in curves.items():
    print(f"{name:14}", *(f"{loss:.2f}" for loss in curve))
print(f"{model.count_params():,} and {modern.count_params():,} parameters")
assert curves["Llama's parts"][-1] < np.log(V)

# %%
figure, axes = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
for (name, curve), color, style in zip(curves.items(), COLORS, ("o-", "s--"), strict=False):
    axes.plot(range(30, 301, 30), curve, style, color=color, label=name)
axes.set(xlabel="updates", ylabel="validation loss (nats per piece)")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# A single training of each says little (notebook 16): the curves show that both learn, not which is
# better. The newer parts are useful in large models, where they save computing and memory for the
# cache, and allow longer texts.

# %% [markdown]
# ## In three lines
#
# 1. A GPT is the decoder without cross-attention: an encoder block with a causal mask, N times.
# 2. It learns to continue one stream of text, and writes by drawing piece after piece.
# 3. RMSNorm, rotary positions, grouped queries and gates each replace one part of the same block.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/18_from_here_to_gpt.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** How many numbers does one block's cache keep for a text of 1,024 pieces at H = 32 heads of
# K = 128, with 32, 8 and 1 heads of keys and values? By what factor does sharing make it smaller?

# %% [markdown]
# **2.** Show that an encoder block without a mask is *not* a GPT: change the last piece of an input
# and find the first output that moves, with `use_causal_mask` and without.

# %% [markdown]
# ## Your turn
#
# Train on a text of your own: a list of sentences instead of `corpus.train.sources`, and some
# held-out sentences instead of `corpus.validation.sources`. What does the model write after 300
# updates, and what after 3,000?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [19 · Before attention](19_before_attention.ipynb), where two recurrent models show why
# attention was invented.
