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
# **How does a model learn to translate, and what does its loss say?** We build the loss, the
# learning-rate schedule and the dropout of the paper's sections 5.3 and 5.4 by hand and hold them
# to the package's. Then we train a small Transformer with `compile` and `fit` until it translates
# most of the sentences that it has never seen, and watch one of them grow better on the way.

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
# Blue marks where learning begins: the softmax at each position is compared with the piece that
# should stand there. Training changes all other parts so that this piece becomes more probable.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from aiayn_keras.backend import run_one_operation_at_a_time
from drawings import draw_architecture, draw_shapes

run_one_operation_at_a_time()  # faster for a model as small as ours
draw_architecture("target_ids", "softmax")

# %% [markdown]
# ## Pairs of sentences
#
# The built-in corpus is made by a grammar, so nothing is downloaded. Validation and test sentences
# are not among those for training.

# %%
import keras
import numpy as np

import aiayn_keras as ak
from aiayn_keras.data import load_corpus

# %%
keras.utils.set_random_seed(1)
corpus = load_corpus("demo", train_size=30_000, validation_size=200, test_size=100)
for english, german in list(corpus.test)[:3]:
    print(f"{english}  →  {german}")
assert not set(corpus.train.sources) & set(corpus.test.sources)
assert not set(corpus.train.sources) & set(corpus.validation.sources)

# %% [markdown]
# ## What the decoder reads, and what it must say
#
# In training the decoder gets the true translation, one place to the right: at each position it
# has read everything before, and must say the next piece. This is *teacher forcing*. All positions
# of a sentence are learned at once; the causal mask hides what comes later ([notebook
# 04](04_what_must_not_be_seen.ipynb)).
#
# **Predict:** The decoder reads `<s> ▁Eine …`. What must it say at the last piece of the sentence,
# and which weight in the loss has the padding behind it?

# %%
tokenizer = ak.TransformerTokenizer.train(
    corpus.train.sources + corpus.train.targets, vocabulary_size=1000
)
preprocessor = ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 64, 64)
x, y, weight = preprocessor({"encoder_text": ["A red cat."], "decoder_text": ["Eine rote Katze."]})
reads, says = (
    [tokenizer.id_to_token(i) for i in np.array(ids)[0]] for ids in (x["decoder_token_ids"], y)
)
for piece, label, real in zip(reads[:9], says[:9], np.array(weight)[0], strict=False):
    print(f"{piece:>8} → {label:8} weight {int(real)}")
assert reads[1:9] == says[:8]

# %% [markdown]
# A padded position has weight 0: it must not count in the loss.
#
# ## The loss by hand: label smoothing
#
# Plain cross-entropy asks for probability 1 on the right piece. Label smoothing (5.4) asks for a
# little less: of the target, $1 - \varepsilon$ goes to the right piece and $\varepsilon = 0.1$ is
# spread evenly over the whole vocabulary of V pieces. The loss is in nats, the unit of the natural
# logarithm.
#
# Why ask for less? Probability 1 is never reached, so plain cross-entropy always pushes the logits
# further apart, and the model becomes too sure of its choices. The paper on label smoothing: "This
# hurts perplexity, as the model learns to be more unsure, but improves accuracy and BLEU score."
# (*Perplexity* is e to the mean loss of a piece, with the plain loss; *BLEU* comes at the end of
# this notebook.)

# %%
V, epsilon = 5, 0.1
logits = np.array([2.0, 0.5, -1.0, 0.0, 0.3], "float32")  # one position
log_probs = logits - np.log(np.exp(logits).sum())
target = np.full(V, epsilon / V)
target[0] += 1 - epsilon  # the right piece is number 0
print("target:       ", target)
print("probabilities:", np.exp(log_probs).round(2))
np.testing.assert_allclose(target.sum(), 1)

# %%
from aiayn_keras.optimization import label_smoothed_cross_entropy

loss_by_hand = -(target * log_probs).sum()
loss = label_smoothed_cross_entropy(np.array([[0]]), logits[None, None], epsilon)
print(f"by hand {loss_by_hand:.6f}, package {float(loss[0, 0]):.6f} nats")
np.testing.assert_allclose(loss[0, 0], loss_by_hand, rtol=1e-5)

# %% [markdown]
# The loss of a batch is the mean over **real** tokens. If padding took part in the mean, a batch
# with more padding would seem better than it is.

