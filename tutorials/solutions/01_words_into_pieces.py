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
# # Solutions to 01 · Words into pieces
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/01_words_into_pieces.ipynb)
#
# These are answers to the exercises of [01 · Words into pieces](../01_words_into_pieces.ipynb).

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

import re

import numpy as np

import aiayn_keras as ak
from aiayn_keras.data import load_corpus

# %%
corpus = load_corpus("demo", train_size=5_000, validation_size=0, test_size=1_000)
texts = [*corpus.train.sources, *corpus.train.targets]
tokenizer = ak.TransformerTokenizer.train(texts, vocabulary_size=1_000)
in_pieces = np.array([len(pieces) for pieces in tokenizer(list(corpus.test.targets))])
print(f"{len(in_pieces):,} sentences, {in_pieces.mean():.1f} pieces each")

# %% [markdown]
# **1.** Which word of the German test text is cut into the most pieces? What kind of word is it?

# %%
words = {word for sentence in corpus.test.targets for word in re.findall(r"\w+", sentence)}
longest = max(sorted(words), key=lambda word: len(tokenizer(word)))
print(longest, [tokenizer.id_to_token(i) for i in tokenizer(longest)])
assert "tausend" in longest

# %% [markdown]
# It is a number: German writes a number as one word, and there are so many numbers that each of
# them is rare.

# %% [markdown]
# **2.** The paper batches sentences of similar length together (5.1). What share of the decoder's
# positions is padding in batches of 50 sentences, in the given order and sorted by length?


# %%
def padding_share(lengths):
    batches = np.reshape(lengths, (-1, 50))
    return 1 - batches.sum() / (batches.max(axis=1) * 50).sum()


# %%
positions = in_pieces + 1  # the start token's, too
as_given, by_length = padding_share(positions), padding_share(np.sort(positions))
print(f"{as_given:.0%} as given, {by_length:.0%} by length")
assert by_length < as_given / 4
