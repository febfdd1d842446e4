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
# # 03 · Attention by hand
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/03_attention_by_hand.ipynb)
#
# **How does one word draw on all the others, and why does the formula divide by a square root?** We
# see how a trained model tells two meanings of one word apart, build equation 1 of the paper in
# NumPy, first with loops and then with matrices, and find the same numbers in the package. Then we
# meet the other way to score, additive attention, and train three models: dot product with the
# root, without it, and additive (section 3.2.1).
#
# *Short path, 2 of 9 · 60 minutes · you need notebook 00, dot products, and what a derivative is.*
# Afterwards you can compute attention by hand and say why scores are divided by √d_k. If you are
# short of time, stop before "The other way".

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
# Blue marks what this notebook builds, inside each attention: the scores, the softmax, and the
# weighted sum of the values. All other boxes are grey.

# %%
draw_architecture("scores", "weights", "weighted_values")

# %% [markdown]
# ## One word, two meanings
#
# *There is a fly* and *birds fly*: the piece `▁fly` is the same, and so is its embedding, the
# vector that enters the model. Only its neighbours tell the two apart.
#
# We take the vector of `▁fly` from the output of the encoder (`backbone.encode`; the *backbone* is
# encoder and decoder, without tokenizer and search), and compare the two by their *cosine*: 1 if
# two vectors point in the same direction, 0 if they have nothing in common.
#
# **Predict:** The included model translates both. After its encoder, is the vector of `▁fly` still
# the same in the two sentences?

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
sentences = ["There is a fly in my soup.", "Birds fly south in winter."]
tokenizer, vectors = model.preprocessor.tokenizer, []
for sentence in sentences:
    ids = np.array([[*tokenizer(sentence), tokenizer.end_token_id]])
    memory = ops.convert_to_numpy(model.backbone.encode(ids, np.ones_like(ids)))[0]
    vectors.append(memory[ids[0].tolist().index(tokenizer.token_to_id("▁fly"))])
    print(sentence, "→", model.translate([sentence])[0].text)
a, b = vectors
print(f"cosine of the two vectors of ▁fly: {a @ b / np.linalg.norm(a) / np.linalg.norm(b):.2f}")
assert a @ b < 0.9 * np.linalg.norm(a) * np.linalg.norm(b)

# %% [markdown]
# No: something has mixed the neighbours into it. This is *self-attention*. Each row below is a
# piece of the first sentence, and shows how one head of the encoder's first layer spreads a weight
# of 1 over all pieces of the same sentence; the darker a square, the larger the weight. So the
# number of weights grows with the square of the length. But all of them are computed at once, while
# a network that reads word by word must finish one word before it begins the next.

# %%
maps = model.attention_maps(sentences[0], model.translate(sentences[:1])[0].text)
head = maps.encoder[0, 3]  # layer 1, head 4
assert [head[t].argmax() for t in range(len(head) - 1)] == [*range(1, len(head))]
plot_attention(
    head,
    maps.source_tokens,
    maps.source_tokens,
    x_label="looked at",
    y_label="piece that looks",
)

# %% [markdown]
# This head has learned to look one piece ahead: `▁a` looks at `▁fly`, and `▁fly` at `▁in`. (The
# last piece, with nothing after it, looks at itself.) So `▁fly` takes in what follows it, which is
# a different word in each of our two sentences.
#
# The new vector of a piece is a *weighted sum* of the vectors of all pieces, each multiplied by its
# weight in the row. Here is a picture for three pieces, each with a vector of four numbers. Every
# bar is one of the four numbers; the orange bars are the sums of the blue ones.

# %%
three, shares = np.array([[1.0, 0, 2, -1], [0, 2, -1, 1], [2, 1, 0, 1]]), np.array([0.2, 0.1, 0.7])
bars = [*(share * vector for share, vector in zip(shares, three, strict=True)), shares @ three]
names = [*(f"{share} × piece {i}" for i, share in enumerate(shares, 1)), "their sum"]
figure, panels = plt.subplots(1, 4, figsize=(9, 2), layout="constrained", sharey=True)
for panel, bar, name in zip(panels, bars, names, strict=True):
    panel.bar(range(4), bar, color=COLORS[name == "their sum"])
    panel.set(title=name, xticks=range(4))
