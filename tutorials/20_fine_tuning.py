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
# # 20 · Fine-tuning
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/20_fine_tuning.ipynb)
#
# **How do you teach a trained model a new kind of text, and what does it forget?** The included
# English-German model knows the demo language and nothing else. We teach it kitchen instructions in
# three ways: by training all of its weights, by mixing old text into the new, and by training only
# two thin matrices beside each of a few large ones (LoRA, *low-rank adaptation*), which we first
# write out by hand.
#
# *50 minutes · you need notebook 07, which also explains BLEU.* Afterwards you can fine-tune a
# model, measure what it forgets, and write LoRA in one line of NumPy.

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
# Blue marks the step that makes queries, keys and values in every attention layer. The matrices for
# queries and for values will get adapters.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from aiayn_keras.backend import run_one_operation_at_a_time
from drawings import draw_architecture

run_one_operation_at_a_time()  # faster for a model as small as ours
draw_architecture("heads")

# %%
import json
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

# %%
import aiayn_keras as ak
from aiayn_keras.data import TokenBatches, TokenPairs, load_corpus, mix_texts
from aiayn_keras.plotting import COLORS
from aiayn_keras.training import corpus_bleu
from kitchen import kitchen_pairs

# %% [markdown]
# ## Two kinds of text
#
# The general text is the demo corpus, on which the model was trained. The new *domain*, or kind of
# text, comes from `kitchen.py`, a short program that puts kitchen instructions together. Their
# verbs are imperatives, and hardly any of their words occur in the demo corpus.

# %%
general = load_corpus("demo", train_size=5_000, validation_size=1, test_size=100)
kitchen, kitchen_test = kitchen_pairs(train_size=1_500, test_size=100)
for english, german in list(kitchen_test)[:4]:
    print(f"{english}\n    {german}")
assert not set(kitchen.sources) & set(kitchen_test.sources)


# %%
def load():
    keras.utils.set_random_seed(1)
    return ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")


def bleu(model, text):
    """BLEU of greedy translations, and the translations."""
    texts = [t.text for t in model.translate(list(text.sources), num_beams=1, max_length=60)]
    return corpus_bleu(texts, list(text.targets)).score, texts


# %% [markdown]
# **Predict:** The model has 99 BLEU on the demo language. What does it have in the kitchen: 60, 20,
# or nearly 0?

# %%
model = load()
tokenizer = model.preprocessor.tokenizer
(in_general, _), (in_kitchen, before) = (bleu(model, text) for text in (general.test, kitchen_test))
print(f"general {in_general:.1f} BLEU, kitchen {in_kitchen:.1f}")
for english, text in list(zip(kitchen_test.sources, before, strict=True))[:3]:
    print(f"{english}\n    {text}")
assert in_general > 95 > 5 > in_kitchen

# %% [markdown]
# It answers with what looks like demo sentences, about eggs and villages, because it has never
# learned to say anything else.
#
# ## The naive way: train on
#
# Fine-tuning is training that starts from trained weights. Loss, optimizer and batches are those of
# notebook 07; only the text is new, and the learning rate is lower.


# %%
def batches_of(text):
    pairs = TokenPairs(tokenizer(list(text.sources)), tokenizer(list(text.targets)))
    return TokenBatches(pairs, tokens_per_batch=1024, max_shapes=1, seed=1)


def learner_of(model, rate):
    """The same weights, for batches of ids, with an optimizer of its own."""
    learner = ak.TransformerSeq2SeqLM(model.backbone)
    schedule = ak.WarmupSchedule(hidden_dim=128, warmup_steps=30, peak_learning_rate=rate)
    adam = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    learner.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.1))
    return learner


# %%
STAGES = [0, 15, 30, 60, 120]  # updates


def fine_tune(model, text, rate):
    """BLEU on kitchen and general text at each stage."""
    learner, batches, scores = learner_of(model, rate), batches_of(text), []
    for done, until in zip([0, *STAGES], STAGES, strict=False):
        if until > done:
            data = batches.to_iter_dataset()
            learner.fit(data, steps_per_epoch=until - done, verbose=0)
        scores.append([round(bleu(model, test)[0], 1) for test in (kitchen_test, general.test)])
    return scores


# %% [markdown]
# This is the only slow cell.
#
# **Predict:** After 120 updates on nothing but kitchen text: how much is left of the 99 BLEU on
# general text?

# %%
model = load()
naive = fine_tune(model, kitchen, rate=0.001)
for updates, (in_kitchen, in_general) in zip(STAGES, naive, strict=True):
    print(f"{updates:3} updates: kitchen {in_kitchen:5.1f}, general {in_general:5.1f} BLEU")
assert naive[-1][0] > 80
assert naive[-1][1] < 80

