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
# # Solutions to 00 · A translation in five lines
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/00_a_translation_in_five_lines.ipynb)
#
# These are answers to the exercises of [00 · A translation in five
# lines](../00_a_translation_in_five_lines.ipynb).

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

import aiayn_keras as ak

model = ak.TransformerSeq2SeqLM.from_preset("../../saved_models/tatoeba_en_es_keras")
model.backbone.num_layers

# %% [markdown]
# **1.** `model.score(sources, targets)` gives the log-probability of a translation that you choose.
# By how many nats does the model prefer "La mujer está muy feliz hoy." to the same sentence with
# the wrong article, "El mujer está muy feliz hoy."?

# %%
spanish = ["La mujer está muy feliz hoy.", "El mujer está muy feliz hoy."]
right, wrong = model.score(["The woman is very happy today."] * 2, spanish)
print(f"{right:.2f} - {wrong:.2f} = {right - wrong:.2f} nats")
assert right - wrong > 2.5

# %% [markdown]
# **2.** How many numbers did the training have to find (`model.count_params()`)? What share of them
# is the table of embeddings, with one vector of D numbers for each of the V pieces?

# %%
V, D = model.backbone.vocabulary_size, model.backbone.hidden_dim
print(f"{model.count_params():,} numbers, {V * D / model.count_params():.0%} in the embeddings")
assert (V, D) == (8000, 256)
assert model.count_params() == 7_568_384