panels[0].set_ylabel("value")
plt.show()

# %% [markdown]
# The third piece weighs most, so the sum resembles it most. But where do the weights come from?
#
# ## A soft dictionary
#
# A dictionary finds the one key that equals the query, and gives its value. Attention compares the
# query with *every* key, and gives a mean of all the values, in which a better match weighs more.
# Here are one query, three keys and three values:

# %%
query = np.array([1.0, 0.0])
keys = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
values = np.array([[10.0], [20.0], [30.0]])
print("query · key:", keys @ query)

# %% [markdown]
# 1. Score each key by its dot product with the query, divided by √d_k, where d_k is the number of
#    components of a query or a key (here 2; the K of notebook 00). The root is explained below.
# 2. Make the scores positive, and make them sum to one: the softmax.
# 3. Take the mean of the values with these weights.
#
# **Predict:** The values are 10, 20 and 30. Is the answer above or below 20?

# %%
scores = [sum(query * key) / np.sqrt(2) for key in keys]
exponentials = [np.exp(score) for score in scores]
weights = [e / sum(exponentials) for e in exponentials]
output = sum(weight * value for weight, value in zip(weights, values, strict=True))
print("weights", np.round(weights, 2), "output", np.round(output, 2))
assert np.isclose(sum(weights), 1)
assert weights[0] > weights[1] > weights[2]

# %% [markdown]
# ## Equation 1
#
# With T queries as the rows of Q, and S keys and values as the rows of K and V, it is one line. In
# the table of weights, a row belongs to a query and a column to a key.
#
# $$\text{Attention}(Q, K, V) = \text{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# Where do Q, K and V come from? A model multiplies vectors of words by three matrices that training
# finds; such a product is called a *projection*. Let the rows of X be the vectors of the words that
# look, and the rows of Y those of the words that are looked at:
#
# $$Q = X W_Q \qquad K = Y W_K \qquad V = Y W_V$$
#
# - **Self-attention**: X and Y are the same. Each word of a sentence looks at all words of that
#   sentence, itself included (unless a mask hides some, notebook 04).
# - **Cross-attention**: X comes from the decoder, Y is the memory, the encoder's output. Each word
#   of the translation looks at all words of the source.
#
# In this notebook Q, K and V are simply given; notebook 05 makes them.


# %%
def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))  # the same, without overflow
    return x / x.sum(axis=-1, keepdims=True)


def attention(Q, K, V):
    return softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ V


# %% [markdown]
# It gives what the loop gave.

# %%
print(attention(query[np.newaxis], keys, values))
np.testing.assert_allclose(attention(query[np.newaxis], keys, values)[0], output)

# %% [markdown]
# The shapes are (T, d_k) for Q, (S, d_k) for K and (S, d_v) for V.

# %%
draw_shapes("Q (T, d_k)", "· Kᵀ / √d_k, softmax", "weights (T, S)", "· V", "(T, d_v)")

# %% [markdown]
# **Predict:** With T = 7, S = 5, d_k = 4 and d_v = 6, what shapes do the scores and the output
# have?

# %%
T, S, d_k, d_v = 7, 5, 4, 6
generator = np.random.default_rng(1)
Q, K, V = (generator.normal(size=size) for size in ((T, d_k), (S, d_k), (S, d_v)))
print("scores", (Q @ K.T).shape, "output", attention(Q, K, V).shape)
assert (Q @ K.T).shape == (T, S)
assert attention(Q, K, V).shape == (T, d_v)

# %% [markdown]
# The scores have a row for each query and a column for each key; the output has a row for each
# query. The package's function takes a batch and several heads at once, (B, H, T, d_k); here there
# is one of each (heads come in notebook 05).

