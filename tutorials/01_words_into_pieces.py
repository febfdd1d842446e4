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
# # 01 · Words into pieces
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/01_words_into_pieces.ipynb)
#
# **How does text become numbers when a language has more words than any table can hold?** We count
# what a table of words misses, learn subword pieces by hand, and get exactly the pieces of the
# package's tokenizer. We look at the pieces of the included English-Spanish model. Then we build
# the batches that training reads: special ids, padding, and the shift to the right (paper, section
# 5.1).
#
# *35 minutes · you need notebook 00.* Afterwards you can cut a word into pieces by hand, build a
# padded batch, and say what the decoder reads and what it must answer.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import re
from collections import Counter
from itertools import pairwise

import aiayn_keras as ak
from aiayn_keras.data import load_corpus
from drawings import draw_architecture, draw_shapes

draw_architecture("token_ids")

# %% [markdown]
# Blue marks what this notebook makes: the numbers that go in. We begin with sentences from the
# package's small English-German corpus.

# %%
corpus = load_corpus("demo", train_size=5_000, validation_size=0, test_size=1_000)
print(*corpus.train[0], sep="\n")

# %% [markdown]
# ## A table of words is never complete
#
# The naive way is to number every word of the training text.


# %%
def words_of(sentence):
    return re.findall(r"\w+|[^\w\s]", sentence)  # punctuation is a word of its own


# %% [markdown]
# **Predict:** The table is made from 5,000 German sentences. How many of 1,000 new ones have a word
# that is not in it?

# %%
known = {word for sentence in corpus.train.targets for word in words_of(sentence)}
words = [word for sentence in corpus.test.targets for word in words_of(sentence)]
missing = [word for word in words if word not in known]
hit = sum(not known.issuperset(words_of(sentence)) for sentence in corpus.test.targets)
print(f"{len(known):,} words in the table; {hit} of 1,000 new sentences have a word that is not")
print(missing[:3])
assert hit > 20

# %% [markdown]
# German joins words into longer ones, as in *einundsiebzig*, 71; even the words for numbers alone
# would fill a table. The other extreme, single letters, misses nothing but makes sentences long.
# *Byte-pair encoding* (BPE) lies in between: it begins with letters and joins those that often
# occur together.

# %% [markdown]
# ## Learning pieces by hand
#
# Here is a toy text of four words, with the number of times that each occurs. At first every word
# is a row of single letters, after a mark `▁` for the space before it.

# %%
counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
splits = {word: ["▁", *word] for word in counts}
splits["low"]

# %% [markdown]
# We count how often each pair of neighbours occurs in all words together.


# %%
def count_pairs(splits):
    pairs = Counter()
    for word, pieces in splits.items():
        for pair in pairwise(pieces):
            pairs[pair] += counts[word]
    return pairs


count_pairs(splits).most_common(3)

# %% [markdown]
# `e s` occurs in *newest* and *widest*: 6 + 3 = 9 times. Join the most frequent pair, and repeat.


# %%
def join(pieces, pair):
    """The pieces, with `pair` joined wherever it occurs, from left to right."""
    joined = []
    for piece in pieces:
        if joined and (joined[-1], piece) == pair:
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


# %% [markdown]
# **Predict:** After `es`, which two pieces will be joined next?

# %%
assert count_pairs(splits)["e", "s"] == 9
for _ in range(6):
    (pair, count), *_ = count_pairs(splits).most_common(1)
    splits = {word: join(pieces, pair) for word, pieces in splits.items()}
    print(f"{count} times {' + '.join(pair)}")

# %% [markdown]
# After six joins, `est` is a piece: an ending that *newest* and *widest* share. In this way a
# vocabulary grows by one piece with each join, up to the size that we choose.

# %%
print(splits)
assert splits["widest"][-1] == splits["newest"][-1][-3:] == "est"

# %% [markdown]
# ## A vocabulary for two languages
#
# The package learns its pieces from both languages together, because one matrix of *embeddings*, a
# vector for each piece, serves encoder, decoder and output (section 3.4; notebook 02).
# SentencePiece does the counting.

# %%
texts = [*corpus.train.sources, *corpus.train.targets]
tokenizer = ak.TransformerTokenizer.train(texts, vocabulary_size=1_000)
assert tokenizer.vocabulary_size() == 1_000
print([tokenizer.id_to_token(i) for i in range(10)])

# %% [markdown]
# The first four ids are special: padding 0, unknown 1, start 2, end 3. Then come the joins in the
# order in which they were learned, and finally the single letters. So a *lower id means an earlier
# join*, and we can cut a word as the tokenizer does. Of all neighbouring pairs that can be joined,
# we join the one that was learned first, and repeat this until no pair can be joined.


