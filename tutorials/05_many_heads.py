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
# **Why several small attentions rather than a single wide one?** We split the vectors into heads,
# let each attend alone, join them, and get the same numbers as the package's layer and Keras's
# own. We train a task at which one head fails and two succeed, and read what the paper measured.
# Then we look at the heads of a trained model and switch them off one by one (paper, sections
# 3.2.2 and 6.2).
#
# *Short path, 4 of 9 · 50 minutes · you need notebook 03.* Afterwards you can split, attend and
# join by hand, and test what a trained head is needed for.

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
from aiayn_keras.plotting import COLORS, plot_attention
from drawings import draw_architecture, draw_shapes

# %% [markdown]
# Blue marks what this notebook builds: the split into heads at the bottom of each attention, and
# the join at its top.

# %%
draw_architecture("heads", "joined_heads")

# %% [markdown]
# ## One head takes one mean
#
# A head gives each query *one* set of weights. Suppose a verb must know its subject and its object.
# One head that looks at both equally gets the same mean for "dog bites man" and "man bites dog".
# Two heads, one for each, keep them apart.

# %%
dog, man = np.array([1.0, 0.0]), np.array([0.0, 1.0])
print("one head: ", (dog + man) / 2, (man + dog) / 2)
print("two heads:", np.concatenate([dog, man]), np.concatenate([man, dog]))
assert np.array_equal((dog + man) / 2, (man + dog) / 2)

# %% [markdown]
# Could one head not give 2/3 of its weight to one and 1/3 to the other? Yes, and below we see how
# far that helps. First the layer itself.

# %% [markdown]
# ## Split
#
# The layer takes two arrays. It makes the queries from the first, and the keys *and* values from
# the second, each by a product with its own matrix (a *projection*): W_Q, W_K and W_V. If both
# arrays are the same, this is *self-attention*. Here it is *cross-attention*: vectors of a decoder,
# `query`, look at the output of an encoder, `memory`.
#
# There are T = 7 queries and S = 5 keys of width D = 12; H = 3 heads of width K = 4. Each of the
# three matrices serves all heads at once; head h owns the columns from h·K to (h+1)·K.

# %%
keras.utils.set_random_seed(1)
B, T, S, H, K = 2, 7, 5, 3, 4
D = H * K
query = np.random.normal(size=(B, T, D)).astype("float32")
memory = np.random.normal(size=(B, S, D)).astype("float32")
layer = layers.MultiHeadAttention(num_heads=H, key_dim=K)
output = ops.convert_to_numpy(layer(query, memory))
W_Q, W_K, W_V, W_O = layer.get_weights()
print("output", output.shape, "matrices", [W.shape for W in (W_Q, W_K, W_V, W_O)])
assert W_Q.shape == W_K.shape == W_V.shape == W_O.shape == (D, D)

# %% [markdown]
# One reshape and one transpose separate the heads.

# %%
draw_shapes("(B, T, D)", "reshape", "(B, T, H, K)", "transpose", "(B, H, T, K)")


# %%
def split(x):
    return x.reshape(B, -1, H, K).transpose(0, 2, 1, 3)


queries = split(query @ W_Q)
print((query @ W_Q).shape, "->", (query @ W_Q).reshape(B, -1, H, K).shape, "->", queries.shape)
for h in range(H):
    columns = slice(h * K, (h + 1) * K)
    np.testing.assert_allclose(queries[:, h], query @ W_Q[:, columns], atol=1e-5)

# %% [markdown]
# **Predict:** What if we reshape (B, T, D) straight to (B, H, T, K), without the transpose? Are the
# numbers the same?

# %%
wrong = (query @ W_Q).reshape(B, H, T, K)
print(f"shape {wrong.shape}, equal numbers: {np.isclose(wrong, queries).mean():.0%}")
assert wrong.shape == queries.shape
assert not np.allclose(wrong, queries, atol=0.1)

# %% [markdown]
# The shape is right, but the numbers are wrong: this reshape mixes positions, and no error says so.

# %% [markdown]
# ## Attend
#
# Each head is notebook 03's attention, on its own columns. NumPy's `@` does all B sentences and H
# heads at once: it multiplies the last two axes, and repeats that for those before them.


# %%
def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v


keys, values = split(memory @ W_K), split(memory @ W_V)
heads = attention(queries, keys, values)
print("queries", queries.shape, "keys", keys.shape, "heads", heads.shape)
assert heads.shape == (B, H, T, K)

# %% [markdown]
# ## Join
#
# The heads are put side by side again, and a last matrix, W_O, mixes them. That is the whole layer.

# %%
draw_shapes(
    "(B, H, T, K)", "transpose", "(B, T, H, K)", "reshape", "(B, T, D)", "· W_O", "(B, T, D)"
)

