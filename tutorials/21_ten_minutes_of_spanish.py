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
# # 21 · Ten minutes of Spanish
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/21_ten_minutes_of_spanish.ipynb)
#
# **How much of a real language can one core learn in ten minutes, and what comes first?** We train
# a small Transformer on real sentences and stop eight times on the way to look at it. Each time it
# translates the same five sentences: first noise, then Spanish words, then Spanish, then
# translations.
#
# *40 minutes · you need notebook 07; 11 shows what a longer training reaches.* Afterwards you can
# stop a training by the clock, say what a loss means by comparing it with counting, and find out
# which words are learned first.

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
# You know all parts of the model by now. Blue marks where we measure: the output, and how far it is
# from the labels.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture

draw_architecture("softmax", "labels")

# %% [markdown]
# Everything below runs on one thread: a minute of computing is then a minute of one core, on a busy
# machine too.

# %%
import json
import random
import re
import tempfile
import time
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

import aiayn_keras as ak
from aiayn_keras.data import TokenBatches, TokenPairs, load_corpus
from aiayn_keras.plotting import COLORS
from aiayn_keras.training import corpus_bleu, load_recipe

# %%
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
print("threads of one operation:", tf.config.threading.get_intra_op_parallelism_threads())

# %% [markdown]
# ## A training, rehearsed
#
# We write everything as functions and try them on the demo corpus first. The real training then
# needs only a different corpus and more minutes. (Its batches have up to six shapes, from short to
# long sentences. Keras prepares each shape anew, which takes seconds, so here there is only one.)


# %%
def prepare(corpus, vocabulary_size, max_shapes=6):
    """Tokenizer, and batches of the training and of the validation text."""
    text = corpus.train.sources + corpus.train.targets
    tokenizer = ak.TransformerTokenizer.train(text, vocabulary_size, normalization="nmt_nfkc")
    batches = []
    for part, shuffle in ((corpus.train, True), (corpus.validation, False)):
        pairs = TokenPairs(tokenizer(list(part.sources)), tokenizer(list(part.targets)))
        sizes = {"tokens_per_batch": 1024, "max_shapes": max_shapes, "seed": 1}
        batches.append(TokenBatches(pairs, shuffle=shuffle, **sizes))
    return tokenizer, *batches


# %%
def build(tokenizer):
    """`(model, learner)` of the same weights: one takes text, the other ids."""
    keras.utils.set_random_seed(1)
    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": 128, "intermediate_dim": 512}
    backbone = ak.TransformerBackbone(tokenizer.vocabulary_size(), **sizes, dropout=0.0)
    preprocessor = ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 64, 64)
    model, learner = (ak.TransformerSeq2SeqLM(backbone, p) for p in (preprocessor, None))
    rate = ak.WarmupSchedule(hidden_dim=128, warmup_steps=400, peak_learning_rate=0.0025)
    adam = keras.optimizers.Adam(rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    learner.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.1))
    return model, learner


# %% [markdown]
# The simplest training is a loop over batches. `fit` does the same, and calls a function of ours
# after a given number of updates.

# %%
demo = load_corpus("demo", train_size=3_000, validation_size=100, test_size=1)
tokenizer, batches, validation = prepare(demo, vocabulary_size=600, max_shapes=1)
_, learner = build(tokenizer)
for inputs, labels, weight in islice(batches.to_iter_dataset(), 20):
    learner.train_on_batch(inputs, labels, weight)
held = {"steps": len(validation), "verbose": 0, "return_dict": True}
by_hand = learner.evaluate(validation.to_iter_dataset(), **held)["loss"]
print(f"by hand: {by_hand:.4f} nats per piece on the validation text")

# %%
model, learner = build(tokenizer)  # the same first weights again
learner.fit(batches.to_iter_dataset(), steps_per_epoch=20, verbose=0)
by_fit = learner.evaluate(validation.to_iter_dataset(), **held)["loss"]
print(f"validation loss after 20 updates: by hand {by_hand:.4f}, by fit {by_fit:.4f}")
np.testing.assert_allclose(by_fit, by_hand, rtol=1e-3)

# %% [markdown]
# ## A clock
#
# The callback looks at the clock after every 20 updates. `process_time` counts only the seconds in
# which the processor worked for *this* process, so neither other programs nor waiting are counted.
# The time of the reports is not counted either.


# %%
class Minutes(keras.callbacks.Callback):
    """Calls `report(minutes, updates)` at the given minutes, and stops after the last one."""

    def __init__(self, minutes, report):
        super().__init__()
        self.minutes, self.report = list(minutes), report

    def on_train_begin(self, logs=None):
        self.started = time.process_time()