# %%
batched = (array[np.newaxis, np.newaxis].astype("float32") for array in (Q, K, V))
packaged = layers.scaled_dot_product_attention(*map(ops.convert_to_tensor, batched))
np.testing.assert_allclose(packaged[0, 0], attention(Q, K, V), atol=1e-5)
tuple(packaged.shape)

# %% [markdown]
# ## From an even mean to a sharp choice
#
# The size of the scores sets how sharply attention chooses. With tiny scores, every value counts
# the same. With huge ones, a single value wins, and attention is a dictionary again. Here are the
# weights of one query:

# %%
for factor in (1e-6, 1, 1e6):
    print(f"Q times {factor:7}:", np.round(softmax(factor * Q @ K.T / np.sqrt(d_k))[0], 2))
np.testing.assert_allclose(attention(1e-6 * Q, K, V), np.tile(V.mean(axis=0), (T, 1)), atol=1e-5)
best = (Q @ K.T).argmax(axis=1)
np.testing.assert_allclose(attention(1e6 * Q, K, V), V[best], atol=1e-5)

# %% [markdown]
# ## How large scores grow
#
# Let the numbers of a query and of a key be random and independent, with mean 0 and variance 1.
# (The *variance* is the mean squared distance from the mean, its root the *standard deviation*.) A
# score without the root is a sum of d_k products $q_i k_i$. Each has mean 0, and its variance is
# the mean of $q_i^2$ times the mean of $k_i^2$, which is 1. Variances of independent terms add up.
#
# **Predict:** What is the variance of q·k at d_k = 4, 64 and 1024, and what is it after the
# division by √d_k?

# %%
for d_k in (4, 64, 1024):
    Q, K = generator.normal(size=(2, 10_000, d_k))
    variance = (Q * K).sum(axis=1).var()
    print(f"d_k = {d_k:4}: variance of q·k {variance:7.1f}, of q·k/√d_k {variance / d_k:.2f}")
    assert abs(variance / d_k - 1) < 0.1

# %% [markdown]
# That much is arithmetic, for independent numbers of variance 1; a model's numbers are like that
# only roughly, and only at the start of training. The paper does not prove what follows from it:
# "We *suspect* that for large values of d_k, the dot products grow large in magnitude, pushing the
# softmax function into regions where it has extremely small gradients." We look at both halves of
# this sentence: at the softmax of large scores, and then at a training. (A *gradient* holds one
# derivative for each number that training may change: how much the loss, the measure of error,
# changes with it. Training moves every number against its derivative, so where the derivatives are
# nearly 0, nothing is learned.)
#
# The softmax turns scores s into weights p. Its derivatives are $\partial p_i / \partial s_i = p_i
# (1 - p_i)$ for a score's own weight, and $\partial p_i / \partial s_j = -p_i p_j$ for the weight
# of a different one. (The table of all of them is called the *Jacobian*.) All these derivatives
# vanish as one p comes near 1 and the others near 0.


# %%
def softmax_jacobian(p):
    return np.diag(p) - np.outer(p, p)


even, sharp = softmax(np.zeros(5)), softmax(np.array([32.0, 0, 0, 0, 0]))
for name, p in (("even", even), ("sharp", sharp)):
    print(f"{name:5} {np.round(p, 2)}, largest derivative {np.abs(softmax_jacobian(p)).max():.0e}")
assert np.abs(softmax_jacobian(sharp)).max() < 1e-10

# %% [markdown]
# ## Measured over widths
#
# Two numbers say how sharp a softmax over S = 64 keys is. Its *entropy* $-\sum p \ln p$ is ln 64 ≈
# 4.16 nats if all weights are equal and 0 if one key has everything. The sum of the derivatives
# $\partial p_i / \partial s_i = p_i (1 - p_i)$ says how much gradient passes. (The derivatives by
# the other scores would add nothing new. For each p_i, all derivatives sum to 0, so the others
# together are −p_i (1 − p_i).) We take 200 random queries for each width.


# %%
def entropy(p):
    return -(p * np.log(p + 1e-30)).sum(axis=-1)


def passed_gradient(p):
    return (p * (1 - p)).sum(axis=-1)


