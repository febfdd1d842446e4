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
# # Solutions to 11 · Real sentences
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/11_real_sentences.ipynb)
#
# These are answers to the exercises of [11 · Real sentences](../11_real_sentences.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
import json
from pathlib import Path

import numpy as np

import aiayn_keras as ak
from aiayn_keras.training import load_recipe

# %% [markdown]
# **1.** The history holds the learning rate of every record. Build the recipe's schedule with
# `WarmupSchedule`, and check them all. Which record is at the peak?

# %%
path = Path("../../saved_models/tatoeba_en_es_keras/history.json")
records = json.loads(path.read_text("utf-8"))
updates, rates = (np.array([r[name] for r in records]) for name in ("updates", "learning_rate"))
recipe = load_recipe("tatoeba_en_es")
optimizer = recipe.optimizer
schedule = ak.WarmupSchedule(256, optimizer.warmup_steps, optimizer.peak_learning_rate)
np.testing.assert_allclose(schedule(updates), rates, rtol=2e-3)
print(f"highest rate {rates.max():.4f} at update {updates[rates.argmax()]:,}")
assert updates[rates.argmax()] == optimizer.warmup_steps

# %% [markdown]
# **2.** BLEU multiplies the n-gram precisions by a *brevity penalty* $e^{1 - r/c}$, if the
# translations (c words) are shorter than the references (r words). How many points does this
# penalty alone cost the search on Multi30k with α = 0 and 16 beams?

# %%
search = json.loads(Path("../data/multi30k_en_de_search.json").read_text("utf-8"))
plain = [row for row in search["rows"] if row["length_penalty"] == 0]
widest = max(plain, key=lambda row: row["num_beams"])
brevity_penalty = np.exp(1 - 1 / widest["length_ratio"])
without = widest["bleu"] / brevity_penalty
print(f"{without:.2f} · {brevity_penalty:.3f} = {widest['bleu']:.2f}")
print(f"it takes {without - widest['bleu']:.2f} points")
assert widest["length_ratio"] < 1
assert without > max(row["bleu"] for row in plain)  # the words it writes are right ones