# %%
def cut(word):
    """The pieces of a word: letters, joined in the order of the vocabulary."""
    pieces = ["▁", *word]
    while True:
        pairs = set(pairwise(pieces)) & known_pairs.keys()
        if not pairs:
            return pieces
        pieces = join(pieces, min(pairs, key=known_pairs.get))


# %% [markdown]
# Two pieces may be joined if, written one after the other, they are a piece of the vocabulary.

# %%
ids = {tokenizer.id_to_token(i): i for i in range(4, tokenizer.vocabulary_size())}
known_pairs = {(piece[:k], piece[k:]): i for piece, i in ids.items() for k in range(1, len(piece))}
cut("einundsiebzig")

# %% [markdown]
# These few lines and the package agree on every sentence of the test text.

# %%
for sentence in corpus.test.targets:
    by_hand = [ids[piece] for word in sentence.split() for piece in cut(word)]
    assert by_hand == list(tokenizer(sentence))
print(f"{len(corpus.test.targets):,} sentences cut alike, the last into {len(by_hand)} pieces")

# %% [markdown]
# Nothing is lost from these sentences: the pieces, joined again, are the sentence. (In general the
# tokenizer first makes some characters uniform: two spaces become one, the single character …
# becomes three full stops.) A letter that never occurred in the training text becomes `<unk>`.

# %%
print([tokenizer.id_to_token(i) for i in tokenizer("Tag 日")])
assert tokenizer.detokenize(tokenizer(corpus.test.targets)) == list(corpus.test.targets)
assert tokenizer.unk_token_id in tokenizer("日")

# %% [markdown]
# ## The pieces of a real model
#
# This small corpus comes from a grammar of some 160 base words in all their forms, and numbers. The
# included English-Spanish model learned 8,000 pieces from 114,000 pairs of everyday sentences, by
# the same rule. 256 of them are the bytes, with which it can spell what it has never seen, such as
# 😀.
#
# **Predict:** Which of these words is a single piece, and which is cut into the most pieces:
# *newspaper*, *unbelievable*, *internationalization*?

# %%
real = ak.TransformerTokenizer.from_preset("../saved_models/tatoeba_en_es_keras")
for text in ("A newspaper", "unbelievable", "internationalization", "Quarks carry charge."):
    print(f"{text:22}", [real.id_to_token(i) for i in real(text)])
assert real.vocabulary_size() == 8_000
assert real.detokenize(real("internationalization")) == "internationalization"

# %% [markdown]
# A frequent word stays whole, a rare one is cut, and often not where a linguist would cut it: the
# rule counts pieces and knows nothing of their meaning. Both languages share the table.

# %%
for text in ("The hospital is near the station.", "El hospital está cerca de la estación."):
    print([real.id_to_token(i) for i in real(text)])
assert real.token_to_id("▁hospital") in set(real("The hospital")) & set(real("El hospital"))

# %% [markdown]
# ## Batches
#
# A batch is a rectangle of numbers, but sentences differ in length. The shorter ones are filled up
# with padding, and a mask says what is real.

# %%
draw_shapes("text (B)", "tokenize", "B lists of ids", "add </s>, pad", "ids, mask (B, S)")

# %% [markdown]
# We build one by hand for two sources, each with its end token:

# %%
import numpy as np

sentences = ["Where is the station?", "I forgot my umbrella on the bus."]
rows = [[*real(sentence), real.end_token_id] for sentence in sentences]
token_ids = np.zeros((2, 12), dtype="int32")
for row, ids_of_row in zip(token_ids, rows, strict=True):
    row[: len(ids_of_row)] = ids_of_row
padding_mask = (token_ids != real.pad_token_id).astype("int32")
print(token_ids, padding_mask, sep="\n")

# %% [markdown]
# The preprocessor does the same, and also for the decoder's side. `x` is what the model reads, and
# `y` is what it must answer. `weight` is 0 at padding, so that padding does not count in the loss.

# %%
preprocessor = ak.TransformerSeq2SeqLMPreprocessor(real, 12, 12)
spanish = ["¿Dónde está la estación?", "Olvidé mi paraguas en el autobús."]
x, y, weight = preprocessor({"encoder_text": sentences, "decoder_text": spanish})
x, y, weight = ({name: np.asarray(a) for name, a in x.items()}, np.asarray(y), np.asarray(weight))
np.testing.assert_array_equal(x["encoder_token_ids"], token_ids)
np.testing.assert_array_equal(x["encoder_padding_mask"], padding_mask)
print({name: a.shape for name, a in x.items()}, y.shape, weight.shape)

