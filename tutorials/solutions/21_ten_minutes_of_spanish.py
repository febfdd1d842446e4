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
# # Solutions to 21 · Ten minutes of Spanish
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/21_ten_minutes_of_spanish.ipynb)
#
# These are answers to the exercises of [21 · Ten minutes of
# Spanish](../21_ten_minutes_of_spanish.ipynb).

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
from itertools import pairwise
from pathlib import Path

reports = json.loads(Path("../data/ten_minutes.json").read_text("utf-8"))["reports"]
print(len(reports), "reports")

# %% [markdown]
# **1.** How many pairs has the model read in ten minutes, if a batch of 1,024 positions holds 66
# pairs on average? How many times is that through the 114,275 pairs for training?

# %%
updates, pairs = reports[-1]["updates"], 114_275
read = updates * 66
print(f"{read:,} pairs, {read / pairs:.1f} times through the training text")
assert round(read / pairs, 1) == 1.9

# %% [markdown]
# The included model has read its text many more times (notebook 11).

# %% [markdown]
# **2.** How many BLEU points does a minute bring, between each report and the next? After minute 1,
# when is it less than 2 for the first time? (The reports are in `data/ten_minutes.json`.)

# %%
gains = []
for one, two in pairwise(reports):
    gains.append((two["bleu"] - one["bleu"]) / (two["minutes"] - one["minutes"]))
    print(f"{one['minutes']:4} to {two['minutes']:4} minutes: {gains[-1]:5.1f} BLEU per minute")
first = next(i for i, gain in enumerate(gains) if gain < 2 and reports[i]["minutes"] >= 1)
print(f"below 2 after minute {reports[first]['minutes']}")
assert reports[first]["minutes"] == 6

# %% [markdown]
# It is after six minutes. But from eight minutes on, a minute brings more than it does from six on.
# BLEU on 300 sentences goes up and down by more than such differences, so this *first time* says
# little.
