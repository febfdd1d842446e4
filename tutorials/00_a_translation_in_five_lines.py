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
# **What does a trained Transformer do with a sentence?** We load an English-Spanish model, let it
# translate, and follow the numbers from text to text: pieces, vectors, probabilities, and the
# attention from Spanish to English. This is the whole machine that section 3 of ["Attention Is All
# You Need"](https://arxiv.org/abs/1706.03762) (Vaswani et al. 2017) describes. These notebooks
# call that article *the paper*; the later ones take the machine apart.
#
# *Short path, 1 of 9 · 30 minutes · you need some Python and NumPy.* Afterwards you can load a
# model, translate with it, read its score, and say what the encoder, the decoder and attention each
# do. The path goes on with 03 to 08. (The first code cell of every notebook installs the package in
# Google Colab; anywhere else it does nothing.)

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
# The model comes with the repository. It has two halves: the *encoder* reads the English sentence,
# the *decoder* writes the Spanish one. Each half is a stack of *layers*, here three: steps of the
# same form, where each step works on the output of the step before. It was *trained* on 114,000
# everyday sentences, for three minutes on a GPU; later, for not quite three hours on a CPU, it
# also read amounts, labels, letters, news and more words. Its millions of numbers began at random
# and were changed little by little, until the right translations became probable (notebook 07).
# Change the sentence, and run the cell again.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import aiayn_keras as ak

model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
translation = model.translate(["The woman is very happy today."])[0]
print(translation.text)

# %% [markdown]
# The drawing shows what it is made of; read it from the bottom up. (Its colours only tell kinds of
# boxes apart.) You need not know the words in the boxes yet: notebooks 01 to 06a build each of them
# by hand. On the left, the encoder makes one vector for each English piece (a word, or a part of
# one). This output of the encoder is called the *memory*. On the right, every layer of the decoder
# looks at it while the decoder writes.
#
# The letters in brackets are sizes:
#
# - **B** sentences are computed together, as a *batch*.
# - **S** is the number of pieces of the English sentence (source), **T** is the number of pieces of
#   the Spanish one (target) that have been written so far.
# - **D** numbers make up the vector of a piece. So the memory has shape (B, S, D).
# - **V** pieces are in the vocabulary: everything that the model can read and write.
# - **H** and **K** belong to attention: it is computed H times side by side, in *heads*, on
#   vectors of K numbers.
#
# Two letters have two meanings. In `Q Kᵀ` and `Weights × V`, K and V are not sizes but matrices,
# the *keys* and the *values* of notebook 03.

# %%
from drawings import draw_architecture

draw_architecture()

# %% [markdown]
# A translation carries its score: the natural logarithm of the probability that the model gives to
# this whole Spanish sentence, counted in *nats*. A score of 0 would be certainty.
#
# **Predict:** Of all the sentences one could write, what probability does this one get: about a
# quarter, a thousandth, or a millionth?

# %%
import numpy as np

print(f"{translation.score:.3f} nats, a probability of {np.exp(translation.score):.2f}")
assert translation.text == "La mujer está muy feliz hoy."
assert 0.2 < np.exp(translation.score) < 0.3  # about a quarter
assert (model.backbone.num_layers, model.backbone.num_heads) == (3, 4)

# %% [markdown]
# It is about a quarter. (Spanish has two words for *is*: the model chose *está*, for a passing
# state, not *es*, for a lasting one.) A model knows only what its training text showed: it turns a
# sentence about physics into nonsense. Here the low score gives a warning, too; but a model can
# also be sure and wrong.
#
# **Predict:** What will it write for "fermions", a word that it has never read?

# %%
nonsense = model.translate(["Fermions carry half-integer spin."])[0]
print(f"{nonsense.text}   ({nonsense.score:.1f} nats)")
assert nonsense.score < translation.score - 2

# %% [markdown]
# It writes *funciones*, functions, a word that sounds a little like *fermions*. *Llevan*, they
# carry, is right; but *manchas* are stains, and *medio sitio* is half a place.
#
# ## What the model reads
#
# The model knows no letters and no words. A *tokenizer* cuts text into pieces of a fixed vocabulary
# and numbers them; `▁` marks the beginning of a word. A table of whole words is never complete, and
# single letters make long sequences. Pieces lie in between: they are frequent strings of letters,
# from which any word can be put together. Notebook 01 shows where they come from.

