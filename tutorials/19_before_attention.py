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
# # 19 · Before attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/19_before_attention.ipynb)
#
# **What was attention invented for?** Before the Transformer, translation models were recurrent:
# one network read the sentence word by word and squeezed it into one vector, and a second one wrote
# the translation from that vector. We build such a model, give it attention as [Bahdanau et al.
# 2014](https://arxiv.org/abs/1409.0473) did, and train both beside our small Transformer on the
# same sentences. Then we compare them, length by length.
#
# *60 minutes · you need notebooks 03 and 07.* Afterwards you can compute a GRU and a decoder step
# with attention by hand, read an alignment, and say what a fixed vector forgets.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Where we are
#
# Blue marks what this lesson is about: how the source reaches the target. The Transformer kept this
# attention, and replaced the recurrent layers by attention as well.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture, draw_shapes

draw_architecture("cross_attention", "memory")

# %%
import json
import re
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

# %%
import aiayn_keras as ak
from aiayn_keras.data import load_corpus
from aiayn_keras.plotting import COLORS, plot_attention
from aiayn_keras.training import corpus_bleu

# %% [markdown]
# ## A network with a memory: the GRU by hand
#
# A recurrent network reads one word after the other and keeps a *state*, a vector h of width D. A
# gated recurrent unit (GRU) changes the state with two gates and a candidate:
#
# - the *reset gate* r says how much of the old state the candidate may see;
# - the *candidate* n is what the new state could be;
# - the *update gate* z says how much of the old state stays.
#
# $$ h_t = z \odot h_{t-1} + (1 - z) \odot n $$


# %%
def gru_step(x, h, cell):
    """One step: word vectors (B, D) and states (B, D) to new states (B, D)."""
    W, U, (b, c) = cell.get_weights()  # for z, r and n, side by side
    x_z, x_r, x_n = np.split(x @ W + b, 3, axis=-1)
    h_z, h_r, h_n = np.split(h @ U + c, 3, axis=-1)
    z, r = 1 / (1 + np.exp(-x_z - h_z)), 1 / (1 + np.exp(-x_r - h_r))
    n = np.tanh(x_n + r * h_n)
    return z * h + (1 - z) * n


# %%
keras.utils.set_random_seed(1)
D = 128
cell = keras.layers.GRUCell(D)
x, h = np.random.normal(size=(2, 3, D)).astype("float32")
new, _ = cell(x, h)
print("state", h.shape, "and word", x.shape, "give a new state", new.shape)
np.testing.assert_allclose(new, gru_step(x, h, cell), atol=1e-5)

# %% [markdown]
# ## A sentence in one vector
#
# The naive translator reads the whole sentence in this way. The decoder gets nothing but the state
# after the last word.
#
# **Predict:** One sentence has 3 words, and one has 20. How many numbers does the decoder get for
# each?

# %%
reader = keras.layers.GRU(D)
for S in (3, 20):
    sentence = np.random.normal(size=(1, S, D)).astype("float32")
    state = np.zeros((1, D), "float32")
    whole = reader(sentence)  # the layer runs the loop
    for t in range(S):
        state = gru_step(sentence[:, t], state, reader.cell)
    print(f"{S:2} words: {whole.shape[1]} numbers")
    np.testing.assert_allclose(whole, state, atol=1e-5)

# %% [markdown]
# It gets the same number for both. Bahdanau et al. saw this as the weak point: the encoder must
# "compress all the necessary information of a source sentence into a fixed-length vector", and a
# long sentence contains more information.
#
# ## The first attention
#
# Their answer was to keep the state after *every* word. All these states are the memory. Before
# each word that it writes, the decoder compares its own state s with every row m of the memory, and
# takes a weighted mean, the *context*:
#
# $$ \text{score}(s, m) = v^\top \tanh(W_q s + W_k m) $$
#
# That is the additive attention of notebook 03, with one query at a time and a single head.


# %%
def look(s, memory, W_q, W_k, v):
    """State (D,) and memory (S, 2D) to the weights (S,) and the context (2D,)."""
    scores = np.tanh(s @ W_q + memory @ W_k) @ v
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return weights, weights @ memory


