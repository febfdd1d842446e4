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
# # Solutions to 06c · Your own model learns
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/06c_your_own_model_learns.ipynb)
#
# These are answers to the exercises of [06c · Your own model
# learns](../06c_your_own_model_learns.ipynb).

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

import aiayn_keras as ak

source = np.random.default_rng(1).integers(3, 12, (4000, 6)).astype("int32")
print("sources", source.shape)


# %%
def train(labels, with_positions):
    """Loss of the last of six epochs."""
    keras.utils.set_random_seed(1)
    model = ak.TransformerSeq2SeqLM(ak.TransformerBackbone(12, 2, 4, 32, 64, dropout=0.0))
    if not with_positions:
        for side in ("encoder_embedding", "decoder_embedding"):
            model.backbone.get_layer(side).table *= 0
    reads = np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=1)
    adam = keras.optimizers.Adam(0.003, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(adam, loss, jit_compile=False)
    return model.fit(ak.pack_token_ids(source, reads), labels, 50, 6, 0).history["loss"][-1]


# %% [markdown]
# **1.** Leave the positions out of a model of the package and train it on the same task: set the
# sinusoids to zero, `backbone.get_layer("encoder_embedding").table *= 0`, and do the same for
# `"decoder_embedding"`. How low does its loss get, and why not lower?


# %%
backwards = np.pad(source[:, ::-1], ((0, 0), (0, 1)), constant_values=2)
losses = [train(backwards, with_positions) for with_positions in (True, False)]
print(f"with positions {losses[0]:.2f}, without {losses[1]:.2f} nats per piece")
assert losses[0] < 0.2
assert losses[1] > 0.5

# %% [markdown]
# Without positions the encoder gives every order of the same letters the same vectors, so the
# decoder knows which letters there are, and which of them it has written, but not which comes next.
# It must guess among the letters that are left: first one of six, then one of five, and so on. For
# six different letters that costs ln 6! = 6.6 nats, or 0.94 for each of the seven pieces, and less
# if a letter occurs twice.

# %% [markdown]
# **2.** Now let the model without positions write the letters in *alphabetical* order instead of
# backwards. Does it learn that? Why does it not need positions here?


# %%
alphabetical = np.pad(np.sort(source), ((0, 0), (0, 1)), constant_values=2)
loss = train(alphabetical, with_positions=False)
print(f"alphabetical order, without positions: {loss:.2f} nats per piece")
assert loss < 0.2

# %% [markdown]
# The answer depends only on which letters there are, and how often, not on their order.