# %%
class Clock(Minutes):
    def on_epoch_end(self, epoch, logs=None):
        minutes = (time.process_time() - self.started) / 60
        if minutes >= self.minutes[0]:
            self.report(self.minutes.pop(0), 20 * (epoch + 1))
            self.started = time.process_time() - 60 * minutes  # a report costs no time
            self.model.stop_training = not self.minutes


# %% [markdown]
# **Predict:** Ten seconds of training on the demo language, and twenty. Will there be German words?

# %%
sentence, told = demo.validation.sources[0], []


def tell(minutes, updates):
    told.append(model.translate([sentence], num_beams=1, max_length=12)[0].text)
    print(f"{60 * minutes:2.0f} s, {updates:3} updates: {told[-1]}")


print(sentence)
clock = Clock([10 / 60, 20 / 60], tell)
learner.fit(batches.to_iter_dataset(), steps_per_epoch=20, epochs=999, verbose=0, callbacks=[clock])
assert len(told) == 2

# %% [markdown]
# With more time it would get better. Below is a training of ten minutes, on real text.
#
# ## How much of that is counting?
#
# A loss says little by itself. What would be the loss of a model that ignores the source, and only
# knows how often each piece occurs? And of one that only knows which piece follows which, and how
# often? Such models need no training, only counting.


# %%
def sequences(targets):
    ids = tokenizer(list(targets))
    return [[tokenizer.start_token_id, *i, tokenizer.end_token_id] for i in ids]


# %%
def by_counting(targets, new_targets):
    """Nats per piece of new text, by single pieces and by pairs."""
    V, text = tokenizer.vocabulary_size(), sequences(targets)
    pieces = Counter(piece for row in text for piece in row[1:])
    pairs = Counter(pair for row in text for pair in pairwise(row))
    before = Counter(piece for row in text for piece in row[:-1])
    p_1 = (np.array([pieces[i] for i in range(V)]) + 1) / (pieces.total() + V)
    new = [pair for row in sequences(new_targets) for pair in pairwise(row)]
    p_2 = [0.9 * pairs[a, b] / max(before[a], 1) + 0.1 * p_1[b] for a, b in new]
    return -np.mean([np.log(p_1[b]) for _, b in new]), -np.mean(np.log(p_2)), p_1, new


# %% [markdown]
# (A pair that never occurred would have probability 0, and the loss would be infinite. So a tenth
# of the probability is taken from the counts of single pieces.)
#
# Is this the same loss as in training? A model whose logits are always the logarithms of the counts
# must have exactly this loss:

# %%
one, two, p_1, new = by_counting(demo.train.targets, demo.validation.targets)
logits = np.tile(np.log(p_1), (1, len(new), 1)).astype("float32")
loss = ak.LabelSmoothedCrossEntropy(0.0)(np.array([[b for _, b in new]]), logits)
print(f"demo text: by pieces {one:.3f} (as a model: {float(loss):.3f}), by pairs {two:.3f} nats")
np.testing.assert_allclose(loss, one, rtol=1e-4)

# %% [markdown]
# ## The real corpus
#
# `tatoeba-en-es` has 118,964 short English sentences with Spanish translations. It is not part of
# this repository: `load_corpus` downloads it once. Training on it takes minutes, so we read the
# results of such a training from a file; with `TRAIN = True` you repeat it. These five sentences
# are not in the corpus:

# %%
own = {
    "We are going to the beach tomorrow.": "Mañana vamos a la playa.",
    "Where did you buy your shoes?": "¿Dónde compraste tus zapatos?",
    "My brother wants to be a doctor.": "Mi hermano quiere ser médico.",
    "I don't have enough time to read this book.": (
        "No tengo tiempo suficiente para leer este libro."
    ),
    "The old man sold his house last year.": "El anciano vendió su casa el año pasado.",
}

# %% [markdown]
# A report measures the validation loss *without* label smoothing (the logarithm of the perplexity),
# and BLEU on 300 validation sentences with greedy search. It also counts what share of the
# references' words were found, separately for the 50 most frequent words of the training text, the
# next 450, and rarer ones.


# %%
def words_of(text):
    return Counter(re.findall(r"\w+", text.lower()))


def share_found(texts, references, band):
    """Share of the references' words in `band`, a function, that the translations have too."""
    both = [(words_of(t), words_of(r)) for t, r in zip(texts, references, strict=True)]
    found = sum(n for ours, theirs in both for word, n in (ours & theirs).items() if band(word))
    return found / sum(n for _, theirs in both for word, n in theirs.items() if band(word))


# %% [markdown]
# `True` trains, which takes ten minutes and the corpus; `False` reads the file.

