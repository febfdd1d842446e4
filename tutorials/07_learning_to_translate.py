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
# # 07 · Learning to translate
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/07_learning_to_translate.ipynb)
#
# **How does a model learn to translate, and what does its loss say?** We build the loss and the
# learning-rate schedule of the paper's sections 5.3 and 5.4 by hand, hold them to the package's,
# and then train a small Transformer with `compile` and `fit` until it translates sentences it has
# never seen.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Pairs of sentences
#
# The built-in corpus is made by a grammar, so nothing is downloaded. The test sentences are not
# among those for training.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import keras
import numpy as np

import aiayn_keras as ak

keras.utils.set_random_seed(1)

# %%
from aiayn_keras.data import load_corpus

corpus = load_corpus("demo", train_size=17_000, test_size=100)
for english, german in list(corpus.test)[:3]:
    print(f"{english}  →  {german}")
assert not set(corpus.train.sources) & set(corpus.test.sources)

# %% [markdown]
# ## What the decoder reads, and what it must say
#
# In training the decoder gets the true translation, one place to the right: at each position it
# has read everything before, and must say the next piece. This is *teacher forcing*. All positions
# of a sentence are learned at once; the causal mask keeps them honest ([notebook
# 04](04_what_must_not_be_seen.ipynb)).

# %%
tokenizer = ak.TransformerTokenizer.train(
    corpus.train.sources + corpus.train.targets, vocabulary_size=1000
)
S = T = 24  # pieces of a sentence, the end token included
preprocessor = ak.TransformerSeq2SeqLMPreprocessor(tokenizer, S, T)
x, y, weight = preprocessor({"encoder_text": ["A red cat."], "decoder_text": ["Eine rote Katze."]})

# %%
reads = [tokenizer.id_to_token(i) for i in np.array(x["decoder_token_ids"])[0]]
says = [tokenizer.id_to_token(i) for i in np.array(y)[0]]
for piece, label, real in zip(reads[:9], says[:9], np.array(weight)[0], strict=False):
    print(f"{piece:>8} → {label:8} weight {int(real)}")
assert reads[1:9] == says[:8]

# %% [markdown]
# Sentences are padded to one length, here 24. A padded position has weight 0: it must not count in
# the loss.
#
# ## The loss by hand: label smoothing
#
# Plain cross-entropy asks for probability 1 on the right piece. Label smoothing (5.4) asks for a
# little less: of the target, $1 - \varepsilon$ goes to the right piece and $\varepsilon = 0.1$ is
# spread evenly over the whole vocabulary of V pieces. The loss is in nats, the unit of the natural
# logarithm.

# %%
V, epsilon = 5, 0.1
logits = np.array([2.0, 0.5, -1.0, 0.0, 0.3], "float32")  # one position
log_probs = logits - np.log(np.exp(logits).sum())

# %%
target = np.full(V, epsilon / V)
target[0] += 1 - epsilon  # the right piece is number 0
print("target:", target)
np.testing.assert_allclose(target.sum(), 1)

# %%
from aiayn_keras.optimization import label_smoothed_cross_entropy

loss_by_hand = -(target * log_probs).sum()
loss = label_smoothed_cross_entropy(np.array([[0]]), logits[None, None], epsilon)
print(f"by hand {loss_by_hand:.6f}, package {float(loss[0, 0]):.6f} nats")
np.testing.assert_allclose(loss[0, 0], loss_by_hand, rtol=1e-5)

# %% [markdown]
# The loss of a batch is the mean over **real** tokens. If padding took part in the mean, a batch
# with more padding would seem better than it is. Here two of three positions are padding, and
# change nothing:

# %%
three = np.stack([logits, 9 * logits, -9 * logits])[None]  # (B, T, V) = (1, 3, 5)
batch_loss = ak.LabelSmoothedCrossEntropy(epsilon)
with_padding = batch_loss(np.array([[0, 0, 0]]), three, sample_weight=np.array([[1.0, 0, 0]]))
np.testing.assert_allclose(with_padding, loss_by_hand, rtol=1e-5)

# %% [markdown]
# ## The lowest loss is not zero
#
# The best a model can do is to give exactly the smoothed target. Cross-entropy is then the
# target's entropy. With our vocabulary of 1,000 pieces that is about one nat, so a training loss
# of 1.1 is nearly perfect.