# %%
tokenizer = model.preprocessor.tokenizer
source_ids = [*map(int, tokenizer("The woman is very happy today.")), tokenizer.end_token_id]
print(source_ids)
print([tokenizer.id_to_token(i) for i in source_ids])

# %% [markdown]
# ## What the model computes
#
# The encoder reads the whole source and turns it into the memory. The decoder reads the memory and
# the translation *so far*, T pieces that begin with the start token `<s>`. At each of the T
# positions it makes a vector of D numbers, and from that a number for each of the V pieces: the
# larger the number, the more probable it is that this piece comes next. These are the *logits*, of
# shape (B, T, V). The last step is a matrix product with the table of *embeddings*, E, of shape (V,
# D): one vector for each piece of the vocabulary (notebook 02).

# %%
from drawings import draw_shapes

draw_shapes(
    "source ids (B, S)",
    "encoder",
    "memory (B, S, D)",
    "decoder",
    "(B, T, D)",
    "× Eᵀ",
    "logits (B, T, V)",
)

# %% [markdown]
# Now for our one sentence, B = 1. The model also wants a *padding mask* for either side, which is 1
# for real pieces and 0 for those that only fill up the shorter sentences of a batch (notebook 01);
# here all are real. `pack_token_ids` makes the masks. `training=False` says that the model is being
# used, not trained (notebook 06a shows the difference). `keras.ops` computes with Keras' own
# arrays; `ops.convert_to_numpy` makes NumPy arrays of them.

# %%
from keras import ops


def logits_of(decoder_ids):
    """Logits (T, V) after each of the T pieces that the decoder has read."""
    inputs = ak.pack_token_ids([source_ids], [decoder_ids])
    return ops.convert_to_numpy(model(inputs, training=False))[0]


# %%
logits = logits_of([tokenizer.start_token_id])
print(logits.shape)
assert logits.shape == (1, 8000)

# %% [markdown]
# T is 1 here and V is 8,000; `logits_of` has dropped B, since there is only one sentence. The last
# row, `logits[-1]`, says what follows the last piece that was read. The *softmax* turns it into
# probabilities: it takes e to the power of each number, and divides by the sum of all.
#
# **Predict:** "The woman is very happy today." Which pieces could begin its translation?

# %%
probabilities = ops.convert_to_numpy(ops.softmax(logits[-1]))
for i in np.argsort(-probabilities)[:3]:
    print(f"{probabilities[i]:8.4f}  {tokenizer.id_to_token(int(i))}")
assert tokenizer.id_to_token(int(probabilities.argmax())) == "▁La"

# %% [markdown]
# ## From probabilities to a sentence
#
# The simplest search is *greedy*: take the likeliest piece, let the decoder read it too, and go on
# until the end token. A short loop does what `translate` does here. (`log_softmax` is the logarithm
# of the softmax. Probabilities of pieces are multiplied, so their logarithms are added.)

# %%
decoder_ids, score = [tokenizer.start_token_id], 0.0
while decoder_ids[-1] != tokenizer.end_token_id:
    log_probs = ops.convert_to_numpy(ops.log_softmax(logits_of(decoder_ids)[-1]))
    decoder_ids.append(int(log_probs.argmax()))
    score += log_probs.max()
written = [tokenizer.id_to_token(i) for i in decoder_ids[1:-1]]
print(written)

# %% [markdown]
# The pieces are those of `translate`, and the sum of their log-probabilities, the end token's
# included, is its score. (`translate` keeps four candidates at a time, a *beam*; for such an easy
# sentence that changes nothing. Notebook 08 shows when it does.)

# %%
print(f"by the loop {score:.3f}, by translate {translation.score:.3f} nats")
assert tuple(written) == translation.tokens
np.testing.assert_allclose(score, translation.score, atol=1e-3)

# %% [markdown]
# ## Where it looks
#
# While it writes, the decoder looks at the source by means of *attention*: for each piece it
# writes, it spreads a total weight of 1 over the source pieces. We take a sentence whose word order
# changes.

