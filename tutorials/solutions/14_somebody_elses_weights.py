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
# # Solutions to 14 · Somebody else's weights
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/14_somebody_elses_weights.ipynb)
#
# These are answers to the exercises of [14 · Somebody else's
# weights](../14_somebody_elses_weights.ipynb).

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

import tempfile
from pathlib import Path

import numpy as np
from keras import ops

import aiayn_keras as ak
from aiayn_keras.convert.tensor_files import read_tensors

# %% [markdown]
# The folder, its tensors and the converted model, as in the lesson:

# %%
ours = ak.TransformerSeq2SeqLM.from_preset("../../saved_models/tatoeba_en_es_keras")
folder = Path(tempfile.mkdtemp()) / "marian_en_es"
ours.export(folder, format="hf_marian")
tensors = read_tensors(folder / "model.safetensors")
converted = ak.TransformerSeq2SeqLM.from_preset(folder)
weights = {weight.path: weight for weight in converted.backbone.weights}
print(f"{len(tensors)} tensors there, {len(weights)} weights here")

# %% [markdown]
# **1.** In the decoder, attention to the source is called `encoder_attn` there and
# `cross_attention` here. Map its four matrices in `decoder.layers.2` by hand, and compare them with
# the converted model.

# %%
NAMES = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
for theirs, place in NAMES.items():
    matrix = tensors[f"model.decoder.layers.2.encoder_attn.{theirs}.weight"]
    path = f"decoder_block_2/cross_attention/{place}/kernel"
    assert np.array_equal(ops.convert_to_numpy(weights[path]), matrix.T)
    print(f"encoder_attn.{theirs:9} → {path}, transposed: equal")

# %% [markdown]
# **2.** Forget one transposition on purpose: give the converted model the query matrix of the first
# encoder layer as it stands in the file. Does anything complain, and what does the model translate?

# %%
sentences = ["The girl is very happy today.", "The bird is in its nest."]
right = converted.translate(sentences)
query = weights["encoder_block_0/self_attention/query/kernel"]
query.assign(ops.convert_to_numpy(query).T)  # as it stands in the file; assign accepts it
wrong = converted.translate(sentences)
for before, after in zip(right, wrong, strict=True):
    print(f"right: {before.text} ({before.score:.2f})")
    print(f"wrong: {after.text} ({after.score:.2f})")
assert wrong[0].text == right[0].text == "La niña está muy feliz hoy."
assert "nido" in right[1].text
assert "nido" not in wrong[1].text

# %% [markdown]
# Nothing complains, since the shape is the same. The first sentence is translated as before, and
# its score has hardly changed, because eight other attentions and the residual connections still
# work. In the second, the rarer word *nest* is lost: in place of *nido* stands *y más*, and more.
# Such a mistake makes translations worse, and later nobody can find the cause. That is why a
# converter is tested by comparing numbers.