print(f"even: {entropy(np.full(64, 1 / 64)):.2f} nats, {passed_gradient(np.full(64, 1 / 64)):.2f}")
assert np.isclose(entropy(np.full(64, 1 / 64)), np.log(64))
assert np.isclose(passed_gradient(even), np.trace(softmax_jacobian(even)))

# %%
widths = [2**n for n in range(1, 11)]
measured = {"divided by √d_k": [], "not divided": []}
for d_k in widths:
    Q, K = generator.normal(size=(200, 1, d_k)), generator.normal(size=(200, 64, d_k))
    scores = (Q @ K.transpose(0, 2, 1))[:, 0]  # (200, 64)
    for divisor, name in ((np.sqrt(d_k), "divided by √d_k"), (1.0, "not divided")):
        p = softmax(scores / divisor)
        measured[name].append([entropy(p), passed_gradient(p)])
measured = {name: np.array(values) for name, values in measured.items()}
{name: values.shape for name, values in measured.items()}

# %% [markdown]
# Each array has ten widths, two numbers, and 200 queries. Does the package divide, too? We give it
# the queries and keys of the last width (Q and K are still those of d_k = 1024), and look at the
# entropy of its weights.

# %%
packaged = layers.attention_weights(*(ops.convert_to_tensor(x[:, None], "float32") for x in (Q, K)))
p = ops.convert_to_numpy(packaged)[:, 0, 0]
print(f"d_k = 1024: {entropy(p).mean():.3f} nats")
np.testing.assert_allclose(entropy(p), measured["divided by √d_k"][-1, 0], atol=1e-3)


# %%
def plot(panel, column, y_label):
    for (name, values), color, marker in zip(measured.items(), COLORS[:2], "os", strict=True):
        samples = values[:, column]
        low, high = np.percentile(samples, [10, 90], axis=1)
        panel.plot(widths, samples.mean(axis=1), f"{marker}-", color=color, label=name)
        panel.fill_between(widths, low, high, color=color, alpha=0.15, linewidth=0)
    panel.set(xlabel="width of queries and keys d_k", xscale="log", ylabel=y_label)
    panel.set_xticks(widths[1::2], widths[1::2])
    panel.set_ylim(0)


# %% [markdown]
# **Predict:** One line stays level and one falls. Which one falls, and from what width on is its
# entropy below half of the other line's?

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
plot(left, 0, "entropy of the weights (nats)")
left.axhline(np.log(64), color="#555555", linestyle="--", label="all weights equal: ln 64")
left.legend(frameon=False, loc="center right")
plot(right, 1, "gradient that passes, Σ p (1 - p)")
plt.show()

# %% [markdown]
# Lines are means over 200 queries, bands hold 80 % of them. If scores are divided by the root, both
# numbers stay the same from d_k = 4 to 1024. If they are not, the entropy falls towards 0; from d_k
# = 16 on it is below half of the other line's. The gradient that passes falls with it.

# %%
divided, not_divided = measured.values()
for name, values in measured.items():
    print(f"{name:16}", np.round(values[:, 0].mean(axis=1), 2))
assert np.ptp(divided[1:, 0].mean(axis=1)) < 0.3
assert not_divided[-1].mean(axis=1).max() < 0.3

# %% [markdown]
# ## The other way: additive attention
#
# The paper names two common ways to score: the dot product, and a small network with one hidden
# layer (Bahdanau et al. 2014). The network multiplies query and key each by a learned matrix, adds
# the two, takes tanh, and adds up the d_k results, each multiplied by its number in a learned
# vector v.
#
# $$\text{score}(q, k) = v^\top \tanh(W_q q + W_k k)$$


# %%
def additive_scores(Q, K, v):
    """Scores (T, S) of queries (T, d_k) and keys (S, d_k) that are projected already."""
    return np.tanh(Q[:, np.newaxis] + K[np.newaxis]) @ v  # (T, S, d_k) --> (T, S)


# %% [markdown]
# Keras has it as a layer, `AdditiveAttention`, whose weight `scale` is v.