# %%
draw_shapes("logits (B, T, V)", "cross-entropy", "losses (B, T)", "mean of real tokens", "one loss")

# %% [markdown]
# Here two of three positions are padding, and change nothing:

# %%
three = np.stack([logits, 9 * logits, -9 * logits])[None]  # (B, T, V) = (1, 3, 5)
batch_loss = ak.LabelSmoothedCrossEntropy(epsilon)
with_padding = batch_loss(np.array([[0, 0, 0]]), three, sample_weight=np.array([[1.0, 0, 0]]))
print(f"{float(with_padding):.6f} nats")
np.testing.assert_allclose(with_padding, loss_by_hand, rtol=1e-5)

# %% [markdown]
# ## The lowest loss is not zero
#
# The best a model can do is to give exactly the smoothed target. Cross-entropy is then the
# target's entropy.
#
# **Predict:** With ε = 0.1 and 1,000 pieces, is the lowest possible loss nearer to 0.1, 0.5 or 1
# nat?

# %%
V = tokenizer.vocabulary_size()
off_label = epsilon / V
on_label = 1 - epsilon + off_label
floor = -(on_label * np.log(on_label) + (V - 1) * off_label * np.log(off_label))
print(f"V = {V}: no loss below {floor:.3f} nats, a guess has {np.log(V):.3f}")
assert V == 1000
assert round(floor, 3) == 1.015

# %% [markdown]
# So a loss of 1.1 is nearly perfect. No model gets below the floor, at any piece. Where a sentence
# has two right translations, no model gets down to it either: it cannot know which of the two the
# corpus has.
#
# ## The learning rate by hand: warm-up
#
# An *update* is one step of the optimizer, with the gradient of one batch. Equation 3: the rate
# rises in a straight line for `warmup_steps` updates, then falls with the inverse square root of
# the step.
#
# $$ lrate = d_{model}^{-0.5} \cdot \min(step^{-0.5},\ step \cdot warmup\_steps^{-1.5}) $$
#
# The paper does not say why. The usual explanation: Adam sizes its steps by running means of past
# gradients. At the start these rest on few gradients and say little, and a small rate keeps the
# steps short until they say more.

# %%
D, warmup_steps = 512, 4000  # the paper's base model
step = np.arange(1, 12_001)
rate_by_hand = D**-0.5 * np.minimum(step**-0.5, step * warmup_steps**-1.5)

schedule = ak.WarmupSchedule(hidden_dim=D, warmup_steps=warmup_steps)
np.testing.assert_allclose(schedule(step - 1), rate_by_hand, rtol=1e-5)
print(f"highest: {rate_by_hand.max():.2e}, at update {step[rate_by_hand.argmax()]:,}")

# %% [markdown]
# Keras counts updates from 0, the paper from 1: hence `step - 1`. A schedule that forgets this
# computes $0^{-0.5}$ in its first update. Plain Python stops there with an error; with
# floating-point arrays it is ∞, the minimum of the two is 0, and the first update changes nothing.
#
# ## An update by hand: the gradient, and Adam
#
# Training repeats one thing: find the *gradient*, which says for every weight how the loss changes
# with it, and move each weight a little the other way. Keras finds the gradients of all weights by
# itself. For logits anybody can: it is the probabilities less the target. We check that by moving
# each logit of the example above a little.


# %%
def loss_of(logits):
    log_probs = logits - np.log(np.exp(logits).sum())
    return -(target * log_probs).sum()


def gradient_of(logits):
    return np.exp(logits) / np.exp(logits).sum() - target


# %%
small = 1e-5 * np.eye(5)
moved = [(loss_of(logits + s) - loss_of(logits - s)) / 2e-5 for s in small]
print("by formula:", gradient_of(logits).round(3), "measured:", np.round(moved, 3))
np.testing.assert_allclose(gradient_of(logits), moved, atol=1e-6)

# %% [markdown]
# *Adam* ([Kingma and Ba](https://arxiv.org/abs/1412.6980)) keeps two running means for each weight,
# m of its gradients and v of their squares, and moves it by −rate · m / (√v + ε). Both means begin
# at 0 and are too small at first: after t updates the weights of all gradients in m sum to only 1 −
# β₁ᵗ, in v to 1 − β₂ᵗ, so each is divided by that. The paper (5.3) has β₁ = 0.9, β₂ = 0.98, ε =
# 10⁻⁹ (not the ε of label smoothing; it only keeps the division from failing).