# %% [markdown]
# ## The shift to the right
#
# At every position the decoder has read the pieces up to that point and must name the next one. So
# what it reads is the answer shifted to the right by one, with the start token `<s>` in front
# (Figure 1, "outputs (shifted right)"). It is given the right pieces rather than its own choices,
# so that all positions can be learned at once (*teacher forcing*, notebook 07).
#
# **Predict:** The first answer is "¿Dónde está la estación?". What must the decoder answer once it
# has read the question mark, too?

# %%
length = int(weight[0].sum())
for read, answer in zip(x["decoder_token_ids"][0, :length], y[0, :length], strict=True):
    print(f"{real.id_to_token(int(read)):>12}  ->  {real.id_to_token(int(answer))}")

# %% [markdown]
# The last answer is the end token; after it comes padding, whose weight is 0.

# %%
print("reads ", x["decoder_token_ids"][0], "answers", y[0], "weight", weight[0], sep="\n")
assert x["decoder_token_ids"][0, 0] == real.start_token_id
np.testing.assert_array_equal(x["decoder_token_ids"][0, 1:length], y[0, : length - 1])
assert y[0, length - 1] == real.end_token_id
np.testing.assert_array_equal(weight != 0, y != real.pad_token_id)

# %% [markdown]
# ## How long is a sentence?
#
# The price of pieces is length. Attention compares every piece with every other, so its cost grows
# with the square of the length (notebook 10). We go back to German, and train tokenizers of
# several sizes.


# %%
def mean_length(tokenizer):
    return np.mean([len(pieces) for pieces in tokenizer(list(corpus.test.targets))])


# %% [markdown]
# **Predict:** When the vocabulary grows from 75 pieces to 1,500, by what factor do sentences become
# shorter?

# %%
sizes = [75, 150, 300, 600, 1_000, 1_500]
lengths = [mean_length(ak.TransformerTokenizer.train(texts, size)) for size in sizes]
for size, length in zip(sizes, lengths, strict=True):
    print(f"{size:5,} pieces in the vocabulary: {length:4.1f} in a sentence")
assert lengths == sorted(lengths, reverse=True)

# %% [markdown]
# For our vocabulary of 1,000 pieces, we compare lengths in pieces with lengths in words, sentence
# by sentence:

# %%
in_words = np.array([len(words_of(sentence)) for sentence in corpus.test.targets])
in_pieces = np.array([len(pieces) for pieces in tokenizer(list(corpus.test.targets))])
in_letters = np.mean([len(sentence) for sentence in corpus.test.targets])
print(f"{in_words.mean():.1f} words, {in_pieces.mean():.1f} pieces, {in_letters:.1f} characters")
assert in_words.mean() < in_pieces.mean() < in_letters

# %%
import matplotlib.pyplot as plt

from aiayn_keras.plotting import COLORS


def plot_lengths(panel):
    bins = np.arange(0.5, 40, 1)
    for counts, name, color in zip((in_words, in_pieces), names, COLORS[:2], strict=True):
        label = f"{name}, mean {counts.mean():.1f}"
        panel.hist(counts, bins, color=color, label=label, histtype="step", linewidth=2)
    panel.set(xlabel="length of a German sentence (words or pieces)", ylabel="sentences of 1,000")


# %%
names = ("words", "pieces")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
plot_lengths(left)
left.legend(frameon=False)
right.plot(sizes, lengths, "o-", color=COLORS[1], label="pieces")
right.axhline(in_words.mean(), color=COLORS[0], linestyle="--", label="words")
right.set(xlabel="size of the vocabulary V (pieces)", ylabel="mean length (words or pieces)")
right.set_ylim(0)
right.legend(frameon=False)
plt.show()

# %% [markdown]
# On the left, pieces make sentences almost a third longer; the longest contain long numbers. On the
# right, with few pieces the text is nearly spelled in letters, and each doubling of the vocabulary
# shortens sentences by less than the one before. The paper uses 37,000 pieces for English and
# German together.

# %% [markdown]
# ## In three lines
#
# 1. With pieces of words, no word is unknown: frequent words stay whole, rare ones are cut.
# 2. Sentences are padded to a rectangle, and a mask remembers what is real.
# 3. The decoder reads the answer shifted to the right by one, after the start token.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/01_words_into_pieces.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Which word of the German test text is cut into the most pieces? What kind of word is it?

# %% [markdown]
# **2.** The paper batches sentences of similar length together (5.1). What share of the decoder's
# positions is padding in batches of 50 sentences, in the given order and sorted by length?

# %% [markdown]
# ## Your turn
#
# Cut ten words of your own with `real`, among them a name and a misspelled word. Which are cut into
# single letters? Then train a tokenizer with `vocabulary_size=200` on a text of your own (every
# different character takes a place, and four are special, so too small a number is an error), and
# look at its first joins.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [02 · Where am I?](02_where_am_i.ipynb)
