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
# # Solutions to 20 · Fine-tuning
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/20_fine_tuning.ipynb)
#
# These are answers to the exercises of [20 · Fine-tuning](../20_fine_tuning.ipynb).

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials/solutions")

# %%
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import keras
import numpy as np
from keras import ops

from aiayn_keras.data import ParallelText, mix_texts

# %% [markdown]
# **1.** A and B of rank r have 2·D·r numbers. At which rank is that as many as in W, for D = 128
# and D = 1,024? And show that a plain dense layer with the merged matrix W + A·B computes the same
# as the adapted layer.


# %%
def adapter_numbers(D, rank):
    return 2 * D * rank


for D in (128, 1024):
    rank = next(r for r in range(1, D + 1) if adapter_numbers(D, r) >= D * D)
    print(f"D = {D}: rank {rank}; at rank 4 it is {adapter_numbers(D, 4) / D**2:.1%} of W")
    assert rank == D // 2

# %% [markdown]
# It is at half the width, since D·r + r·D = D². The wider the matrix, the more a small rank saves.

# %%
rng = np.random.default_rng(1)
dense, merged = (keras.layers.Dense(128, use_bias=False) for _ in range(2))
x = rng.normal(size=(5, 128)).astype("float32")
merged(dense(x))
W = ops.convert_to_numpy(dense.kernel)
dense.enable_lora(rank=4)
A = ops.convert_to_numpy(dense.lora_kernel_a)
B = rng.normal(size=(4, 128)).astype("float32")
dense.lora_kernel_b.assign(B)
merged.set_weights([W + A @ B])
print("largest difference:", f"{np.abs(ops.convert_to_numpy(dense(x) - merged(x))).max():.0e}")
np.testing.assert_allclose(dense(x), merged(x), rtol=1e-3, atol=1e-3)

# %% [markdown]
# **2.** There are 1,500 kitchen pairs and 5,000 general ones. What does `mix_texts` do for a share
# of 0.8? Say how often it takes each kitchen pair, and how many general pairs it draws; then check.

# %%
kitchen = ParallelText(*([f"k{i}" for i in range(1_500)] for _ in "st"), name="kitchen")
general = ParallelText(*([f"g{i}" for i in range(5_000)] for _ in "st"), name="general")
mixed = mix_texts(kitchen, general, share=0.8, seed=1)
kinds = [source[0] for source in mixed.sources]
drawn = [source for source in mixed.sources if source.startswith("g")]
print(f"{kinds.count('k'):,} of the kitchen, {len(drawn):,} general, {len(set(drawn)):,} different")
assert (kinds.count("k"), len(drawn), len(set(drawn))) == (1_500, 6_000, 5_000)

# %% [markdown]
# A share of 0.8 means four general pairs for each kitchen pair. That makes 6,000, but there are
# only 5,000. So each kitchen pair is taken once, and 1,000 of the general pairs twice.