# %%
joined = heads.transpose(0, 2, 1, 3).reshape(B, T, D)
print(heads.shape, "->", joined.shape)
np.testing.assert_allclose(joined @ W_O, output, atol=1e-5)

# %% [markdown]
# Or, in other words: each head has its own rows of W_O, and the layer is a *sum of heads*. That is
# why single heads can be looked at, and switched off.

# %%
rows = W_O.reshape(H, K, D)
parts = [heads[:, h] @ rows[h] for h in range(H)]
print("length of each head's part:", [f"{np.linalg.norm(part):.1f}" for part in parts])
np.testing.assert_allclose(sum(parts), output, atol=1e-5)

# %% [markdown]
# ## The same as Keras' own layer
#
# Keras keeps the projections as (D, H, K) and the last one as (H, K, D); the numbers are the same.

# %%
keras_layer = keras.layers.MultiHeadAttention(num_heads=H, key_dim=K, use_bias=False)
keras_layer(query, memory)  # builds its weights
keras_layer.set_weights([W.reshape(D, H, K) for W in (W_Q, W_K, W_V)] + [rows])
np.testing.assert_allclose(keras_layer(query, memory), output, atol=1e-5)
[tuple(weight.shape) for weight in keras_layer.weights]

# %% [markdown]
# ## Heads cost no parameters
#
# With K = D / H, the matrix products need the same number of multiplications for any number of
# heads. Only the H tables of T·S weights grow; the paper calls the whole cost *similar* to that of
# one wide head (section 3.2.2).
#
# (A *parameter*, or weight, is a number that training may change; `count_params()` counts them.)
#
# **Predict:** How many parameters does the layer have at D = 512 with 1, 2, 4 and 8 heads?