# %%
def adam_by_hand(weights, rates, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    m = v = 0
    for t, rate in enumerate(rates, 1):
        gradient = gradient_of(weights)
        m = beta_1 * m + (1 - beta_1) * gradient
        v = beta_2 * v + (1 - beta_2) * gradient**2
        m_share, v_share = 1 - beta_1**t, 1 - beta_2**t
        weights = weights - rate * (m / m_share) / (np.sqrt(v / v_share) + epsilon)
    return weights


# %% [markdown]
# **Predict:** The gradient of the first logit is about −0.29, that of the third 0.01. How much
# further does the first move in one update with rate 0.01?

# %%
print("moved by", (adam_by_hand(logits, rates=[0.01]) - logits).round(4))
schedule = ak.WarmupSchedule(hidden_dim=512, warmup_steps=4)
weights = keras.Variable(logits)
adam = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
for _ in range(6):
    gradient = gradient_of(keras.ops.convert_to_numpy(weights))
    adam.apply([keras.ops.convert_to_tensor(gradient)], [weights])
by_hand = adam_by_hand(logits, rates=np.array(schedule(np.arange(6))))
print(
    "after six updates:", by_hand.round(3), f"loss {loss_of(logits):.3f} → {loss_of(by_hand):.3f}"
)
np.testing.assert_allclose(weights, by_hand, rtol=1e-4)

# %% [markdown]
# Not at all: in the first update the mean of the gradients over the root of the mean square is 1 or
# −1, so every weight moves by the rate, however small its gradient. A first step is of full length,
# then, in a direction that a single batch has chosen; the warm-up makes it short. The package's
# `compile` takes the same Adam from Keras.
#
# ## Dropout by hand
#
# As in [notebook 06](06_stacking_blocks.ipynb), once more in short: in training the paper sets one
# unit in ten to 0 at random, at the output of every sublayer and after the embeddings (5.4), so
# that no unit relies on one other alone. The others are divided by the share that is kept.
#
# **Predict:** Why divided? 10,000 units are all 1. What is their mean after dropout?

# %%
units, rate = np.ones(10_000, "float32"), 0.1
kept = np.random.default_rng(1).random(units.shape) >= rate
by_hand = np.where(kept, units / (1 - rate), 0)
layer = np.array(keras.layers.Dropout(rate, seed=1)(units, training=True))
print(f"by hand: {(by_hand == 0).mean():.3f} are 0, the mean is {by_hand.mean():.3f}")
print(f"Keras:   {(layer == 0).mean():.3f} are 0, the mean is {layer.mean():.3f}")
np.testing.assert_allclose([by_hand.mean(), layer.mean()], 1, atol=0.02)
np.testing.assert_allclose([by_hand.max(), layer.max()], 1 / 0.9, rtol=1e-5)

# %% [markdown]
# The mean stays the same, about 1, because the units that are kept became larger. So when the
# model translates, dropout is simply left out, and nothing else has to change.
#
# ## Batches with little padding
#
# Sentences differ in length. Padded to the longest of its batch, about half of a batch is padding
# (solutions to notebook 01), and more than that at one fixed width for all batches; sorted by
# length, as in the paper, some 5 %. The package can also *pack*: several pairs share a row of fixed
# width, and the masks keep them apart.

# %%
from aiayn_keras.data import PackedBatches, TokenPairs


def batches_of(text, **options):
    pairs = TokenPairs(tokenizer(list(text.sources)), tokenizer(list(text.targets)))
    return PackedBatches(pairs, tokens_per_batch=2048, **options)


# %%
batches, validation = batches_of(corpus.train, seed=1), batches_of(corpus.validation, shuffle=False)
(B, S, T), real = batches.shapes[0], batches.real_target_tokens / len(corpus.train)
print(f"B = {B} rows, S = T = {T}; a translation has {real:.1f} pieces with its end")
print(f"padding: {batches.padding_share:.0%} packed, {1 - real / T:.0%} with a row for each pair")
assert batches.padding_share < 0.1

# %% [markdown]
# ## The model and `compile`
#
# Two encoder and two decoder layers of width 128 are enough for this grammar. `compile()` without
# arguments is the paper's recipe. We keep its loss and its Adam, and fit the schedule to a training
# of 400 updates: 100 of them warm up, to a higher peak.
#
# **Dropout is 0 here**, where the paper has 0.1. It is there to keep a model from learning its
# sentences by heart, and in 400 updates ours reads each pair only about twice. The validation loss
# will show whether that was right.
#
# Two objects share the same backbone, and so the same weights: `learner` reads token ids and is
# trained, `model` reads text and translates.

# %%
UPDATES, REPORT = 400, 50
backbone = ak.TransformerBackbone(
    V, num_layers=2, num_heads=4, hidden_dim=128, intermediate_dim=512, dropout=0.0
)
model = ak.TransformerSeq2SeqLM(backbone, preprocessor)  # takes text, translates
learner = ak.TransformerSeq2SeqLM(backbone)  # the same weights, takes token ids
schedule = ak.WarmupSchedule(hidden_dim=128, warmup_steps=100, peak_learning_rate=0.004)
adam = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
learner.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.1))
print(f"{model.count_params():,} parameters")
print(f"{UPDATES / batches.steps_per_epoch:.1f} times through the pairs")

