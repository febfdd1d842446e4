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
# # Solutions to 02 · Where am I?
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/02_where_am_i.ipynb)
#
# These are answers to the exercises of [02 · Where am I?](../02_where_am_i.ipynb).

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

import numpy as np

from aiayn_keras import layers

# %% [markdown]
# **1.** Some code puts all sines first and all cosines after them. Show that this is the paper's
# encoding with its columns in a different order. Does that change the dot product of two positions?
# (tensor2tensor's code does this, and also spaces its wavelengths a little differently.)

# %%
D = 256
encoding = layers.sinusoidal_encoding(100, D)
halves = np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)
columns = [*range(0, D, 2), *range(1, D, 2)]
np.testing.assert_array_equal(halves, encoding[:, columns])
columns[:3], columns[-3:]

# %% [markdown]
# These are the same columns in a different order. A sum does not depend on the order of its terms,
# so every dot product stays the same.

# %%
difference = np.abs(halves @ halves.T - encoding @ encoding.T).max()
print(f"largest difference of a dot product: {difference:.6f}")
assert difference < 1e-3

# %% [markdown]
# **2.** In row E of the paper's Table 3 the positions are learned, as by `PositionalEmbedding(1024,
# kind="learned")`. How many numbers does that add for each side at D = 512 and 1,024 positions?
# Does the sinusoidal layer have any weights?


# %%
def weights_of(kind):
    layer = layers.PositionalEmbedding(1_024, kind=kind)
    layer.build((1, 7, 512), (1, 7))
    return layer.count_params()


# %%
print(f"learned {weights_of('learned'):,}, sinusoidal {weights_of('sinusoidal')}")
assert weights_of("learned") == 1_024 * 512 == 524_288
assert weights_of("sinusoidal") == 0