# %%
for num_heads in (1, 2, 4, 8):
    layer = layers.MultiHeadAttention(num_heads, key_dim=512 // num_heads)
    layer.build((None, T, 512), (None, S, 512))
    print(f"{num_heads} heads of {512 // num_heads:3}: {layer.count_params():,}")
    assert layer.count_params() == 4 * 512**2 == 1_048_576

# %% [markdown]
# A common mistake: `key_dim` is the width of *one* head. If it is set to D, the layer is H times
# too large, and nothing complains in training.

# %%
mistaken = layers.MultiHeadAttention(num_heads=8, key_dim=512)
mistaken.build((None, T, 512), (None, S, 512))
print(f"8 heads of 512: {mistaken.count_params():,}")
assert mistaken.count_params() == 8 * 4 * 512**2

# %% [markdown]
# ## A task that one head fails
#
# A row consists of six words out of 60. One of them is marked as the subject, one as the object. A
# verb looks at the row once and must name both.

# %%
V = 60


def sentences(count):
    """Words and roles (0 other, 1 subject, 2 object), (B, 6); subject and object, (B, 2)."""
    words = generator.integers(V, size=(count, 6))
    roles = generator.permuted(np.tile([1, 2, 0, 0, 0, 0], (count, 1)), axis=1)
    return words, roles, np.stack([words[roles == 1], words[roles == 2]], axis=1)


# %%
generator = np.random.default_rng(0)
words, roles, named = sentences(4_096)
print("words", words[0], "roles", roles[0], "to be named", named[0])

# %% [markdown]
# The model is one attention from the verb to the words. Each word is the sum of two learned
# vectors, one for the word and one for its role; the verb, which is always the same, is a single
# learned vector. A dense layer then gives the logits of the subject and of the object. The width is
# D = 32, with one head or with two.


# %%
class Verb(keras.Model):
    def __init__(self, num_heads, D=32):
        super().__init__()
        self.word, self.role, self.verb = (keras.layers.Embedding(n, D) for n in (V, 3, 1))
        self.attention = layers.MultiHeadAttention(num_heads, D // num_heads)
        self.logits = keras.layers.Dense(2 * V)

    def call(self, x):
        words, roles = x
        verb = self.verb(ops.zeros_like(words[:, :1]))  # (B, 1, D)
        read = self.attention(verb, self.word(words) + self.role(roles))
        return ops.reshape(self.logits(read), (-1, 2, V))


# %% [markdown]
# It is trained on 4,096 rows and tested on 1,000 new ones.


# %%
def train(num_heads):
    """Loss of each epoch, and the share of new rows with both words right."""
    keras.utils.set_random_seed(2)
    model = Verb(num_heads)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, jit_compile=False)
    losses = model.fit([words, roles], named, 128, epochs=10, verbose=0).history["loss"]
    guess = ops.convert_to_numpy(model([new_words, new_roles])).argmax(axis=-1)
    return losses, (guess == new_named).all(axis=1).mean(), model.count_params()


# %% [markdown]
# **Predict:** Both models have the same number of parameters. Which one names both words, and how
# often?

# %%
new_words, new_roles, new_named = sentences(1_000)
results = {num_heads: train(num_heads) for num_heads in (1, 2)}
for num_heads, (losses, right, parameters) in results.items():
    print(f"heads {num_heads}: {parameters:,} parameters, loss {losses[-1]:.2f}, right {right:.0%}")
assert results[1][2] == results[2][2]
assert results[2][1] > 0.95
assert results[1][1] < 0.8

# %%
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for (num_heads, (losses, *_)), style in zip(results.items(), ("s--", "o-"), strict=True):
    name = f"{num_heads} head{'s' * (num_heads > 1)} of {32 // num_heads}"
    axes.plot(range(1, 11), losses, style, color=COLORS[num_heads - 1], label=name)
axes.axhline(np.log(V), color="#555555", linewidth=0.8, label="a guess: ln 60")
axes.set(xlabel="epoch (32 updates)", ylabel="loss (nats per word)", ylim=0)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# Two heads divide the work and are right. One head must look at both words at once. It can give
# them unequal weights, so that the mean differs from pair to pair. After the same number of updates
# the dense layer can tell many pairs apart, but not all, and the loss is still falling. (Fewer
# words make it easier for one head: see "Your turn".)

# %% [markdown]
# ## What the paper measured
#
# Rows (A) of Table 3 change the number of heads of the *base* model, the smaller of the paper's
# two, with K = 512 / H, so that the amount of computation stays the same. The model translates
# newstest2013, sentences from the news, from English to German. Two numbers say how well:
#
# - **Perplexity** is e to the power of the mean loss of a piece, in nats. A perplexity of 5 means
#   being as unsure as if one had to guess among 5 equally probable pieces. Lower is better.
# - **BLEU** compares translations with those of a human translator, by the runs of one to four
#   words that they share. It goes from 0 to 100; higher is better.

# %%
table_3_a = {1: (5.29, 24.9), 4: (5.00, 25.5), 8: (4.92, 25.8), 16: (4.91, 25.8), 32: (5.01, 25.4)}
print("heads   K  perplexity  BLEU")
for num_heads, (perplexity, bleu) in table_3_a.items():
    print(f"{num_heads:5} {512 // num_heads:3}  {perplexity:10.2f}  {bleu:4.1f}")
best = max(bleu for _, bleu in table_3_a.values())
assert np.isclose(best - table_3_a[1][1], 0.9)

# %% [markdown]
# One head is 0.9 BLEU worse than the best setting; 32 heads of width 16 are worse than 8 or 16
# heads. So a whole model with one head per layer does translate, perhaps because it has other
# layers to look with. The paper reports one training for each row, and does not say how much chance
# changes such a number.

# %% [markdown]
# ## What trained heads look at
#
# The included English-Spanish model has three decoder layers with four heads each. `attention_maps`
# gives the weights of all of them; we take the last layer's cross-attention, (H, T, S). A row is
# named after the piece that is being *written*; its query was made from the pieces before it.
#
# **Predict:** Spanish articles have a gender, *un* or *una*. Where should a head look to choose?

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
source = "The man bought a red car last week."
spanish = "El hombre compró un coche rojo la semana pasada."
maps = model.attention_maps(source, spanish)
weights = maps.cross[-1]
written = [*maps.target_tokens[1:], "</s>"]  # row t writes the piece after the one it reads
assert maps.cross.shape[:2] == (3, 4)
np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
plot_attention(
    weights, maps.source_tokens, written, x_label="source piece", y_label="being written"
)

# %% [markdown]
# All four mostly find the word to be translated. The three articles are different: while `▁El`,
# `▁un` and `▁la` are written, head 1 looks at the *noun*: *man*, *car* and *week*. The noun decides
# the article's gender. The other heads look at an English article, or at *red* or *last*.

# %%
articles = [written.index(piece) for piece in ("▁El", "▁un", "▁la")]
for head in range(4):
    looks = [maps.source_tokens[i] for i in weights[head, articles].argmax(axis=1)]
    print(f"head {head + 1}:", dict(zip(("El", "un", "la"), looks, strict=True)))
    assert (looks == ["▁man", "▁car", "▁week"]) == (head == 0)

# %% [markdown]
# ## The three kinds of attention
#
# The pictures in the paper's appendix (Figures 3 to 5) show the *encoder's* self-attention. Here
# is head 2 of the last layer in both self-attentions, first the encoder's, then the decoder's.
#
# **Predict:** One of the two is empty above the diagonal. Which one, and why?

# %%
for name, weights_of_kind in (("encoder", maps.encoder), ("decoder", maps.decoder)):
    later = np.triu(weights_of_kind[-1], 1).sum(axis=(1, 2)) / weights_of_kind.shape[2]
    print(f"{name}, weight on later pieces, head by head:", later.round(2))
assert np.triu(maps.decoder, 1).max() == 0 < np.triu(maps.encoder, 1).max()
tokens = maps.source_tokens
plot_attention(maps.encoder[-1, 1], tokens, tokens, x_label="looked at", y_label="looks")

# %%
tokens = maps.target_tokens
plot_attention(maps.decoder[-1, 1], tokens, tokens, x_label="looked at", y_label="piece read")

# %% [markdown]
# The decoder's: its mask hides the future (notebook 04). The encoder knows the whole sentence, so
# its pieces look both ways. Cross-attention, further up, need not be square: it has Spanish rows
# and English columns.

# %% [markdown]
# ## What they are needed for
#
# A picture shows where a head looks, not what the model needs it for. So we switch the heads off,
# one at a time, by setting their rows of W_O to zero (`head_off`, in `lesson_tools.py` beside this
# notebook). The question is whether `▁La` or `▁El` begins
# the translation of ten sentences "The … is here." We measure the logit of the right article minus
# that of the wrong one: the larger this margin, the surer the model is of the gender.

# %%
genders = {"house": "La", "table": "La", "window": "La", "door": "La", "moon": "La"}
genders |= {"car": "El", "dog": "El", "book": "El", "train": "El", "garden": "El"}
tokenizer = model.preprocessor.tokenizer
end, start = tokenizer.end_token_id, tokenizer.start_token_id
sources = [[*tokenizer(f"The {noun} is here."), end] for noun in genders]
inputs = ak.pack_token_ids(sources, [[start]] * len(sources))
inputs["encoder_token_ids"].shape


# %%
def margins():
    """Logit of the right article minus that of the wrong one, for each of the ten nouns."""
    logits = ops.convert_to_numpy(model(inputs, training=False))[:, -1]
    la, el = (logits[:, tokenizer.token_to_id(piece)] for piece in ("▁La", "▁El"))
    return np.where(np.array(list(genders.values())) == "La", la - el, el - la)


whole = margins()
print(f"all heads on: {np.round(whole, 1)}, mean {whole.mean():.1f}")
assert (whole > 0).all()


# %%
from lesson_tools import head_off


def mean_margin_without(layer, head):
    with head_off(model.backbone.decoder_blocks[layer].cross_attention, head):
        return margins().mean()


# %% [markdown]
# **Predict:** The mean margin is 5.3. How much of it is left if a single head is switched off, and
# which head matters most?

# %%
left = np.array([[mean_margin_without(n, h) for h in range(4)] for n in range(3)])
for n, row in enumerate(left, 1):
    print(f"layer {n}:", "  ".join(f"without head {h} {x:4.1f}" for h, x in enumerate(row, 1)))
with head_off(model.backbone.decoder_blocks[2].cross_attention, 0):
    print("without head 1 of layer 3, noun by noun:", np.round(margins(), 1))
    assert (margins()[:5] < 0).all()
assert left[2, 0] < 0.1 * whole.mean()
assert min(left[:2].min(), left[2, 1:].min()) > 0.9 * whole.mean()  # all others

# %% [markdown]
# It is head 1 of the last layer. Without it, 95 % of the difference between the two articles is
# gone; without any other of the twelve, at most 4 %. Here the picture was right. For all five
# feminine nouns `▁El` is now more probable than `▁La`: the model no longer knows the gender, and
# writes the commoner article.

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
for n, row in enumerate(left):
    axes.bar(np.arange(4) + 0.27 * (n - 1), row, 0.25, color=COLORS[n], label=f"layer {n + 1}")
axes.axhline(whole.mean(), color="#555555", linewidth=0.8, label="all heads on")
axes.set_xticks(range(4), [f"head {h} off" for h in range(1, 5)])
axes.set(ylabel="right - wrong article (logits)", ylim=(0, 7))
axes.legend(frameon=False, ncols=4, loc="upper center", columnspacing=1, handlelength=1)
plt.show()

# %% [markdown]
# That is one decision, in ten sentences of one pattern. For whole translations, it is not always
# the same head that matters most (exercise 1).

# %% [markdown]
# ## In three lines
#
# 1. A head is attention on its own K columns, and gives one mean for each query; H heads give H
#    means.
# 2. Split, attend, join: the layer is a sum of heads, each with its own rows of W_O.
# 3. Where a head looks suggests its use; switching it off is the test.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/05_many_heads.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Switch the heads of the last decoder layer's attention to the source off, one at a time,
# and measure by `model.score` how many nats each costs the translation of four sentences of your
# own. Is the same head the most expensive in all four?

# %% [markdown]
# **2.** Does the order of the heads matter? Put them in a different order, in all four matrices,
# and show that the layer stays the same.

# %% [markdown]
# ## Your turn
#
# Set V to 10 words in the task above and train both models again. How often is one head right now?
# Then let three words be named, with two heads and with three.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [06a · Inside a block](06a_inside_a_block.ipynb), where attention gets what it needs to be
# stacked.
