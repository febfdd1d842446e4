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
# # 11 · Real sentences
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/11_real_sentences.ipynb)
#
# **How well does it translate sentences that people wrote?** Multi30k has 29,000 captions of
# photographs, in English and German. We read the recipe of a real training, draw its curves, and
# see what beam size and length penalty (the paper's sections 5.4 and 6.1) do to BLEU. The training
# took an hour or so on two CPU cores, so this notebook reads its records instead of repeating it.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## The recipe
#
# A recipe says all that decides a training; what it does not name is the paper's.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from aiayn_keras.training import load_recipe

recipe = load_recipe("multi30k_en_de_tiny")
print(recipe.to_yaml())

# %%
model = recipe.build_model(recipe.tokenizer.vocabulary_size)
backbone = model.backbone
print(f"{backbone.num_layers}+{backbone.num_layers} layers, D = {backbone.hidden_dim}")
print(
    f"{model.count_params():,} parameters, {10_000 * 128 / model.count_params():.0%} in embeddings"
)
assert (backbone.num_layers, backbone.hidden_dim, backbone.num_heads) == (4, 128, 4)
assert backbone.vocabulary_size == 10_000

# %% [markdown]
# This is small: the paper's base model has 63 million parameters. With 29,000 pairs a larger one
# would learn them by heart, which is also why dropout is 0.3 and not the paper's 0.1.
#
# ## The text
#
# Multi30k may be used for research, but not passed on with this package. If you have a copy, set
# the variable `AIAYN_KERAS_DATA` to the folder that holds `multi30k/` before you start the
# notebook, and the next cell shows some of it. Without it the rest runs all the same.

# %%
from aiayn_keras.data import load_corpus

if os.environ.get("AIAYN_KERAS_DATA"):
    corpus = load_corpus("multi30k-en-de", variant="tok")
    print(len(corpus.train), "pairs, such as", corpus.train[0])
else:
    print("AIAYN_KERAS_DATA is not set: no text to show.")

# %% [markdown]
# To train it yourself, and to translate with it (the mean of the last checkpoints makes the
# model):
#
# ```shell
# aiayn-keras train multi30k_en_de_tiny --output runs/multi30k
# aiayn-keras translate runs/multi30k < sentences.en
# ```
#
# ## The curves
#
# The run wrote a record after every 200 updates, and BLEU on the validation sentences every 1,000.

# %%
import json
from pathlib import Path

import numpy as np

records = json.loads(Path("data/multi30k_en_de_history.json").read_text("utf-8"))
names = dict.fromkeys(name for record in records for name in record)
history = {name: [record.get(name, np.nan) for record in records] for name in names}
assert records[0]["updates"] == 200
assert np.count_nonzero(~np.isnan(history["val_bleu"])) == records[-1]["updates"] // 1000

# %%
from aiayn_keras.plotting import COLORS, plot_learning_curves

figure = plot_learning_curves(history)
figure.set_size_inches(10, 2.9)
figure

# %%
from IPython.display import Markdown

first_bleu, *_, last_bleu = [bleu for bleu in history["val_bleu"] if bleu == bleu]
lowest = int(np.argmin(history["val_loss"]))
Markdown(
    f"After {records[-1]['updates']:,} updates the validation loss is "
    f"{history['val_loss'][-1]:.3f} nats per token; its lowest, {history['val_loss'][lowest]:.3f}, "
    f"was at update {records[lowest]['updates']:,}. "
    f"BLEU rose from {first_bleu:.1f} to {last_bleu:.1f}."
)

# %% [markdown]
# Three things to see:
#
# - BLEU still rises where the loss hardly falls any more. They measure different things: the loss
#   asks about each token with the true beginning given, BLEU about whole sentences of the model's
#   own.
# - The training loss falls below the validation loss: the model begins to know its sentences by
#   heart.
# - At first the training loss is the higher one: it is measured with dropout, and is a mean over
#   the 200 updates before.

# %%
assert history["loss"][0] > history["val_loss"][0]
assert history["loss"][-1] < history["val_loss"][-1]
assert last_bleu > first_bleu + 10

# %% [markdown]
# The perplexity is $e^{loss}$ without label smoothing: between how many pieces the model wavers,
# on average.

# %%
wavers = history["val_perplexity"]
print(f"validation perplexity: {wavers[0]:.0f} → {wavers[-1]:.2f} of 10,000 pieces")
assert wavers[-1] < 0.05 * wavers[0]
assert np.log(wavers[-1]) < history["val_loss"][-1]  # which has label smoothing

# %% [markdown]
# ## Searching the test set
#
# The mean of the last checkpoints translated the 1,000 test sentences with 7 beam sizes and 3
# length penalties α (`benchmarks/quality/search.py`). BLEU without its signature says little: it
# differs by a point and more between tokenizations.

# %%
search = json.loads(Path("data/multi30k_en_de_search.json").read_text("utf-8"))
rows = search["rows"]
beams = sorted({row["num_beams"] for row in rows})
alphas = sorted({row["length_penalty"] for row in rows})
print(f"{search['sentences']:,} sentences; {search['signature']}")
assert search["sentences"] == 1000
assert "tok:none" in search["signature"]

