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
# # Solutions to 06b · The whole Transformer
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/06b_the_whole_transformer.ipynb)
#
# These are answers to the exercises of [06b · The whole
# Transformer](../06b_the_whole_transformer.ipynb).

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
from keras import ops

import aiayn_keras as ak
from aiayn_keras import layers


# %%
def count(vocabulary_size, N=6, D=512, F=2048):
    attention, feed_forward, norm = 4 * D * D, 2 * D * F + F + D, 2 * D
    blocks = N * (3 * attention + 2 * feed_forward + 5 * norm)
    return vocabulary_size * D + blocks


# %% [markdown]
# **1.** How many parameters would the base model have with *two* matrices of embeddings and a third
# for the output, instead of one for all three? How many does sharing save?


# %%
shared = count(37_000)
untied = shared + 2 * 37_000 * 512
print(f"{shared:,} shared, {untied:,} not; sharing saves {1 - shared / untied:.0%}")
assert shared == 63_045_632
assert untied == 100_933_632

# %% [markdown]
# **2.** `transformer` names one piece. Call it again and again, appending the piece that it finds
# best to the target each time, until it chooses the end piece. Is the sentence the same as
# `model.translate(text, num_beams=1, length_penalty=0.0)`?


# %% [markdown]
# First comes the lesson's `transformer`, here with the package's blocks, and then the loop around
# it.

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../../saved_models/tatoeba_en_es_keras")
backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
E = ops.convert_to_numpy(backbone.token_embedding.embeddings)
print("E", E.shape)


# %%
def embed(ids):
    return (np.sqrt(E.shape[1]) * E[ids] + layers.sinusoidal_encoding(len(ids), E.shape[1]))[None]


def transformer(source_ids, target_ids):
    memory, x = embed(source_ids), embed(target_ids)
    causal = layers.make_causal_mask(np.ones((1, len(target_ids)), dtype="int32"))
    for block in backbone.encoder_blocks:
        memory = block(memory)
    for block in backbone.decoder_blocks:
        x = block(x, memory, causal)
    return ops.convert_to_numpy(x) @ E.T


# %%
text = "My sister works in a hospital."
source, target = [*tokenizer(text), tokenizer.end_token_id], [tokenizer.start_token_id]
while target[-1] != tokenizer.end_token_id:
    target.append(int(transformer(source, target)[0, -1].argmax()))
written = tokenizer.detokenize(target[1:-1])
print(written)
assert written == model.translate([text], num_beams=1, length_penalty=0.0)[0].text
