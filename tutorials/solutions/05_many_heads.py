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
# # Solutions to 05 · Many heads
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/05_many_heads.ipynb)
#
# These are answers to the exercises of [05 · Many heads](../05_many_heads.ipynb).

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

import aiayn_keras as ak
from aiayn_keras import layers

# %% [markdown]
# **1.** Switch the heads of the last decoder layer's attention to the source off, one at a time,
# and measure by `model.score` how many nats each costs the translation of four sentences of your
# own. Is the same head the most expensive in all four?

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../../saved_models/tatoeba_en_es_keras")
pairs = {
    "The old man bought a red car last week.": "El anciano compró un coche rojo la semana pasada.",
    "My sister works in a hospital.": "Mi hermana trabaja en un hospital.",
    "I forgot my umbrella on the bus again.": "Olvidé mi paraguas en el autobús otra vez.",
    "She opened the windows because it was hot.": "Ella abrió las ventanas porque hacía calor.",
}
whole = model.score(list(pairs), list(pairs.values()))
print(np.round(whole, 2))

# %%
kernel = model.backbone.decoder_blocks[-1].cross_attention.output_dense.kernel
trained, K, costs = ops.convert_to_numpy(kernel), model.backbone.hidden_dim // 4, []
for head in range(4):
    without = trained.copy()
    without[head * K : (head + 1) * K] = 0
    kernel.assign(without)
    costs.append(np.subtract(whole, model.score(list(pairs), list(pairs.values()))))
kernel.assign(trained)
costs = np.array(costs)  # (heads, sentences)
costs.shape

# %%
for source, cost in zip(pairs, costs.T, strict=True):
    print("  ".join(f"head {h}: {x:5.2f}" for h, x in enumerate(cost, 1)), "nats ", source)
print("  ".join(f"head {h}: {x:5.2f}" for h, x in enumerate(costs.mean(axis=1), 1)), "nats  mean")
assert len(set(costs.argmax(axis=0))) >= 2
assert (costs.mean(axis=1) > 0.2).all()
assert costs[3, 3] < 0  # head 4, last sentence

# %% [markdown]
# No. Different sentences need different heads most. On average, switching off any of the four costs
# something, but the last translation even becomes more probable without head 4. A mean over four
# sentences says little about which head is the most useful.

# %% [markdown]
# **2.** Does the order of the heads matter? Put them in a different order, in all four matrices,
# and show that the layer stays the same.

# %%
keras.utils.set_random_seed(1)
B, T, S, H, K = 2, 7, 5, 3, 4
D = H * K
query = np.random.normal(size=(B, T, D)).astype("float32")
memory = np.random.normal(size=(B, S, D)).astype("float32")
layer, other = (layers.MultiHeadAttention(num_heads=H, key_dim=K) for _ in range(2))
output = ops.convert_to_numpy(layer(query, memory))
W_Q, W_K, W_V, W_O = layer.get_weights()
output.shape

# %%
order = [2, 0, 1]  # head 3 comes first
columns = np.arange(D).reshape(H, K)[order].reshape(-1)
other.build(query.shape, memory.shape)
other.set_weights([W_Q[:, columns], W_K[:, columns], W_V[:, columns], W_O[columns]])
difference = np.abs(other(query, memory) - output).max()
print(f"columns {columns}, largest difference {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# No. If the columns of W_Q, W_K and W_V and the rows of W_O are reordered in the same way, the
# output is the same sum of heads with its terms in a different order.