# %% [markdown]
# ## What it forgot
#
# This is called *catastrophic forgetting*. No update had any general text in its batch, so nothing
# prevented the weights that this text needs from changing.

# %%
_, after = bleu(model, general.test)
wrong = [i for i, text in enumerate(after) if text != general.test.targets[i]]
for i in wrong[:5]:
    print(f"{general.test.sources[i]}\n    {after[i]}   ({general.test.targets[i]})")
print(f"{len(wrong)} of {len(after)} general sentences are wrong now")

# %% [markdown]
# The imperative *Gib* and pieces of kitchen words (*Petersie*, from *Petersilie*, parsley) turn up
# in sentences that have nothing to do with a kitchen.
#
# ## The first remedy: mix old text in
#
# If the batches also contain old text, forgetting it raises the loss. `mix_texts` (in a recipe,
# `corpus.mix`) makes the old text a given share of all pairs. There are few kitchen pairs, so they
# are repeated as long as there are enough old pairs to go with them. For a share of one half, we
# check the numbers by hand:

# %%
share = 0.5
repeats = round(len(general.train) * (1 - share) / share / len(kitchen))
old = round(repeats * len(kitchen) * share / (1 - share))
mixed = mix_texts(kitchen, general.train, share, seed=1)
print(f"{len(kitchen):,} kitchen pairs {repeats} times, {old:,} general pairs: {len(mixed):,}")
assert len(mixed) == repeats * len(kitchen) + old
assert sum(source in set(kitchen.sources) for source in mixed.sources) == repeats * len(kitchen)

# %% [markdown]
# ## The second remedy: change little
#
# LoRA ([Hu et al. 2021](https://arxiv.org/abs/2106.09685)) leaves a matrix W of shape (D, D) as it
# is, and adds two thin ones, A of shape (D, r) and B of shape (r, D). The *rank* r is a small
# number such as 4. The layer computes
#
# $$ x W + x A B $$
#
# Only A and B are trained. Keras has this in its dense layer:

# %%
dense = keras.layers.Dense(128, use_bias=False)
x = np.random.normal(size=(5, 128)).astype("float32")
plain = ops.convert_to_numpy(dense(x))
W = dense.get_weights()[0]
dense.enable_lora(rank=4)
A, B = (ops.convert_to_numpy(v) for v in (dense.lora_kernel_a, dense.lora_kernel_b))
print("W", W.shape, "A", A.shape, "B", B.shape, "and B is", np.abs(B).max())
np.testing.assert_allclose(dense(x), plain, atol=1e-5)

# %% [markdown]
# B starts at zero, so an adapted model starts as the model it was. We put other numbers into B:

# %%
B = np.random.normal(size=B.shape).astype("float32")
dense.lora_kernel_b.assign(B)
np.testing.assert_allclose(dense(x), x @ W + x @ A @ B, rtol=1e-3, atol=1e-3)
np.testing.assert_allclose(dense(x), x @ (W + A @ B), rtol=1e-3, atol=1e-3)
print(f"W has {W.size:,} numbers, A and B together {A.size + B.size:,}")

# %% [markdown]
# The second of these checks shows why LoRA does not make the trained model slower: A·B has the
# shape of W, and can be added to it once the training is finished.
#
# ## Adapters for the whole model
#
# As in the paper on LoRA, the package adapts queries and values of every attention layer.


# %%
def adapt(model, rank):
    """Freezes a model and adds adapters, as `model.lora_rank` does in a recipe."""
    model.backbone.enable_lora(rank)
    for variable in model.backbone.trainable_variables:
        variable.trainable = "lora" in variable.path
    return model


# %% [markdown]
# **Predict:** The model has 2 + 2 blocks, so 2 + 2·2 attention layers, each with two adapted
# matrices of 128 × 128. How many numbers are trained at rank 4?

# %%
adapted = adapt(load(), rank=4)
names = [variable.path for variable in adapted.backbone.trainable_variables]
count = sum(int(np.prod(v.shape)) for v in adapted.backbone.trainable_variables)
print(f"{count:,} of {model.count_params():,} numbers, in {len(names)} matrices such as {names[0]}")
assert count == (2 + 2 * 2) * 2 * (2 * 128 * 4) == 12_288

# %% [markdown]
# What does the very first update change? The gradient of A goes through B, which is zero.

# %%
kept = [ops.convert_to_numpy(v) for v in adapted.backbone.trainable_variables]
learner_of(adapted, rate=0.01).fit(
    batches_of(kitchen).to_iter_dataset(), steps_per_epoch=1, verbose=0
)
for end in ("lora_kernel_a", "lora_kernel_b"):
    moved = [
        np.abs(ops.convert_to_numpy(v) - old).max()
        for v, old in zip(adapted.backbone.trainable_variables, kept, strict=True)
        if v.path.endswith(end)
    ]
    print(f"{end}: moved by up to {max(moved):.5f}")