# %% [markdown]
# ## `fit`, watched
#
# After every 50 updates, which Keras calls an epoch here, we save a checkpoint; after every 100 we
# let the model translate one test sentence. Before training it says nothing of use:

# %%
sentence, reference = list(corpus.test)[2]
before = model.translate([sentence], num_beams=1, max_length=8)[0].text
print(f"{sentence}  →  {reference}\nbefore: {before}")
assert before != reference

# %%
import tempfile

from aiayn_keras.training import corpus_bleu, save_checkpoint


class Watch(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        updates = (epoch + 1) * REPORT
        save_checkpoint(self.model, folder, updates)
        if updates % 100 == 0:
            text = model.translate([sentence], num_beams=1, length_penalty=0.0)[0].text
            print(f"{updates}: validation loss {logs['val_loss']:.2f}  {text}")


# %% [markdown]
# This is the only cell that takes long.
#
# **Predict:** After how many updates will the sentence be right? And what comes first, the words
# or their order?

# %%
folder = tempfile.mkdtemp()
history = learner.fit(
    batches.to_iter_dataset(),
    steps_per_epoch=REPORT,
    epochs=UPDATES // REPORT,
    validation_data=validation.to_iter_dataset(),
    validation_steps=len(validation),
    callbacks=[Watch()],
    verbose=0,
).history
assert floor < history["val_loss"][-1] < 1.3

# %% [markdown]
# Single words come first, some of them made up; then their order, with the verb at the end, as
# German wants it. The endings of articles and adjectives come last.
#
# The first loss is the mean over 50 updates, and already below the 6.9 of a guess; the last is a
# little above the floor. The accuracy is the share of pieces that the model says rightly, when it
# is given the true beginning.

# %%
print("updates   ", *(f"{REPORT * n:5}" for n in range(1, UPDATES // REPORT + 1)))
for name in ("loss", "val_loss", "accuracy", "val_accuracy"):
    print(f"{name:12}", *(f"{value:.3f}" for value in history[name]))
assert history["val_accuracy"][-1] > 0.95 > history["val_accuracy"][0]
assert history["val_loss"][-1] < history["loss"][-1] + 0.1

# %% [markdown]
# The validation loss is not above the training loss: nothing was learned by heart, which is what
# dropout is against. (Each training loss is the mean over 50 updates, the validation loss is taken
# after them.)
#
# ## The mean of the last checkpoints
#
# The learning rate is still high at the end, and the weights move to and fro. The paper takes the
# mean of the last checkpoints as its model (6.1). By hand, for our last four:

# %%
from aiayn_keras.training import average_checkpoints, list_checkpoints, load_checkpoint


def validation_loss():
    measured = validation.to_iter_dataset(), len(validation)
    return learner.evaluate(measured[0], steps=measured[1], verbose=0, return_dict=True)["loss"]


# %%
paths = [path for _, path in list_checkpoints(folder)[-4:]]
losses, weights = [], []
for path in paths:
    load_checkpoint(learner, path)
    losses.append(validation_loss())
    weights.append(list(map(keras.ops.convert_to_numpy, learner.trainable_variables)))
means = [np.mean(versions, axis=0) for versions in zip(*weights, strict=True)]
print("validation loss:", *(f"{loss:.3f}" for loss in losses))

# %% [markdown]
# **Predict:** Is the loss of the mean of four sets of weights the mean of their losses, lower than
# each, or higher than each?

# %%
average_checkpoints(learner, paths)
for mean, variable in zip(means, learner.trainable_variables, strict=True):
    np.testing.assert_allclose(mean, variable, rtol=1e-4, atol=1e-6)
print(f"the mean of the weights: {validation_loss():.3f}")
assert validation_loss() < min(losses) + 0.01

# %% [markdown]
# Lower than each, although the first of the four was much worse than the last. It is so little
# lower than the last that chance may have a part in it.
#
# ## Sentences it has never seen
#
# Now nobody gives the true beginning: the model goes on from its own words, searching with 4 beams
# ([notebook 08](08_choosing_the_words.ipynb)). BLEU counts the runs of one to four words that a
# translation shares with a reference, from 0 to 100; higher is better.

# %%
translations = [translation.text for translation in model.translate(list(corpus.test.sources))]
right = [text == german for text, german in zip(translations, corpus.test.targets, strict=True)]
for (english, german), text, is_right in list(zip(corpus.test, translations, right))[:6]:  # noqa: B905
    print(f"{'✓' if is_right else '✗'} {english}  →  {text}" + ("" if is_right else f" ({german})"))
bleu = corpus_bleu(translations, list(corpus.test.targets)).score
print(f"\n{sum(right)} of {len(right)} are the reference, word for word; {bleu:.1f} BLEU")
assert bleu > 85
assert translations[2] != before

# %% [markdown]
# The shipped model `demo_en_de` is of about the same size, but was trained for 1,000 updates of
# larger batches, with dropout 0.1; it reaches 99 BLEU.
#
# ## Loss and learning rate

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

# %%
updates = np.arange(REPORT, UPDATES + 1, REPORT)
figure = Figure(figsize=(8, 5.4), layout="constrained")
top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
top.plot(updates - REPORT / 2, history["loss"], "o-", color=COLORS[0], label="training")
top.plot(updates, history["val_loss"], "s--", color=COLORS[1], label="validation")
for height, text in ((np.log(V), "a guess"), (floor, "lowest possible")):
    top.axhline(height, color="#777777", ls=":", lw=1)
    top.text(UPDATES, height - 0.1, f"{text}: {height:.3f}", color="#555555", ha="right", va="top")
print(f"{len(updates)} reports")

# %%
rates = np.array(schedule(np.arange(UPDATES)))
bottom.plot(np.arange(1, UPDATES + 1), 1000 * rates, color=COLORS[2])
top.set(ylabel="loss (nats per token)", ylim=(0, 7.6))
bottom.set(xlabel="updates", ylabel="learning rate\n(thousandths)", ylim=(0, None))
bottom.annotate("end of warm-up", (100, 1000 * rates.max()), (112, 3.9), color="#555555")
for axes in (top, bottom):
    axes.spines[["top", "right"]].set_visible(False)
top.legend(frameon=False, loc="center right")
assert rates.argmax() == 99  # update 100, counted from 0
figure

# %% [markdown]
# ## In three lines
#
# 1. The target of each position is the true next piece, smoothed, so that the model is less sure
#    and more often right; the loss has a floor above zero.
# 2. Loss and accuracy are means over real tokens; padding has weight 0, or is packed away.
# 3. The learning rate rises during warm-up, then decays; the mean of the last checkpoints is the
#    model.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/07_learning_to_translate.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** With label smoothing the best logits are finite: by how much must the right piece's logit
# lie above each other's to give exactly the smoothed target? Compute it for V = 1,000 and ε = 0.1,
# and check that the loss there is the floor. What would it be with ε = 0?

# %% [markdown]
# **2.** With `gradient_accumulation_steps=2` the optimizer collects the gradients of two batches
# before each update, but the step that it hands the schedule is its count of *batches*. So
# `WarmupSchedule` has an argument of the same name. Which update does batch 10 belong to, both
# counted from 0? And how many updates does the warm-up take with `warmup_steps=80` if that argument
# is left out?

# %% [markdown]
# ## Your turn
#
# Set `dropout=0.1` in the cell that makes the model and run again from there. Is the validation
# accuracy after 400 updates lower or higher? And does the sentence come out right?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [08 · Choosing the words](08_choosing_the_words.ipynb), where greedy choice loses.