# %%
rows.sort(key=lambda row: row["num_beams"])
by_alpha = {alpha: [row for row in rows if row["length_penalty"] == alpha] for alpha in alphas}

# %%
print("beams", *(f"{beam:>6}" for beam in beams))
for alpha, line in by_alpha.items():
    print(f"α {alpha:.1f}", *(f"{row['bleu']:6.2f}" for row in line))
assert {len(line) for line in by_alpha.values()} == {len(beams)} == {7}

# %% [markdown]
# With one beam there is nothing to compare, so α changes nothing: the first column is one number.
# Without a penalty (α = 0) wide beams make BLEU **worse**. A better search finds more probable
# sentences, and the most probable ones are too short:

# %%
print("words of the translations for 100 of the references:")
for alpha, line in by_alpha.items():
    print(f"α {alpha:.1f}", *(f"{100 * row['length_ratio']:6.1f}" for row in line))
plain, *_, divided = by_alpha.values()
assert len({row["bleu"] for row in rows if row["num_beams"] == 1}) == 1
assert plain[-1]["length_ratio"] < divided[-1]["length_ratio"] - 0.02
assert plain[-1]["bleu"] < divided[-1]["bleu"]

# %% [markdown]
# ## BLEU against beam size
#
# With 1,000 sentences a difference of two or three tenths between neighbours is chance; the fall
# of the curve for α = 0 is not.
#
# The dotted line is the public figure: 41.02 (Wu et al. 2021, the same data and model size, 5
# beams, α = 1), which trained on twice as many tokens.

# %%
from matplotlib.figure import Figure

PUBLIC = 41.02
figure = Figure(figsize=(8, 4.4), layout="constrained")
axes = figure.subplots()
for (alpha, line), marker, color in zip(by_alpha.items(), "so^", COLORS, strict=False):
    bleus = [row["bleu"] for row in line]
    axes.plot(beams, bleus, marker=marker, color=color, label=f"α = {alpha:g}")

# %%
axes.axhline(PUBLIC, color="#555555", ls=":")
axes.text(beams[-1], PUBLIC - 0.05, "Wu et al. 2021: 41.02", ha="right", va="top", color="#555555")
axes.set_xscale("log", base=2)
axes.set_xticks(beams, beams)
axes.set_xticks([], minor=True)
axes.set(xlabel="number of beams", ylabel="BLEU on test 2016 (1,000 sentences)")
axes.grid(color="#DDDDDD", lw=0.6)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, title="length penalty", loc="lower left")
figure

# %%
best = max(rows, key=lambda row: row["bleu"])
five = next(row for row in divided if row["num_beams"] == 5)
Markdown(
    f"Searched as by Wu et al., with 5 beams and α = 1, our model has {five['bleu']:.2f} BLEU, "
    f"{five['bleu'] - PUBLIC:+.2f} to the public figure. The best of the {len(rows)} searches "
    f"has {best['bleu']:.2f} ({best['num_beams']} beams, α = {best['length_penalty']:g}). But who "
    "chooses beams and α by these numbers chooses on the test set: use validation sentences."
)

# %% [markdown]
# ## In three lines
#
# 1. A small Transformer with much dropout learns 29,000 captions on two CPU cores.
# 2. Wide beams find more probable sentences, which are shorter; the length penalty mends that.
# 3. BLEU is only comparable with the same text, tokenization, beam and α: print its signature.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** The history holds the learning rate of every record. Make the recipe's schedule with
# `WarmupSchedule`, and check all of them. Which record is nearest to the peak?

# %% tags=["solution"] jupyter={"source_hidden": true}
import aiayn_keras as ak

optimizer = recipe.optimizer
schedule = ak.WarmupSchedule(
    backbone.hidden_dim, optimizer.warmup_steps, optimizer.peak_learning_rate
)
updates = np.array(history["updates"])
np.testing.assert_allclose(schedule(updates), history["learning_rate"], rtol=1e-3)
assert abs(updates[np.argmax(history["learning_rate"])] - optimizer.warmup_steps) <= 100

# %% [markdown]
# **2.** BLEU multiplies the n-gram precisions by a *brevity penalty* $e^{1 - r/c}$, if the
# translations (c words) are shorter than the references (r words). How many points does this
# penalty alone take from the search with α = 0 and the widest beam?

# %% tags=["solution"] jupyter={"source_hidden": true}
widest = plain[-1]
brevity_penalty = np.exp(1 - 1 / widest["length_ratio"])
without = widest["bleu"] / brevity_penalty
print(
    f"{without:.2f} · {brevity_penalty:.3f} = {widest['bleu']:.2f}: {without - widest['bleu']:.2f}"
)
assert widest["length_ratio"] < 1
assert without > max(row["bleu"] for row in plain[:1])  # the words it writes are right ones

# %% [markdown]
# Next: [12 · Any backend, many devices](12_any_backend_many_devices.ipynb), where the same weights
# run on three engines.