# %%
T, S, d_k, d_v = 7, 5, 4, 6
sizes = ((T, d_k), (S, d_k), (S, d_v), d_k)
Q, K, V, v = (generator.normal(size=size).astype("float32") for size in sizes)
by_hand = softmax(additive_scores(Q, K, v)) @ V
keras_layer = keras.layers.AdditiveAttention()
keras_layer([Q[None], V[None], K[None]])  # query, value, key; builds its weight
keras_layer.set_weights([v])
np.testing.assert_allclose(keras_layer([Q[None], V[None], K[None]])[0], by_hand, atol=1e-5)
np.round(softmax(additive_scores(Q, K, v))[0], 2)

# %% [markdown]
# Its scores stay between -Σ|v| and Σ|v|, because tanh lies between -1 and 1. In theory both ways to
# score cost T·S·d_k steps. But the dot products are *one* matrix product, which processors are best
# at. The additive scores need a table of T·S·d_k numbers first, for the sums and their tanh.
#
# **Predict:** How many numbers is that for 256 queries and keys of width 64, and how many times as
# long does it take?

# %%
import timeit

Q, K = generator.normal(size=(2, 256, 64)).astype("float32")
v = np.ones(64, dtype="float32")
for name, score, table in (
    ("dot", lambda: Q @ K.T, 256 * 256),
    ("additive", lambda: additive_scores(Q, K, v), 256 * 256 * 64),
):
    seconds = min(timeit.repeat(score, number=1, repeat=20))
    print(f"{name:8} {1e3 * seconds:7.2f} ms, largest table {table:9,} numbers")
assert (Q[:, None] + K[None]).size == 4_194_304

# %% [markdown]
# The paper says the same: similar in theoretical complexity, but "dot-product attention is much
# faster and more space-efficient in practice".

# %% [markdown]
# ## A training, with the root and without
#
# The task is a look-up. There are 32 symbols, and each has a secret partner among them (by chance,
# one may be its own partner). A row shows 8 symbols, each with a value from 0 to 7. One of the 8
# is picked: the query is the *partner* of the picked symbol, the answer is the picked symbol's
# value. Attention must learn which symbol a query belongs to; there is nothing else to learn.

# %%
symbols, length, classes = 32, 8, 8
partner = generator.permutation(symbols)
shown = np.stack([generator.permutation(symbols)[:length] for _ in range(2_048)])
value = generator.integers(classes, size=shown.shape)
picked = generator.integers(length, size=len(shown))
query, answer = np.zeros_like(picked), np.zeros_like(picked)
for row, place in enumerate(picked):
    query[row] = partner[shown[row, place]]
    answer[row] = value[row, place]
print("symbols", shown[1], "values", value[1])
print(f"picked {shown[1, picked[1]]}; the query is {query[1]}, the answer {answer[1]}")

# %% [markdown]
# There are three ways to score; q is (B, 1, d_k), k is (B, S, d_k). `keras.ops` has NumPy's
# functions in a form that Keras can differentiate.

# %%
from keras.initializers import RandomNormal

scorings = {
    "dot / √d_k": lambda q, k, v: ops.sum(q * k, axis=-1) / k.shape[-1] ** 0.5,
    "dot, no root": lambda q, k, v: ops.sum(q * k, axis=-1),
    "additive": lambda q, k, v: ops.sum(v * ops.tanh(q + k), axis=-1),
}
list(scorings)

# %% [markdown]
# A Keras model is a class: `__init__` makes its layers, and `call` computes the output. An
# `Embedding` is a table with one learned vector for each symbol. Here each symbol gets a query and
# a key of width d_k, learned from a random start of variance 1. The output is the mean, weighted by
# attention, of the *one-hot* vectors of the values shown (1 at the value, 0 elsewhere): a
# probability for each answer. Only the additive score uses the vector v.