# %%
V = tokenizer.vocabulary_size()
off_label = epsilon / V
on_label = 1 - epsilon + off_label
floor = -(on_label * np.log(on_label) + (V - 1) * off_label * np.log(off_label))
print(f"V = {V}: no loss below {floor:.3f} nats, a guess has {np.log(V):.3f}")
assert V == 1000
assert round(floor, 3) == 1.015

# %% [markdown]
# ## The learning rate by hand: warm-up
#
# Equation 3: the rate rises in a straight line for `warmup_steps` updates, then falls with the
# inverse square root of the step.
#
# $$ lrate = d_{model}^{-0.5} \cdot \min(step^{-0.5},\ step \cdot warmup\_steps^{-1.5}) $$
#
# At the start Adam's running means know almost nothing, and its steps are as large as the rate
# allows; a small rate keeps these blind steps short.

# %%
D, warmup_steps = 512, 4000  # the paper's base model
step = np.arange(1, 12_001)
rate_by_hand = D**-0.5 * np.minimum(step**-0.5, step * warmup_steps**-1.5)

schedule = ak.WarmupSchedule(hidden_dim=D, warmup_steps=warmup_steps)
np.testing.assert_allclose(schedule(step - 1), rate_by_hand, rtol=1e-5)
print(f"highest: {rate_by_hand.max():.2e}, at update {step[rate_by_hand.argmax()]:,}")

# %% [markdown]
# Keras counts updates from 0, the paper from 1: hence `step - 1`. A schedule that forgets this has
# the rate $0^{-0.5}$, a division by zero, in its first update.
#
# ## The model and `compile`
#
# One encoder and one decoder layer of width 128 are enough for this grammar. `compile()` without
# arguments is the paper's recipe; we keep its loss and its Adam, and only fit the schedule to a
# training of 240 updates: 80 of them warm up, to a higher peak.

# %%
backbone = ak.TransformerBackbone(
    V, num_layers=1, num_heads=4, hidden_dim=128, intermediate_dim=256, dropout=0.0
)
model = ak.TransformerSeq2SeqLM(backbone, preprocessor)
schedule = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80, peak_learning_rate=0.005)
adam = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
model.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.1), jit_compile=False)
print(f"{model.count_params():,} parameters")

# %% [markdown]
# What does it say before training? Nothing of use:

# %%
sentence = "The girl is happy."
before = model.translate([sentence], max_length=8)[0].text
print(repr(before))

# %% [markdown]
# ## `fit`
#
# `fit` takes the strings as they are; the preprocessor is part of the model. To see the curve we
# let it report after every 12 updates, which Keras calls an epoch. This is the only cell that
# takes long. A longer sentence would be cut, so we train on those that fit.

# %%
lengths = [
    max(map(len, pair))
    for pair in zip(tokenizer(corpus.train.sources), tokenizer(corpus.train.targets), strict=True)
]
short = [pair for pair, length in zip(corpus.train, lengths, strict=True) if length < T]
print(f"{len(short) / len(corpus.train):.0%} of the pairs are shorter than {T} pieces")
assert len(short) > 0.9 * len(corpus.train)

# %% [markdown]
# A training of 240 updates of 64 pairs sees each of 15,360 pairs once.

# %%
import tensorflow as tf

UPDATES, REPORT, B = 240, 12, 64
english, german = map(list, zip(*short[: UPDATES * B], strict=True))
assert len(english) == 15_360
texts = tf.data.Dataset.from_tensor_slices({"encoder_text": english, "decoder_text": german})

# %%
history = model.fit(
    texts.batch(B).repeat(), steps_per_epoch=REPORT, epochs=UPDATES // REPORT, verbose=0
).history
print("loss:", *(f"{loss:.2f}" for loss in history["loss"]))
assert floor < history["loss"][-1] < 0.5 * history["loss"][0]

# %% [markdown]
# The loss begins near that of a guess, and ends above the floor. The accuracy is the share of
# pieces that the model says rightly, when it is given the true beginning.

# %%
print(f"accuracy: {history['accuracy'][0]:.0%} → {history['accuracy'][-1]:.0%}")
assert history["accuracy"][-1] > 0.6 > history["accuracy"][0]

