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
# To the exercises of [07 · Learning to translate](../07_learning_to_translate.ipynb).

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
# lie above each other's to give exactly the smoothed target? Compute it for V = 1,000 and ε = 0.1,
# and check that the loss there is the floor. What would it be with ε = 0?

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
# **2.** With `gradient_accumulation_steps=2` the optimizer adds up the gradients of two batches
# before each update, but hands the schedule its count of *batches*. Which update does batch 10
# (counted from 0) belong to, and what happens to the warm-up if the schedule is not told?

# %% [markdown]
# Batches 10 and 11 make update 5, counted from 0. Not told, the rate is at its peak after 80
# batches, that is after 40 updates: twice too fast.

# %%
told = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80, gradient_accumulation_steps=2)
not_told = ak.WarmupSchedule(hidden_dim=128, warmup_steps=80)
peak = np.argmax([float(not_told(batch)) for batch in range(400)])
print(f"batch 10: {float(told(10)):.6f}, update 5: {float(not_told(5)):.6f}")
print(f"not told, the peak is at batch {peak}, update {peak // 2}")
assert float(told(10)) == float(not_told(5))
assert peak // 2 == 39