# %%
class LookUp(keras.Model):
    def __init__(self, d_k, name):
        super().__init__()
        self.query = keras.layers.Embedding(symbols, d_k, RandomNormal(stddev=1.0, seed=1))
        self.key = keras.layers.Embedding(symbols, d_k, RandomNormal(stddev=1.0, seed=2))
        start = RandomNormal(stddev=d_k**-0.5, seed=3)
        self.v = self.add_weight((d_k,), start, trainable=name == "additive")
        self.score = scorings[name]

    def call(self, x):
        scores = self.score(self.query(x[0])[:, None], self.key(x[1]), self.v)  # (B, S)
        return ops.einsum("bs,bsc->bc", ops.softmax(scores), ops.one_hot(x[2], classes))


# %%
def train(d_k, name):
    """Loss of each epoch, in nats."""
    keras.utils.set_random_seed(1)
    model = LookUp(d_k, name)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", jit_compile=False)
    return model.fit([query, shown, value], answer, 64, epochs=8, verbose=0).history["loss"]


# %% [markdown]
# The *loss* of an answer is −ln p, where p is the probability that the model gives to the right one
# (its *cross-entropy*, in nats): 0 if the model is certain and right, and ln 8 ≈ 2.08 if it finds
# all eight equally probable. Training lowers its mean. `compile` names the loss and the rule that
# moves the numbers (*Adam*, notebook 07); `jit_compile=False` saves a compilation that would take
# longer than this training. `fit` goes through all 2,048 rows in batches of 64 and moves the
# numbers after each batch, in an *update*; one pass through all rows is an *epoch*.
#
# **Predict:** Which of the three learn the partners at d_k = 8, and which at d_k = 512?

# %%
losses = {(d_k, name): train(d_k, name) for d_k in (8, 512) for name in scorings}
for (d_k, name), loss in losses.items():
    print(f"d_k = {d_k:3}  {name:12}  first epoch {loss[0]:5.2f}, last {loss[-1]:5.2f}")
assert max(losses[8, name][-1] for name in scorings) < 0.5
assert max(losses[512, name][-1] for name in ("dot / √d_k", "additive")) < 0.1
assert losses[512, "dot, no root"][-1] > 1

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
styles = {"dot / √d_k": "o-", "dot, no root": "s--", "additive": "^:"}
for panel, width in zip(panels, (8, 512), strict=True):
    for (name, style), color in zip(styles.items(), COLORS[:3], strict=True):
        panel.plot(range(1, 9), losses[width, name], style, color=color, label=name)
    panel.axhline(np.log(8), color="#555555", linewidth=0.8, label="a guess: ln 8")
    panel.set(title=f"d_k = {width}", xlabel="epoch (32 updates)")
panels[0].set_ylabel("loss (nats)")
panels[0].legend(frameon=False)
plt.show()

# %% [markdown]
# At d_k = 8 all three learn. At d_k = 512 the dot product without the root is worse than a guess
# for all eight epochs: from the first update on it chooses sharply and mostly wrongly, and it
# unlearns that only slowly. With the root, and with the additive score, the same width is learned
# at once. The paper reports the same of earlier work: at small d_k both scores do similarly well;
# at large d_k additive attention does better than dot products without the root. One task does not
# prove the paper's suspicion, but agrees with it.

# %% [markdown]
# ## In three lines
#
# 1. Attention is a soft dictionary: a mean of the values, weighted by how well keys match the
#    query.
# 2. It is two matrix products with a softmax between them; each row of weights sums to one.
# 3. Scores of independent numbers have variance d_k; divided by √d_k they keep the softmax soft,
#    and here attention learned at large d_k, too.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/03_attention_by_hand.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Shuffle the keys, and the values in the same way. What changes? What if you shuffle only
# the keys?

# %% [markdown]
# **2.** Two of five keys are padding. Set their scores to -∞ before the softmax, and show that
# this is the same as attention over the three real keys alone. Compare with the package's `mask`,
# which is True where a query may look; one value for each key, shape (S,), is enough.

# %% [markdown]
# ## Your turn
#
# Train the dot product without the root at d_k = 16, 32, 64 and 128. Where does it begin to fail?
# Then start its embeddings with standard deviation $d_k^{-1/4}$ instead of 1: is the root still
# needed?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [04 · What must not be seen](04_what_must_not_be_seen.ipynb)