# %%
TRAIN = False
MINUTES = [0.25, 0.5, 1, 2, 4, 6, 8, 10]
BANDS = {"the 50 most frequent": (0, 50), "the next 450": (50, 500), "rarer": (500, 1_000_000)}


# %%
def report(minutes, updates):
    data = {"x": validation.to_iter_dataset(), "steps": len(validation), "verbose": 0}
    nats = np.log(learner.evaluate(**data, return_dict=True)["perplexity"])
    texts = [translation.text for translation in model.translate(sources, num_beams=1)]
    bands = [lambda w, b=b: b[0] <= rank.get(w, 999_999) < b[1] for b in BANDS.values()]
    row = {"minutes": minutes, "updates": updates, "nats": nats}
    row |= {"bleu": corpus_bleu(texts, references).score}
    row |= {"found": [share_found(texts, references, band) for band in bands]}
    row |= {"texts": [t.text for t in model.translate(list(own), num_beams=1)]}
    results["reports"].append(row)


# %%
results = json.loads(Path("data/ten_minutes.json").read_text("utf-8"))
if TRAIN:
    corpus = load_corpus("tatoeba-en-es")
    tokenizer, batches, validation = prepare(corpus, vocabulary_size=2000)
    sources, references = zip(*random.Random(1).sample(list(corpus.validation), 300), strict=True)
    ranked = words_of("\n".join(corpus.train.targets)).most_common()
    rank = {word: place for place, (word, _) in enumerate(ranked)}
    results["by counting"] = by_counting(corpus.train.targets, corpus.validation.targets)[:2]
    results["reports"] = []
print(f"{len(results['reports'])} reports; {results['machine']}")

# %% [markdown]
# The training itself is the one that we have rehearsed.

# %%
if TRAIN:
    model, learner = build(tokenizer)
    report(0, 0)
    clock = {"steps_per_epoch": 20, "epochs": 9_999, "callbacks": [Clock(MINUTES, report)]}
    learner.fit(batches.to_iter_dataset(), **clock, verbose=0)
reports = results["reports"]
print("minutes", *(f"{row['minutes']:6}" for row in reports))
print("updates", *(f"{row['updates']:6,}" for row in reports))
assert [row["minutes"] for row in reports] == [0, *MINUTES]

# %% [markdown]
# You can do the same training from a shell, with the command `aiayn-keras`. It counts updates, not
# minutes, and needs a recipe. Start it in the repository's root:
#
# ```shell
# aiayn-keras train ten_minutes.yaml --output runs/ten_minutes
# ```
#
# The recipe names the same corpus, sizes and schedule:

# %%
RECIPE = """
corpus: {name: tatoeba-en-es}
tokenizer: {vocabulary_size: 2000}
model: {preset: transformer_base, num_layers: 2, num_heads: 4, hidden_dim: 128,
  intermediate_dim: 512, dropout: 0.0, max_sequence_length: 256}
batches: {tokens_per_batch: 1024, max_shapes: 6}
optimizer: {warmup_steps: 400, peak_learning_rate: 0.0025}
training: {updates: 3000, checkpoint_every: 500, bleu_every: 500, average_checkpoints: 1}
"""

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "ten_minutes.yaml")
    path.write_text(RECIPE, "utf-8")
    recipe = load_recipe(path)
print(f"{recipe.training.updates} updates of {recipe.batches.tokens_per_batch} tokens")
assert recipe.training.updates == 3000

# %% [markdown]
# ## Five sentences, report by report
#
# **Predict:** At 15 seconds, the model has seen some 4,000 sentences. What will it write for the
# five: nothing, random pieces, frequent words, or Spanish that means something else?

# %%
for i, (english, spanish) in enumerate(own.items()):
    print(f"{english}\n   person   {spanish}")
    for row in reports:
        text = row["texts"][i]
        print(f"{row['minutes']:5} min   {text if len(text) < 60 else text[:48] + ' …'}")

# %% [markdown]
# First comes the shape of a sentence: a full stop, and *Tom*, the most frequent name in this
# corpus. After one minute the model writes Spanish, but hardly translates: it gets a beginning
# right (*¿Dónde*, *Mi hermano*), while *Estamos a la puerta* means that we are at the door. After
# two minutes the words come from the source (*compraste*, *zapatos*, *libro*), but *tu zapatos*
# still lacks its plural. After four, three of the five are what a person might write.
#
# The last sentence is the hardest. Its verb *sold* is rare, so the model makes a past tense from
# the English word. The result, *soldó*, exists, but means that somebody welded. At ten minutes it
# finds *vendió*, and puts a *se* before it that should not be there.
#
# ## When is it better than counting?
#
# **Predict:** At which minute does the loss fall below that of counting single pieces, and at which
# below that of counting pairs?


