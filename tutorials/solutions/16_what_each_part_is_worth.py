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
# # Solutions to 16 · What each part is worth
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/16_what_each_part_is_worth.ipynb)
#
# These are answers to the exercises of [16 · What each part is
# worth](../16_what_each_part_is_worth.ipynb).

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
from scipy.stats import ttest_ind, ttest_rel

# %% [markdown]
# **1.** How many seeds of each would it take to see a true difference of 0.4 BLEU, the paper's for
# d_k = 32, nine times out of ten? Take σ = 0.6 and Student's test of one row against the base
# (`scipy.stats.ttest_ind`), p < 0.05, and draw the trainings at random, many times. How many hours
# of one core is that, at eleven minutes per training?


# %%
def share_seen(seeds, difference, sigma=0.6, draws=4000):
    """Share of experiments in which Student's test sees a difference."""
    base = chance.normal(0, sigma, (draws, seeds))
    row = chance.normal(-difference, sigma, (draws, seeds))
    return (ttest_ind(row, base, axis=1).pvalue < 0.05).mean()


# %%
chance = np.random.default_rng(1)
shares = {seeds: share_seen(seeds, 0.4) for seeds in (3, 10, 20, 36, 48, 60)}
for seeds, share in shares.items():
    print(f"{seeds:3} seeds of each: seen in {share:.0%}, {2 * seeds * 11 / 60:.0f} hours")

# %% [markdown]
# It takes some 48 seeds of each, and eighteen hours for one row. With three seeds the test sees the
# difference in about one of ten cases; if there is no difference, it still sees one in one of
# twenty. So here "not seen" says next to nothing. The normal distribution gives nearly the same
# number by hand: n = 2·(1.96 + 1.28)²·σ²/δ² for a difference δ, where 1.96 belongs to p = 0.05 and
# 1.28 to nine out of ten.

# %%
by_hand = 2 * (1.96 + 1.28) ** 2 * (0.6 / 0.4) ** 2
print(f"by hand {by_hand:.0f} seeds")
assert shares[3] < 0.2
assert shares[36] < 0.9 < shares[60]

# %% [markdown]
# **2.** Seeds are shared, so `k8` can be compared with the base seed by seed
# (`scipy.stats.ttest_rel`) or without regard to seeds (`scipy.stats.ttest_ind`). What does each
# say? Somebody computes both and reports the smaller p. How often will they get p < 0.05 although
# both rows are drawn from the same distribution?


# %%
def bleu(name, seed):
    path = Path("../../experiments/results/table3") / f"{name}-{seed}.json"
    return json.loads(path.read_text("utf-8"))["validation"]["bleu"]


k8, base = (np.array([bleu(name, seed) for seed in (1, 2, 3)]) for name in ("k8", "base"))
print("differences, seed by seed:", (k8 - base).round(2))
for name, test in {"seed by seed": ttest_rel, "without seeds": ttest_ind}.items():
    print(f"{name:13} p = {test(k8, base).pvalue:.3f}")

# %% [markdown]
# Seed by seed, p is below 0.05; without regard to seeds, it is not. Both tests are about one row
# alone, without the correction for fourteen rows that the lesson makes, and if seeds are shared,
# the second test is too strict. Either test is right for somebody who chose it *before* looking at
# the results. Now we compute both, for rows that have nothing in common:

# %%
draws = chance.normal(size=(2, 20_000, 3))
p = {"paired": ttest_rel(*draws, axis=1).pvalue, "unpaired": ttest_ind(*draws, axis=1).pvalue}
p["the smaller"] = np.minimum(p["paired"], p["unpaired"])
errs = {name: (values < 0.05).mean() for name, values in p.items()}
print({name: f"{share:.1%}" for name, share in errs.items()})
assert 0.045 < errs["paired"] < 0.055
assert errs["the smaller"] > 0.065

# %% [markdown]
# Each test alone errs in 5 % of cases, as it should. The smaller p of the two errs more often, and
# readers of the report cannot see that. That is why our report names its test, which was chosen
# before, and says which details were chosen afterwards.