# %% [markdown]
# ## Sentences it has never seen
#
# Now nobody gives the true beginning: the model goes on from its own words, searching with 4 beams
# ([notebook 08](08_choosing_the_words.ipynb)). BLEU counts the n-grams that a translation shares
# with a reference, from 0 to 100.

# %%
from aiayn_keras.training import corpus_bleu

translations = [translation.text for translation in model.translate(list(corpus.test.sources))]
for (english, german), text in list(zip(corpus.test, translations, strict=True))[:5]:
    print(f"{'✓' if text == german else '✗'} {english}  →  {text}")
bleu = corpus_bleu(translations, list(corpus.test.targets)).score
print(f"\n{bleu:.1f} BLEU on {len(corpus.test)} sentences")
assert bleu > 15
assert model.translate([sentence])[0].text != before

# %% [markdown]
# The shipped model of the other notebooks has one layer more on either side and four times as many
# updates; it reaches 99 BLEU.
#
# ## Learning rate and loss on one axis

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

updates = np.arange(REPORT, UPDATES + 1, REPORT)
rates = 1000 * np.array(schedule(np.arange(UPDATES)))
assert rates.argmax() == 79  # update 80, counted from 0

# %%
figure = Figure(figsize=(8, 4.2), layout="constrained")
left = figure.subplots()
left.set(xlabel="updates", ylim=(0, 7.9), xlim=(0, UPDATES + 4))
left.set_ylabel("training loss (nats per token), dots", color=COLORS[0])
left.plot(updates - REPORT / 2, history["loss"], "o-", color=COLORS[0], ms=4)
for height, text in ((np.log(V), "a guess"), (floor, "lowest possible loss")):
    left.axhline(height, color=COLORS[0], ls=":", lw=1)
    left.text(UPDATES, height - 0.1, f"{text}: {height:.3f}", color=COLORS[0], ha="right", va="top")

# %%
right = left.twinx()
right.set_ylim(0, 7.9)
right.set_ylabel("learning rate (thousandths), dashed", color=COLORS[1])
right.plot(np.arange(1, UPDATES + 1), rates, "--", color=COLORS[1])
left.axvline(80, color="#777777", lw=0.8)
left.text(82, 7.8, "end of warm-up", color="#555555", va="top")
figure

# %% [markdown]
# ## In three lines
#
# 1. The target of each position is the true next piece, smoothed: the loss has a floor above zero.
# 2. Loss and accuracy are means over real tokens; padding has weight 0.
# 3. The learning rate rises during warm-up, while Adam gets to know the gradients, then decays.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** With label smoothing the best logits are finite: by how much must the right piece's logit
# lie above each other's to give exactly the smoothed target? Compute it for V = 1,000 and ε = 0.1,
# and check that the loss there is the floor. What would it be with ε = 0?

# %% tags=["solution"] jupyter={"source_hidden": true}
gap = np.log(
    on_label / off_label
)  # softmax turns differences of logits into ratios; ε = 0: infinite
best_logits = np.zeros((1, 1, V), "float32")
best_logits[0, 0, 7] = gap
best_loss = label_smoothed_cross_entropy(np.array([[7]]), best_logits, epsilon)
print(f"{gap:.2f} above the others")
np.testing.assert_allclose(best_loss[0, 0], floor, rtol=1e-5)
assert 9.10 < gap < 9.11

# %% [markdown]
# **2.** With `gradient_accumulation_steps=2` the optimizer adds up the gradients of two batches
# before each update, but hands the schedule its count of *batches*. Which update does batch 10
# (counted from 0) belong to, and what happens to the warm-up if the schedule is not told?

# %% tags=["solution"] jupyter={"source_hidden": true}
told = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80, gradient_accumulation_steps=2)
not_told = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80)
assert float(told(10)) == float(not_told(5))  # batches 10 and 11 make update 5, counted from 0
# Not told, the rate is at its peak after 80 batches, that is after 40 updates: twice too fast.
assert np.argmax([float(not_told(batch)) for batch in range(400)]) // 2 == 39

# %% [markdown]
# Next: [08 · Choosing the words](08_choosing_the_words.ipynb), where greedy choice loses.