# %%
def first_minute(is_reached):
    return next((row["minutes"] for row in reports if is_reached(row)), None)


one, two = results["by counting"]
for name, nats in (("single pieces", one), ("pairs of pieces", two)):
    minute = first_minute(lambda row, nats=nats: row["nats"] < nats)
    print(f"counting {name}: {nats:.2f} nats, passed by minute {minute}")
print(f"at the end: {reports[-1]['nats']:.2f} nats, {reports[-1]['bleu']:.1f} BLEU")
assert two < one < reports[0]["nats"]

# %% [markdown]
# After one minute the model is no better than a table of pairs, and its Spanish reads like that:
# neighbouring words fit together, but the whole sentence says something else. To get below the loss
# of the pairs, a model must use more: the source, or longer parts of its own sentence.
#
# ## Which words come first?
#
# **Predict:** After two minutes, the model finds more than half of the most frequent words. What
# share of the rare ones, beyond the first 500, does it find: a half, a quarter, or a sixteenth?

# %%
for name, shares in zip(BANDS, zip(*(row["found"] for row in reports), strict=True), strict=True):
    print(f"{name:21}", *(f"{share:5.0%}" for share in shares))
assert np.all(np.diff(reports[-1]["found"]) <= 0)

# %% [markdown]
# The frequent words come first. A word must be read a number of times before it is learned. In any
# language a few words occur all the time (*de*, *que*, *no*), and most words hardly ever. At ten
# minutes the model still misses three quarters of the rare words. They make up 28 % of the text,
# and often carry its meaning.
#
# So more minutes help little with frequent words, and rare words need more text. For comparison, we
# look at the included model. It has six times as many parameters, and its training of three minutes
# on a GPU would take hours on one core.
#
# **Predict:** In which of the five sentences will the two models differ?

# %%
shipped = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
for translation, ours in zip(shipped.translate(list(own)), reports[-1]["texts"], strict=True):
    print(f"{translation.text}\n    after ten minutes: {ours}")
print(f"{shipped.count_params():,} parameters, 50.44 BLEU on other sentences (notebook 11)")

# %% [markdown]
# ## Ten minutes, in two pictures

# %%
minutes = [row["minutes"] for row in reports[1:]]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 6.4), layout="constrained")
top.plot(minutes, [row["nats"] for row in reports[1:]], "o-", color=COLORS[0])
for name, nats in (("counting pieces", one), ("counting pairs", two)):
    top.axhline(nats, color="#777777", ls=":", lw=1)
    top.text(10, nats + 0.08, name, color="#555555", ha="right", va="bottom")
top.set(xlabel="minutes of one core", ylabel="validation loss (nats per piece)", ylim=(0, 7))
plt.close(figure)

# %%
for k, (name, color, mark) in enumerate(zip(BANDS, COLORS, "os^", strict=False)):
    shares = [100 * row["found"][k] for row in reports[1:]]
    bottom.plot(minutes, shares, f"{mark}-", color=color, label=name)
bottom.plot(minutes, [row["bleu"] for row in reports[1:]], "d--", color="#555555", label="BLEU")
bottom.set(xlabel="minutes of one core", ylabel="words found (%), BLEU", ylim=(0, 100))
bottom.legend(frameon=False, loc="upper left", ncols=2)
for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# The upper picture shows that the loss falls most in the first two minutes, while the model is
# learning what can also be counted. In the lower picture, BLEU rises fastest in the second minute,
# in which the loss falls below the lower line, and is still rising at the end. Its curve is not
# smooth: 300 sentences are few, and the learning rate is still high.
#
# A second training with other seeds would give slightly different curves, and different sentences
# at each minute.

# %% [markdown]
# ## In three lines
#
# 1. A model first learns which pieces are frequent, then which follow which, then what the source
#    says.
# 2. Counting gives a loss its meaning: a loss below that of the table of pairs shows that the model
#    uses the source, or more than the last piece.
# 3. Frequent words come first; after ten minutes of one core, three quarters of the rare ones are
#    still missing.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/21_ten_minutes_of_spanish.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** How many pairs has the model read in ten minutes, if a batch of 1,024 positions holds 66
# pairs on average? How many times is that through the 114,275 pairs for training?

# %% [markdown]
# **2.** How many BLEU points does a minute bring, between each report and the next? After minute 1,
# when is it less than 2 for the first time? (The reports are in `data/ten_minutes.json`.)

# %% [markdown]
# ## Your turn
#
# Set `TRAIN = True` and put five sentences of your own into `own`. Which of them comes out right
# first, and which never?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# You have come from words and pieces, through every part of the model, to watching a model learn.
# All notebooks are in the [list of contents](README.md).