# %%
W_q, W_k, v, s = (np.random.normal(size=size) / 8 for size in ((D, D), (2 * D, D), D, D))
memory = np.random.normal(size=(5, 2 * D))
weights, context = look(s, memory, W_q, W_k, v)
layer = keras.layers.AdditiveAttention()
inputs = [a.astype("float32")[None] for a in ((s @ W_q)[None], memory, memory @ W_k)]
layer(inputs)  # query, value, key; builds its weight
layer.set_weights([v])
print("weights", weights.round(2), "sum to 1; context", context.shape)
np.testing.assert_allclose(layer(inputs)[0, 0], context, atol=1e-4)

# %% [markdown]
# ## The sentences
#
# We use the demo corpus again, English to German. To keep recurrent training short, a *word* is a
# token here, not a piece, and sentences with numbers or with more than 20 words are left out.

# %%
T = 21  # 20 words and the end
NUMBERS = "-|hundred|thousand|teen|enty|irty|orty|ifty|ixty|ighty|inety|clock|past|half"


def word_pairs(text):
    split = [[re.findall(r"\w+|[^\w\s]", side) for side in pair] for pair in text]
    return [p for p in split if not re.search(NUMBERS, " ".join(p[0])) and max(map(len, p)) < T]


# %%
corpus = load_corpus("demo", train_size=30_000, validation_size=1, test_size=4_000)
train, test = word_pairs(corpus.train), word_pairs(corpus.test)
words = ["<pad>", "<s>", "</s>", *sorted({w for pair in train for side in pair for w in side})]
number, V = {word: i for i, word in enumerate(words)}, len(words)
test = [pair for pair in test if all(w in number for side in pair for w in side)]
print(f"{len(train):,} pairs to learn, {len(test):,} to test, {V} words")
print(" ".join(train[0][0]), "→", " ".join(train[0][1]))
assert not {tuple(pair[0]) for pair in train} & {tuple(pair[0]) for pair in test}

# %% [markdown]
# We make ids and masks, as in notebooks 01 and 04:


# %%
def rows_of(sentences):
    rows = np.zeros((len(sentences), T), "int32")
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence) + 1] = [*(number[word] for word in sentence), number["</s>"]]
    return rows


# %%
sources, labels = (rows_of(side) for side in zip(*train, strict=True))
given = np.roll(labels, 1, axis=1)  # the labels, shifted right
given[:, 0] = number["<s>"]
x = ak.pack_token_ids(sources, given)  # the four inputs, masks included
print({name: array.shape for name, array in x.items()})
print(*(words[i] for i in given[0, :6]), "...  must say  ", *(words[i] for i in labels[0, :6]))

# %% [markdown]
# ## Two recurrent models, one difference
#
# The encoder runs in both directions, so that each row of the memory (2D numbers) knows the words
# before it and those after it. The last states of both directions, side by side, are the fixed
# vector.