# %% [markdown]
# Only B moves at first; from the second update on, A does too.
#
# ## All of them
#
# The results of the other trainings were saved by the same code. To repeat these trainings, set
# `TRAIN_ALL` to `True`; each takes as long as the one above.

# %%
TRAIN_ALL = False
TRAININGS = {
    "half general text": lambda: fine_tune(load(), mixed, rate=0.001),
    "adapters of rank 4": lambda: fine_tune(adapt(load(), 4), kitchen, rate=0.01),
    "adapters of rank 32": lambda: fine_tune(adapt(load(), 32), kitchen, rate=0.01),
}
list(TRAININGS)

# %%
results = json.loads(Path("data/fine_tuning.json").read_text("utf-8"))
if TRAIN_ALL:
    results = {name: train() for name, train in TRAININGS.items()}
results = {"all weights": naive} | results
print("kitchen and general BLEU after", *(f"{updates:>11}" for updates in STAGES[1:]), "updates")
for name, scores in results.items():
    print(f"{name:30}", *(f"{new:5.1f} {old:5.1f}" for new, old in scores[1:]))
assert list(results)[1:] == list(TRAININGS)

# %% [markdown]
# Mixing old text in costs almost nothing here. At the end the model has 90 BLEU in the kitchen (93
# without mixing), and 97.5 on general text.
#
# The adapters are a surprise. They train 2 % or 12 % of the numbers, and yet they learn less *and*
# forget more than training everything. Few trained numbers do not mean a small change: A·B is added
# to a whole matrix, and the learning rate is ten times as high. And here the model must learn new
# words. These depend on the embeddings, which are frozen, and not only on queries and values.
#
# Adapters have one advantage for certain: W itself is untouched. If you take A·B off, you have the
# general model again, to the last digit. So you can keep one general model, and a small file for
# each domain.

# %% [markdown]
# ## New text against old
#
# **Predict:** In which corner of this picture is the model that you want? And in which direction
# does each path begin?

# %%
figure, axes = plt.subplots(figsize=(5.5, 4.4), layout="constrained")
for (name, scores), color, mark in zip(results.items(), COLORS, "os^D", strict=False):
    new, old = zip(*scores, strict=True)
    axes.plot(old, new, f"{mark}-", color=color, label=name)
axes.set(xlabel="BLEU on general text (old)", ylabel="BLEU on kitchen text (new)")
axes.set(xlim=(20, 103), ylim=(-3, 103))
axes.legend(frameon=False, loc="lower left")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# The model that you want is at the upper right, where both are good. Each path begins near the
# lower right corner, before any training. Training all weights leads up and to the left: the model
# gets better in the kitchen and worse on general text. The paths of the adapters go left almost
# from the start. Only the path with old text in its batches stays near the right edge.
#
# Is this true of other models and texts? Our domain has hardly a word in common with the old text,
# the model is tiny, and each row is a single training with a single learning rate. With the larger
# English-Spanish model and real messages of programs, [docs/training.md](../docs/training.md)
# reports:
#
# | model | messages (new) | everyday (old) |
# |---|---|---|
# | before | 7.4 | 50.7 |
# | all weights | 35.6 | 38.4 |
# | half everyday text | 32.7 | 49.0 |
# | adapters of rank 8 | 22.8 | 47.6 |
#
# There the adapters learned less, as here, but forgot less than training all weights did. Mixing
# works well in both cases. Always measure on both texts.

# %% [markdown]
# ## In three lines
#
# 1. Training on new text alone makes a model forget the old: measure BLEU on both.
# 2. Old text mixed into the batches keeps nearly all of it, for a small price.
# 3. LoRA computes x W + x A B and trains A and B only: small files that can be taken off again, but
#    no promise not to forget.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/20_fine_tuning.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** A and B of rank r have 2·D·r numbers. At which rank is that as many as in W, for D = 128
# and D = 1,024? And show that a plain dense layer with the merged matrix W + A·B computes the same
# as the adapted layer.

# %% [markdown]
# **2.** There are 1,500 kitchen pairs and 5,000 general ones. What does `mix_texts` do for a share
# of 0.8? Say how often it takes each kitchen pair, and how many general pairs it draws; then check.

# %% [markdown]
# ## Your turn
#
# Write twenty pairs for a domain of your own, as a `ParallelText(sources, targets)` of
# `aiayn_keras.data`. Give them to `fine_tune`, and use them instead of `kitchen_test`, too. How
# many updates does the model need to learn them, and what do they cost on general text?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [21 · Ten minutes of Spanish](21_ten_minutes_of_spanish.ipynb), where a model that knows
# nothing learns from real sentences.
