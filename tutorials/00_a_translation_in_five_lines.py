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
# # 00 · A translation in five lines
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/00_a_translation_in_five_lines.ipynb)
#
# **What does a trained Transformer do with a sentence?** We load a small English-German model, let
# it translate, and follow the numbers from text to text: pieces, vectors, probabilities, and the
# attention from German to English. This is the whole machine of the paper's section 3; the other
# notebooks take it apart.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Five lines
#
# The model comes with the repository. It has 2 encoder and 2 decoder layers and knows only the
# sentences of a small built-in grammar; that is enough to see every part at work.

# %%
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import aiayn_keras as ak

model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
translation = model.translate(["The girl is happy."])[0]
print(translation.text)