# %%
source = "The old man bought a red car last week."
translation = model.translate([source], return_alignments=True)[0]
print(translation.text)

# %% [markdown]
# The alignment has a row for each of the T Spanish pieces and a column for each of the S English
# ones, the end tokens included. Each row sums to 1, and is named after the piece that is being
# *written*. (The table is the mean of the 4 heads in the decoder's last layer; notebook 05 looks at
# each of them.)
#
# In the words of notebook 03: each row comes from one *query*, the vector with which the decoder
# asks, and each column belongs to one *key*, the vector that stands for an English piece in the
# comparison. The query is made from the pieces *before* the row's own, since that piece is not
# known while it is being written.

# %%
source_pieces = [*map(tokenizer.id_to_token, tokenizer(source)), "</s>"]
target_pieces = [*translation.tokens, "</s>"]
print("alignment (T, S):", translation.alignment.shape)
assert translation.alignment.shape == (len(target_pieces), len(source_pieces)) == (11, 11)
np.testing.assert_allclose(translation.alignment.sum(axis=1), 1, atol=1e-5)

# %% [markdown]
# Each layer and head looks in its own way. In the *attention explorer* you choose a kind of
# attention, a layer and a head, and point at a word. (It is a page with its own script: you see it
# where the notebook runs, not in GitHub's preview. `.save("attention.html")` keeps it.)

# %%
from aiayn_keras.plotting import attention_explorer

attention_explorer(model.attention_maps(source, translation.text))

# %% [markdown]
# Here is the alignment from above as a picture, the mean of the last layer's heads. The darker a
# square, the larger the weight. In pictures, `·` stands for the `▁` at the beginning of a word.
#
# **Predict:** Most words come in the same order in both languages. Where will the order differ?

# %%
from aiayn_keras.plotting import plot_attention

plot_attention(
    translation.alignment,
    source_pieces,
    target_pieces,
    x_label="English piece",
    y_label="Spanish piece being written",
)

# %% [markdown]
# The dark squares run down to the right: most words come in the same order. (`▁anciano` stands for
# two pieces, *old man*, so all later squares lie one column further to the right.) The three
# articles spread their weight over several places. `▁El` looks most at *The* and `▁un` at *a*. The
# English side has no article for `▁la`, which looks most at the word *last*. Notebook 05 finds out
# what else they look for. But Spanish puts the adjective after its noun: `▁coche` looks past `▁red`
# at `▁car`, and `▁rojo` looks back at `▁red`. *Last week* becomes *semana pasada* in the same way.
# Nobody told the model which words belong together; it learned that from sentence pairs alone.

# %%
looked_at = [source_pieces[i] for i in translation.alignment.argmax(axis=1)]
print(
    *(f"{row} -> {column}" for row, column in zip(target_pieces, looked_at, strict=True)), sep="; "
)
assert looked_at[4:6] == ["▁car", "▁red"]
assert looked_at[7:9] == ["▁week", "▁last"]

# %% [markdown]
# ## In three lines
#
# 1. The tokenizer turns text into numbers; the encoder reads the whole source at once.
# 2. After each piece, the decoder gives every possible next piece a probability; a search chooses.
# 3. Attention shows where the decoder looks; here it finds the order of the Spanish words.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/00_a_translation_in_five_lines.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** `model.score(sources, targets)` gives the log-probability of a translation that you choose.
# By how many nats does the model prefer "La mujer está muy feliz hoy." to the same sentence with
# the wrong article, "El mujer está muy feliz hoy."?

# %% [markdown]
# **2.** How many numbers did the training have to find (`model.count_params()`)? What share of them
# is the table of embeddings, with one vector of D numbers for each of the V pieces?

# %% [markdown]
# ## Your turn
#
# Translate a sentence of your own, draw its alignment as above, and find two words whose order is
# reversed. Then translate the same sentence with one word misspelled: what happens to the score?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [01 · Words into pieces](01_words_into_pieces.ipynb); on the short path, [03 · Attention by
# hand](03_attention_by_hand.ipynb)
