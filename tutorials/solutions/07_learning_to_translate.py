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
# # Solutions to 07 · Learning to translate
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/07_learning_to_translate.ipynb)
#
# These are answers to the exercises of [07 · Learning to
# translate](../07_learning_to_translate.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
import numpy as np

import aiayn_keras as ak
from aiayn_keras.optimization import label_smoothed_cross_entropy

# %% [markdown]
# **1.** With label smoothing the best logits are finite: by how much must the right piece's logit
# exceed all the others, which are equal, to give exactly the smoothed target? Compute it for V =
# 1,000 and ε = 0.1, and check that the loss there is the floor. What would it be with ε = 0?

# %% [markdown]
# Softmax turns differences of logits into ratios of probabilities. With ε = 0 the ratio, and so
# the difference, would be infinite.

# %%
V, epsilon = 1000, 0.1
off_label = epsilon / V
on_label = 1 - epsilon + off_label
floor = -(on_label * np.log(on_label) + (V - 1) * off_label * np.log(off_label))
gap = np.log(on_label / off_label)
logits = np.zeros((1, 1, V), "float32")
logits[0, 0, 7] = gap
loss = label_smoothed_cross_entropy(np.array([[7]]), logits, epsilon)
print(f"{gap:.2f} above the others; loss {float(loss[0, 0]):.4f}, floor {floor:.4f}")
np.testing.assert_allclose(loss[0, 0], floor, rtol=1e-5)
assert 9.10 < gap < 9.11

# %% [markdown]
# **2.** With `gradient_accumulation_steps=2` the optimizer makes one update from two batches, but
# the step that it passes to the schedule is its count of *batches*. So `WarmupSchedule` has an
# argument of the same name, which corrects the count. If batches and updates are both counted from
# 0, which update does batch 10 belong to? And how many updates does the warm-up take with
# `warmup_steps=80` if that argument is left out?

# %% [markdown]
# Batches 10 and 11 make update 5. Without the argument the schedule counts each batch as an update,
# so the warm-up ends with the eightieth batch. That is after 40 updates instead of 80.

# %%
with_it = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80, gradient_accumulation_steps=2)
without = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80)
print(f"rate with it: batch 10 {float(with_it(10)):.6f}, batch 11 {float(with_it(11)):.6f}")
print(f"equation 3:   update 5 {float(without(5)):.6f}")
assert float(with_it(10)) == float(with_it(11)) == float(without(5))
for name, schedule in (("with it", with_it), ("without", without)):
    peak = int(np.argmax([float(schedule(batch)) for batch in range(400)]))
    print(f"{name}: highest from batch {peak} on, in update {peak // 2}, both counted from 0")
    assert peak // 2 == {"with it": 79, "without": 39}[name]