# %%
class Encoder(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        gru = keras.layers.GRU(D, return_sequences=True, return_state=True, unroll=True)
        self.both_ways = keras.layers.Bidirectional(gru)

    def call(self, x, mask):
        memory, forward, backward = self.both_ways(x, mask=mask)
        return memory, ops.concatenate([forward, backward], axis=-1)


# %%
class Attention(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.query = keras.layers.Dense(D, use_bias=False)
        self.key = keras.layers.Dense(D, use_bias=False)
        self.v = keras.layers.Dense(1, use_bias=False)

    def call(self, state, keys, mask):
        scores = self.v(ops.tanh(self.query(state)[:, None] + keys))[..., 0]
        return ops.softmax(ops.where(mask, scores, -1e9))  # (B, S)


# %% [markdown]
# The decoder is a GRU cell. It reads the last word together with the context. *Without* attention
# the context is the fixed vector, the same at every step; *with* attention it is a new mean at
# every step. (The model is cut into four classes, `Parts` to `Translator`, each built on the one
# before, only to keep the cells short.)


# %%
class Parts(keras.Model):
    def __init__(self, attends):
        super().__init__()
        self.embedding, self.encoder = keras.layers.Embedding(V, D), Encoder()
        self.first_state = keras.layers.Dense(D, "tanh")
        self.cell, self.output_dense = keras.layers.GRUCell(D), keras.layers.Dense(V)
        self.attention = Attention() if attends else None


# %%
class Decoder(Parts):
    def step(self, word, state, memory, context, keys, mask):
        """The new state (B, D), the context (B, 2D) and, with attention, its weights (B, S)."""
        weights = None
        if self.attention:
            weights = self.attention(state, keys, mask)
            context = ops.sum(weights[..., None] * memory, axis=1)
        state, _ = self.cell(ops.concatenate([word, context], axis=-1), state)
        return state, context, weights


# %% [markdown]
# That is one step. A sentence takes as many steps as it has words, one after the other.


# %%
class Recurrent(Decoder):
    def decode(self, x):
        """What `step` returns, for each word of the target."""
        mask = x["encoder_padding_mask"] > 0
        memory, whole = self.encoder(self.embedding(x["encoder_token_ids"]), mask)
        keys = self.attention.key(memory) if self.attention else None
        state, steps = self.first_state(whole), []
        for word in ops.unstack(self.embedding(x["decoder_token_ids"]), axis=1):
            steps.append(self.step(word, state, memory, whole, keys, mask))
            state = steps[-1][0]
        return steps


# %%
class Translator(Recurrent):
    def call(self, x):
        outputs = [ops.concatenate(step[:2], axis=-1) for step in self.decode(x)]
        return self.output_dense(ops.stack(outputs, axis=1))


# %%
draw_shapes("word, context (B, 3D)", "GRU cell", "state (B, D)", "dense", "logits (B, V)")

# %% [markdown]
# Does this compute the same as our functions above? We follow one sentence through two steps of the
# decoder in NumPy.

# %%
few = {name: array[:4] for name, array in x.items()}
model = Translator(attends=True)
logits, looked = ops.convert_to_numpy(model(few)), [step[2] for step in model.decode(few)]
vectors = model.embedding.get_weights()[0]
S = few["encoder_padding_mask"][0].sum()
memory, whole = model.encoder(vectors[few["encoder_token_ids"]], few["encoder_padding_mask"] > 0)
memory, state = np.array(memory)[0, :S], np.array(model.first_state(whole))[0]
part = model.attention
W_q, W_k, (v,) = part.query.get_weights()[0], part.key.get_weights()[0], part.v.get_weights()[0].T
print(f"the memory of a sentence with {S - 1} words and its end:", memory.shape)

# %%
for t in range(2):
    weights, context = look(state, memory, W_q, W_k, v)
    word = vectors[few["decoder_token_ids"][0, t]]
    state = gru_step(np.concatenate([word, context]), state, model.cell)
    W, b = model.output_dense.get_weights()
    np.testing.assert_allclose(np.array(looked[t])[0, :S], weights, atol=1e-5)
    np.testing.assert_allclose(
        logits[0, t], np.concatenate([state, context]) @ W + b, rtol=1e-3, atol=1e-4
    )
    print(f"step {t}: weights {weights.round(2)}")

# %% [markdown]
# ## Three trainings
#
# The third model is the package's Transformer, with two blocks on either side. All three see the
# same 400 batches of 128 pairs.


# %%
def models():
    keras.utils.set_random_seed(1)
    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": D, "intermediate_dim": 4 * D}
    backbone = ak.TransformerBackbone(V, **sizes, dropout=0.0)
    named = {"fixed vector": Translator(False), "GRU with attention": Translator(True)}
    named["Transformer"] = ak.TransformerSeq2SeqLM(backbone)
    for model in named.values():
        model({name: array[:2] for name, array in x.items()})
    return named


# %%
named = models()
print({name: f"{model.count_params():,}" for name, model in named.items()})


# %%
def learn(model, updates=400, B=128):
    """Mean loss of every 50 updates, in nats per word."""
    rate = ak.WarmupSchedule(hidden_dim=D, warmup_steps=100, peak_learning_rate=0.004)
    adam = keras.optimizers.Adam(rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    model.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.0), jit_compile=False)
    order, losses = np.random.default_rng(1).permutation(updates * B) % len(labels), []
    for at in np.array_split(order, updates // 50):
        batch = {name: array[at] for name, array in x.items()}
        real = {"sample_weight": (labels[at] > 0).astype("float32"), "batch_size": B, "verbose": 0}
        losses += model.fit(batch, labels[at], **real).history["loss"]
    return losses


# %% [markdown]
# The translations come from greedy search: the model says one word after the other, and reads what
# it has said. It is slow and simple, and the same for all three models.


# %%
def translate(model, pairs):
    sources = rows_of([source for source, _ in pairs])
    said = np.zeros_like(sources)
    said[:, 0] = number["<s>"]
    for t in range(T - 1):
        x = ak.pack_token_ids(sources, said)
        x["decoder_padding_mask"] = np.ones_like(said)  # the future is masked already
        said[:, t + 1] = model.predict(x, 256, 0)[:, t].argmax(axis=-1)
    ended = [np.append(row, number["</s>"]).tolist() for row in said[:, 1:]]
    return [[words[i] for i in row[: row.index(number["</s>"])]] for row in ended]


# %% [markdown]
# For the test we take 60 sentences from each of six ranges of length.

# %%
LENGTHS = [(3, 5), (6, 8), (9, 11), (12, 14), (15, 17), (18, 20)]
groups = [[p for p in test if low <= len(p[0]) <= high][:60] for low, high in LENGTHS]
print({f"{low}–{high}": len(group) for (low, high), group in zip(LENGTHS, groups, strict=True)})


# %%
def scores_of(translations, pairs):
    """BLEU, and the share of translations that are right word for word."""
    references = [target for _, target in pairs]
    right = np.mean([ours == theirs for ours, theirs in zip(translations, references, strict=True)])
    texts = ([" ".join(words) for words in side] for side in (translations, references))
    return corpus_bleu(*texts, "none").score, right


# %% [markdown]
# The three trainings take some five minutes on two cores, so their results were saved by this code.
# To train them yourself, set `TRAIN` to `True`.

# %%
TRAIN = False


def train_and_test(model):
    losses = learn(model)
    texts = [translate(model, group) for group in groups]
    bleu, right = zip(*map(scores_of, texts, groups), strict=True)
    return {"losses": losses, "bleu": bleu, "right": right, "longest": " ".join(texts[-1][0])}


# %%
results = json.loads(Path("data/before_attention.json").read_text("utf-8"))
if TRAIN:
    results["models"] = {name: train_and_test(model) for name, model in named.items()}
for name, result in results["models"].items():
    print(f"{name:18}", *(f"{loss:.2f}" for loss in result["losses"]))
parameters = {name: model.count_params() for name, model in named.items()}
assert TRAIN or results["parameters"] == parameters  # the file is of these models

# %% [markdown]
# For the first 250 updates attention is of no use: both recurrent models learn the frequent words
# and their order. Then the model with attention learns where to look, and its loss falls below that
# of the other one. The Transformer has learned this after 150 updates.

# %% [markdown]
# ## Where the recurrent model looks
#
# We look at the weights of one test sentence, which were stored with the results. Rows are the
# words that the model writes, columns are those it reads, and darker squares are larger weights.
#
# **Predict:** German needs the gender of a noun for its article. Where will the model look when it
# writes *Der*, *eine* and *die*? And where when it writes *fahren*, to drive, at the end?

# %%
seen = results["seen"]
print(" ".join(seen["source"]), "→", " ".join(seen["translation"]))
figure = plot_attention(
    seen["weights"],
    [*seen["source"], "</s>"],
    [*seen["translation"], "</s>"],
    x_label="word read",
    y_label="word written",
)
figure

# %% [markdown]
# Nobody told the model which word belongs to which; it found this *alignment* because looking at
# the right word lowers the loss. The nouns, *für* and the full stop look most at the word that they
# translate. The verb *fahren*, which German puts last, spreads its weight over *into*, the full
# stop and *drive*.
#
# Look at the articles. *The* says nothing about gender, so *Der*, *eine* and *die* look at their
# nouns: *doctor*, *sister*, *kitchen*. But not every large weight shows which word was translated.
# Each row of the memory comes from a network that has read in both directions, so it contains
# information about its neighbours, too. For the German *will* (wants), the model looks at *to*, the
# word after *wants*, which contains enough, and for *in* (into), at *kitchen*.

# %% [markdown]
# ## A long sentence, three times

# %%
source, target = groups[-1][0]
print(f"{len(source)} words: {' '.join(source)}\n{'person':18} {' '.join(target)}")
for name, result in results["models"].items():
    print(f"{name:18} {result['longest']}")

# %% [markdown]
# The model with the fixed vector keeps the shape of the sentence, a main clause and a clause with
# *wenn* that ends in its verb, but fills it with frequent words. With attention, the horse, the
# morning and the teacher are translated. The Transformer gets one word wrong: it writes *mother*
# again where the sentence has *men*.

# %% [markdown]
# ## Length by length
#
# **Predict:** Draw three curves before you run this: BLEU against the length of the source, for the
# three models. Where do they begin, and where do they end?

# %%
figure, panels = plt.subplots(2, 1, figsize=(5.5, 6.4), layout="constrained")
middle = [np.mean(ends) for ends in LENGTHS]
for (name, result), color, mark in zip(results["models"].items(), COLORS, "os^", strict=False):
    panels[0].plot(middle, result["bleu"], f"{mark}-", color=color, label=name)
    panels[1].plot(middle, 100 * np.array(result["right"]), f"{mark}-", color=color, label=name)
for axes, label in zip(panels, ("BLEU", "right word for word (%)"), strict=True):
    axes.set(xlabel="words in the source", ylabel=label, ylim=(-3, 103))
    axes.set_xticks(middle, [f"{low}–{high}" for low, high in LENGTHS])
    axes.spines[["top", "right"]].set_visible(False)
panels[1].legend(frameon=False)
plt.show()

# %% [markdown]
# On the shortest sentences the two recurrent models are equal. As sentences get longer, the fixed
# vector gets worse and worse: it falls from 86 BLEU to 15, and beyond 14 words not a single
# sentence is right. The model with attention loses some twenty points up to 14 words, and hardly
# any after that. Bahdanau et al. drew the same picture (their Figure 2), with larger models and
# longer sentences.
#
# The Transformer is better at every length. That does not show that recurrence is worse: the
# Transformer has attention in six places, with four heads each, it learned faster from the same 400
# batches, and none of the three had finished learning. It does show what the paper says: attention
# can do without the recurrence. (Each model was trained only once, and notebook 16 shows how much
# chance can do. But 15 and 65 BLEU are very far apart.)

# %% [markdown]
# ## In three lines
#
# 1. A recurrent translator that passes on one vector forgets more, the longer the sentence.
# 2. Additive attention lets each step of the decoder look at the whole source: a weighted mean of
#    all states.
# 3. The Transformer kept that idea, and replaced the recurrence by attention as well.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/19_before_attention.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** In training, how many steps of the recurrent model must wait for the one before, for a
# source and a target of 20 words each, and of 200? How many blocks of the Transformer (2 + 2) must
# wait for each other?

# %% [markdown]
# **2.** The keys $W_k m$ do not depend on the decoder's state. Show that `look` gives the same
# weights if they are computed once for the sentence. How many multiplications does that save for
# D = 128, S = T = 20?

# %% [markdown]
# ## Your turn
#
# The encoder reads in both directions. Take the backward one away (`Encoder` without
# `Bidirectional`), set `TRAIN` to `True`, and look at the curves: which model suffers more, the one
# with attention or the one without?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [20 · Fine-tuning](20_fine_tuning.ipynb), where a trained model learns a new kind of text.
