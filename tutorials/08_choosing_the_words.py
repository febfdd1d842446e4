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
# # 08 · Choosing the words
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/08_choosing_the_words.ipynb)
#
# **How does one choose the best sentence when nobody can try them all?** A model only says how
# probable the next piece is. We search a table of next pieces that is small enough to try every
# sentence: first greedily, then with a beam, then with the length penalty of the paper's section
# 6.1. The results are compared with the package's own search, which then translates real sentences.
# At the end we draw our search as a tree.
#
# *Short path, 9 of 9 · 50 minutes · you need notebook 00.* Afterwards you can run a beam search by
# hand and say what its width and its length penalty do. The short path ends before "Why not draw
# the next piece?"; that section and the tree are a bonus.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Where we are
#
# Blue marks the subject of this notebook: the softmax gives a probability to every next piece, and
# the search chooses among them.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture, draw_shapes

draw_architecture("softmax", "search")

# %% [markdown]
# ## A language of six pieces
#
# We translate German *es regnet*, "it rains". Our model is a table: row *a*, column *b* holds the
# probability that the piece *b* follows the piece *a*. The six pieces are whole words, so their
# list is called `words`. `<s>` starts a sentence, and `</s>` ends it. (A real model looks at the
# source and at all earlier pieces. The search is the same for both.)

# %%
from itertools import pairwise

import keras
import numpy as np

import aiayn_keras as ak

PAD, START, END = 0, 1, 2
words = ["<pad>", "<s>", "</s>", "it", "the", "rain", "rains", "falls", "now"]

# %%
follows = {
    "<s>": {"the": 0.45, "it": 0.35, "rain": 0.20},
    "the": {"rain": 0.55, "falls": 0.25, "now": 0.20},
    "it": {"rains": 0.90, "falls": 0.10},
    "rain": {"falls": 0.70, "</s>": 0.30},
    "rains": {"</s>": 0.53, "now": 0.47},
    "falls": {"</s>": 0.80, "now": 0.20},
    "now": {"</s>": 1.00},
}

# %% [markdown]
# We turn it into a matrix of logarithms. A pair of pieces that is not listed gets a probability of
# nearly 0:


# %%
def log_table_of(follows):
    """Log-probabilities (V, V) in nats: row, then column."""
    table = np.full((len(words), len(words)), 1e-9)  # never, whose logarithm is still a number
    for first, row in follows.items():
        for second, probability in row.items():
            table[words.index(first), words.index(second)] = probability
    return np.log(table).astype("float32")


# %%
log_table = log_table_of(follows)
V = len(words)
print("after <s>:", {words[i]: round(float(log_table[START, i]), 2) for i in (3, 4, 5)})
assert log_table.shape == (V, V)
np.testing.assert_allclose(np.exp(log_table[START]).sum(), 1, atol=1e-6)

# %% [markdown]
# The probability of a sentence is the product of its steps, so its log-probability is a **sum**.
# The end token counts too: its probability is that of stopping at this point.


# %%
def log_probability(ids):
    return sum(log_table[a, b] for a, b in pairwise(ids))


def text_of(ids):
    return " ".join(words[i] for i in ids if i > END)


# %%
it_rains = (START, words.index("it"), words.index("rains"), END)
print(f"it rains: {log_probability(it_rains):.3f} = log {np.exp(log_probability(it_rains)):.3f}")
np.testing.assert_allclose(np.exp(log_probability(it_rains)), 0.35 * 0.90 * 0.53, rtol=1e-5)

# %% [markdown]
# ## Greedy: take the best piece, each time
#
# **Predict:** Follow the table of probabilities with your finger. If you always take the most
# probable next piece, what sentence do you get? Is it more probable than *it rains*?

# %%
ids = [START]
while ids[-1] != END:
    ids.append(int(log_table[ids[-1]].argmax()))
greedy = tuple(ids)
print(f"greedy: {text_of(greedy)}, {log_probability(greedy):.3f}")

# %% [markdown]
# ## Try everything
#
# With at most four pieces before the end there are few sentences, and we can list them all.


# %%
def all_sentences(ids=(START,), max_words=4):
    yield (*ids, END)
    if len(ids) <= max_words:
        for piece in range(3, V):
            yield from all_sentences((*ids, piece), max_words)


# %%
ranking = sorted(all_sentences(), key=log_probability, reverse=True)
print(f"{len(ranking):,} sentences; the best:")
for ids in ranking[:4]:
    print(f"{log_probability(ids):.3f}  {text_of(ids)}")
assert len(ranking) == sum(6**n for n in range(5)) == 1555
assert ranking[0] == it_rains != greedy
assert log_probability(greedy) < log_probability(ranking[0])

# %% [markdown]
# *it rains* is the best. Greedy search missed it: it took *the*, the best first piece, which led to
# worse ones. The best next piece need not begin the best sentence.
#
# ## A beam: keep the best W
#
# Beam search keeps the W best unfinished sentences ("live") instead of one. A step has three parts;
# below there is a function for each:
#
# - **Grow**: append every piece to every live sentence, and keep the best 2·W of these
#   *candidates*. Each of the W live sentences can end in only one way, with `</s>`. So at most W of
#   the 2·W candidates end, and at least W are left to go on with.
# - **Finish**: a candidate that ends is finished if it is among the best W, and its score never
#   changes again. If it ends but is only in places W + 1 to 2·W, it is dropped.
# - **Go on**: the best W of those that do not end are the live sentences of the next step.
#
# For B source sentences at once, the log-probabilities of a step have these shapes:

# %%
draw_shapes("live (B, W)", "+ (B, W, V)", "(B, W·V)", "grow", "(B, 2·W)", "go on", "live (B, W)")

# %% [markdown]
# We write these functions for one source sentence:


# %%
def grow(live, W, must_end=False, table=log_table):
    """The best 2·W candidates, as pairs of ids and log-probability, best first."""
    candidates = []
    for ids, score in live:
        for piece in [END] if must_end else range(END, V):
            candidates.append(((*ids, piece), score + float(table[ids[-1], piece])))
    return sorted(candidates, key=lambda pair: pair[1], reverse=True)[: 2 * W]


# %%
def finish(candidates, W):
    return [(ids, score) for ids, score in candidates[:W] if ids[-1] == END]


def go_on(candidates, W):
    return [(ids, score) for ids, score in candidates if ids[-1] != END][:W]


# %%
candidates = grow([((START,), 0.0)], W=2)
live, finished = go_on(candidates, W=2), finish(candidates, W=2)
print([(text_of(ids), round(score, 2)) for ids, score in live], len(finished), "finished")
assert [text_of(ids) for ids, _ in live] == ["the", "it"]

# %% [markdown]
# Log-probabilities are negative and only fall as pieces are added, so a long sentence is at a
# disadvantage. The **length penalty** divides the log-probability by $((5 + |y|) / 6)^\alpha$,
# where |y| counts the pieces and the end. In spite of its name it favours long sentences. The
# longer a sentence is, the larger the divisor of its negative log-probability, and the
# closer the result comes to 0. With α = 0 nothing is divided: the search looks for the most
# probable sentence, and so prefers short ones. The paper uses 0.6.


# %%
def normalized(pair, alpha):
    ids, score = pair
    length = len(ids) - 1  # <s> does not count
    return score / ((5 + length) / 6) ** alpha


# %%
def beam_search(W, alpha, max_words=4, table=log_table):
    live, finished = [((START,), 0.0)], []
    for num_words in range(max_words + 1):
        candidates = grow(live, W, must_end=num_words == max_words, table=table)
        finished += finish(candidates, W)
        live = go_on(candidates, W)
    return sorted(finished, key=lambda pair: normalized(pair, alpha), reverse=True)[:W]


# %% [markdown]
# **Predict:** Greedy search lost *it rains*. What do one beam and two beams find, with α = 0?

# %%
for W in (1, 2):
    ids, score = beam_search(W, alpha=0)[0]
    print(f"{W} beam(s): {score:.3f}  {text_of(ids)}")
assert beam_search(1, alpha=0)[0][0] == greedy
assert beam_search(2, alpha=0)[0][0] == ranking[0]

# %% [markdown]
# Two beams find the best sentence of all, because the second beam kept *it* alive. One beam finds
# what greedy search finds.
#
# ## The length penalty changes the winner
#
# **Predict:** *it rains* scores −1.790 and *it rains now* −1.910, and two beams finish both. Which
# of the two wins with α = 0.6?

# %%
for alpha in (0.0, 0.6):
    print(f"α = {alpha}")
    for ids, score in beam_search(2, alpha):
        print(f"  {normalized((ids, score), alpha):.3f} (plain {score:.3f})  {text_of(ids)}")
assert text_of(beam_search(2, 0.0)[0][0]) == "it rains"
assert text_of(beam_search(2, 0.6)[0][0]) == "it rains now"

# %% [markdown]
# With α = 0 *it rains* wins, with 0.6 *it rains now*. No α is right for all models and texts: it is
# chosen by trying several on validation data. [Notebook 11](11_real_sentences.ipynb) shows what it
# does to BLEU.
#
# ## One beam is not always greedy
#
# Greedy search stops at its first end. A beam search goes on, because it still has a live sentence
# beside the finished one. Can the live one still win? A second table shows it:

# %%
close = {
    "<s>": {"rain": 1.0},
    "rain": {"</s>": 0.50, "now": 0.49, "falls": 0.01},
    "now": {"</s>": 1.0},
    "falls": {"</s>": 1.0},
}

# %% [markdown]
# **Predict:** Greedy search writes *rain*. Which sentence does one beam choose with α = 0, and
# which with α = 0.6?

# %%
for alpha in (0.0, 0.6):
    (best,) = beam_search(1, alpha, table=log_table_of(close))
    print(f"α = {alpha}: {text_of(best[0]):8}", f"{best[1]:.3f} → {normalized(best, alpha):.3f}")
    assert text_of(best[0]) == {0.0: "rain", 0.6: "rain now"}[alpha]

# %% [markdown]
# With α = 0 it cannot: the live sentence is already less probable than the finished one, and its
# probability can only fall further. With a length penalty it can: the log-probability of *rain
# now*, −0.713, is a little below that of *rain*, −0.693, but it is divided by more. So greedy
# search is a beam of one **with α = 0**.
#
# ## A wider beam can lose
#
# Above, two beams found a more probable sentence than one. That is usual, but not a law. A third
# table shows an exception:

# %%
crowded = {
    "<s>": {"the": 0.52, "it": 0.48},
    "the": {"rain": 0.40, "falls": 0.30, "now": 0.30},
    "it": {"rains": 0.52, "falls": 0.48},
    "rain": {"</s>": 1.00},
    "rains": {"</s>": 0.60, "now": 0.40},
    "falls": {"</s>": 0.60, "now": 0.40},
    "now": {"</s>": 1.00},
}

# %% [markdown]
# **Predict:** One beam finds *the rain*, with probability 0.52 · 0.40 · 1 = 0.208. What do two
# beams find, and what do three?

# %%
for W in (1, 2, 3):
    ids, score = beam_search(W, alpha=0, table=log_table_of(crowded))[0]
    print(f"{W} beam(s): {score:.3f} = log {np.exp(score):.3f}  {text_of(ids)}")
    assert text_of(ids) == {1: "the rain", 2: "it rains", 3: "the rain"}[W]

# %% [markdown]
# Two beams end with a **less** probable sentence than one. They keep *it* alive, and at the next
# step *it rains* (0.250) and *it falls* (0.230) are both ahead of *the rain* (0.208), which is cut.
# The cost appears only one step later. *it rains* and *it falls* end with probability 0.60, so
# 0.150 and 0.138 are left of their probabilities, while *the rain* would have ended with
# probability 1 and kept its 0.208. A search knows what a sentence has cost so far, not what it is
# going to cost.
#
# And a more probable sentence need not be a better translation: in [notebook
# 11](11_real_sentences.ipynb) sixteen beams with α = 0 reach a *lower* BLEU than four, because the
# most probable translations are too short.
#
# ## The package's search on the same tables
#
# The package's search asks any function for the logits of the next piece, given the pieces so far.
# Our function looks them up in the table. It stores nothing from step to step; models do, in the
# `cache` (notebook 09). (`min_length=0` allows empty sentences, as our own search does.)


# %%
def package_search(W, alpha, max_words=4, table=log_table):
    def next_token(token_ids, cache, index):
        last = keras.ops.take(token_ids, index - 1, axis=1)
        return keras.ops.take(table, last, axis=0), None, cache

    options = {"num_beams": W, "length_penalty": alpha, "num_return_sequences": W}
    limits = {"min_length": 0, "max_length": max_words, "forbidden_token_ids": (PAD, START)}
    ids, scores = ak.search_tokens(next_token, [START], END, **options, **limits)
    return np.array(ids)[0], np.array(scores)[0]


# %%
cases = [(follows, 1), (follows, 2), (follows, 4), (close, 1), (crowded, 2), (crowded, 3)]
for language, W in cases:
    table = log_table_of(language)
    for alpha in (0.0, 0.6):
        ids, scores = package_search(W, alpha, table=table)
        expected = beam_search(W, alpha, table=table)
        np.testing.assert_allclose(scores, [score for _, score in expected], rtol=1e-4)
        for row, (sentence, _) in zip(ids.tolist(), expected, strict=True):
            assert tuple(row[: len(sentence)]) == sentence
        print(f"{W} beam(s), α = {alpha}: {text_of(ids[0])} {scores[0]:.3f}, both searches")

# %% [markdown]
# ## The same search with a real model
#
# The included model translates everyday English into Spanish. `translate` is a beam search, with 4
# beams and α = 0.6 unless told otherwise; with one beam and α = 0 it is greedy.

# %%
sentences = [
    "I can't help laughing.",
    "It's raining cats and dogs.",
    "The cat that the dog chased ran up a tree.",
    "Am I still your boyfriend?",
    "I hugged her.",
]

# %% [markdown]
# **Predict:** For how many of these five sentences does a search with four beams find a more
# probable translation than greedy search?

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
greedily = model.translate(sentences, num_beams=1, length_penalty=0.0)
searched = model.translate(sentences, num_beams=4)
for one, four in zip(greedily, searched, strict=True):
    print(f"greedy  {one.score:6.2f}  {one.text}")
    print(f"4 beams {four.score:6.2f}  {'the same' if four.text == one.text else four.text}")
better = sum(b.score > a.score + 1e-3 for a, b in zip(greedily, searched, strict=True))
print(f"\n{better} of {len(sentences)}")
assert 0 < better < len(sentences)

# %% [markdown]
# For three of the five, four beams find what greedy search finds. In the fourth, greedy search asks
# whether something goes on in your boyfriend; the more probable translation is right. In the fifth
# it is the other way round: *abracé* is right, and the more probable *abrazé* is misspelled, since
# Spanish writes no *z* before *e*. And what both find may be wrong: the dog chases the cat *to* a
# tree. The search finds what the model considers probable: it does not know more than the model.
#
# `translate` also returns the runners-up, best first. In Spanish it rains *a cántaros*, in
# pitchers; this model knows only cats and dogs. (The second has a higher log-probability than the
# first, but fewer pieces: the length penalty has decided.)

# %%
best = model.translate(sentences[1:2], num_beams=4, num_return_sequences=4)[0]
for hypothesis in best.hypotheses:
    print(f"{hypothesis.score:8.3f}  {hypothesis.text}")

# %% [markdown]
# The score of each is what `model.score` gives when it reads the finished sentence: a search must
# report the same number as the model.

# %%
texts = [hypothesis.text for hypothesis in best.hypotheses]
read = model.score(sentences[1:2] * 4, texts)
print(f"{'searched':>10} {'read':>10}")
for hypothesis, score in zip(best.hypotheses, read, strict=True):
    print(f"{hypothesis.score:10.4f} {score:10.4f}")
assert len(set(texts)) == 4
np.testing.assert_allclose(read[0], best.score, atol=1e-3)

# %% [markdown]
# You can play such a search step by step. Choose the number of beams and α, and watch which beams
# live, finish and die. (It is a page with its own script: you see it where the notebook runs, and
# in the web site that `make book` builds, but not in GitHub's preview.)

# %%
from aiayn_keras.plotting import decoding_steps

decoding_steps(model.record_search(sentences[1], beam_counts=(1, 2, 4)))

# %% [markdown]
# ## Why not draw the next piece?
#
# Chat models mostly do not search: they draw each piece at random, according to its probability. A
# *temperature* τ makes the draw bolder or more cautious: the logits are divided by it before the
# softmax. Below 1 it favours what is already probable, and near 0 it is greedy; above 1 it gives
# the improbable a better chance.
#
# **Predict:** After `<s>` our table has *the* 0.45, *it* 0.35, *rain* 0.20. What becomes of the
# 0.20 at τ = 0.5, where each probability is squared and then divided by the sum?

# %%
for temperature in (0.5, 1.0, 1.5):
    weight = np.exp(log_table[START] / temperature)
    drawn = {word: weight[words.index(word)] / weight.sum() for word in ("the", "it", "rain")}
    print(f"τ = {temperature}:", *(f"{word} {p:.2f}" for word, p in drawn.items()))
    if temperature == 0.5:
        np.testing.assert_allclose(drawn["rain"], 0.2**2 / (0.45**2 + 0.35**2 + 0.2**2), rtol=1e-5)

# %% [markdown]
# Now we use the real model. First comes the translation that the search finds, with its
# log-probability.

# %%
english, scores = "My sister is a doctor and she is tired.", {}
(found,) = model.translate([english])
print(f"{found.score:.2f}  {found.text}")

# %% [markdown]
# Next we translate the same sentence four times at each temperature. `generate` is the way to write
# text in KerasHub, the library of models that this package builds on, and KerasHub's samplers draw.
# What they draw depends on the machine, so draws are kept in a file. (They come from an earlier
# state of the model, which has been trained further since.) Set `DRAW_AGAIN` to `True` for draws of
# your own. The number before each text is its log-probability, computed here.

# %%
import json
from pathlib import Path

from keras_hub.samplers import RandomSampler, TopKSampler

# %%
DRAW_AGAIN = False
kept_draws = json.loads(Path("data/drawn_translations.json").read_text("utf-8"))


def draw_four(sampler, name):
    model.compile(sampler=sampler)
    return list(model.generate([english] * 4)) if DRAW_AGAIN else kept_draws[name]


print(*kept_draws, sep=", ")


# %% [markdown]
# **Predict:** Is a translation drawn at τ = 1 usually as good as the one found by search?

# %%
for temperature in (0.5, 1.0, 1.5):
    sampler = RandomSampler(temperature=temperature, seed=1)
    drawn = draw_four(sampler, f"temperature {temperature}")
    scores[temperature] = model.score([english] * 4, drawn)
    print(f"τ = {temperature}")
    for text, score in zip(drawn, scores[temperature], strict=True):
        print(f"  {score:7.2f}  {text[:66]}")
assert found.score + 1e-3 > scores[0.5].mean() > scores[1.0].mean() > scores[1.5].mean()

# %% [markdown]
# Not reliably. At τ = 0.5 all four are as good as what the search found: *doctora* and *médica* are
# both words for a woman who is a doctor. At τ = 1 two are good, and two have a piece that makes no
# sense. At τ = 1.5 all are nonsense: one wrong piece leads to the next. Label smoothing (notebook
# 07) explains how this can happen: it teaches the model to leave a probability of 0.1 to all the
# other pieces *together*. A temperature above 1 makes that share larger.

# %%
pieces, temperature = model.backbone.vocabulary_size, 1.5
best, others = 0.9 ** (1 / temperature), pieces * (0.1 / pieces) ** (1 / temperature)
print(f"{pieces:,} pieces; the others have {others / (others + best):.0%} at τ = 1.5")
assert others / (others + best) > 0.75

# %% [markdown]
# There are two ways to keep them out: draw from the k most probable pieces only (**top-k**, [Fan et
# al. 2018](https://aclanthology.org/P18-1082)), or from the fewest that together hold a share p of
# the probability (**top-p**, [Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)). The
# probabilities that are kept are divided by their sum, and a piece is drawn from them.
#
# **Predict:** After `<s>` our table has *the* 0.45, *it* 0.35, *rain* 0.20. Which words does top-k
# keep with k = 2, and which does top-p keep with p = 0.4 and with p = 0.9?

# %%
first = np.exp(log_table[START])
order = np.argsort(-first)  # the most probable word first
sums = np.cumsum(first[order])
kept = {"k = 2": order[:2]}
for p in (0.4, 0.9):
    kept[f"p = {p}"] = order[: 1 + np.sum(sums < p)]  # up to the word that reaches p
for name, ids in kept.items():
    print(name, *(f"{words[i]} {first[i] / first[ids].sum():.2f}" for i in ids))
assert [len(ids) for ids in kept.values()] == [2, 1, 3]

# %% [markdown]
# Top-k always keeps the same number of pieces; with top-p the number depends on how sure the model
# is. KerasHub's samplers do the same, as 5,000 draws show.

# %%
from keras_hub.samplers import TopPSampler

samplers = [TopKSampler(k=2, seed=1), TopPSampler(p=0.4, seed=1), TopPSampler(p=0.9, seed=1)]
rows = np.tile(first, (5000, 1)).astype("float32")
for (name, ids), sampler in zip(kept.items(), samplers, strict=True):
    drawn = np.bincount(sampler.get_next_token(rows), minlength=len(words)) / 5000
    print(name, *(f"{words[i]} {drawn[i]:.2f}" for i in ids))
    np.testing.assert_allclose(drawn[ids], first[ids] / first[ids].sum(), atol=0.03)
    np.testing.assert_allclose(drawn[ids].sum(), 1)

# %% [markdown]
# **Predict:** At τ = 1.5 all four translations were nonsense. What if each piece must be one of the
# three most probable?

# %%
drawn = draw_four(TopKSampler(k=3, temperature=1.5, seed=1), "top-k 3, temperature 1.5")
scores["top-k"] = model.score([english] * 4, drawn)
for text, score in zip(drawn, scores["top-k"], strict=True):
    print(f"{score:7.2f}  {text}")
assert scores["top-k"].mean() > scores[1.5].mean()

# %% [markdown]
# All four consist of Spanish words, and three are good; *e que* in the first makes no sense: even
# the second or third most probable piece may be wrong. If many answers are good, as in a story,
# chance makes the text livelier. For a sentence there are few good translations, so the paper
# searches.
#
# ## The tree
#
# Back to the table. We run the search with two beams once more and record the 2·W = 4 best
# candidates of each step: which live sentence each grew from, its score, and what became of it.

# %%
W, levels, live = 2, [], [((START,), 0.0)]
for _ in range(4):
    candidates = [pair for pair in grow(live, W) if pair[1] > -20]  # without "nearly never"
    live, finished = go_on(candidates, W), finish(candidates, W)
    level = []
    for pair in candidates:
        level.append((*pair, pair in live, pair in finished))
    levels.append(level)
for level in levels:
    print([f"{words[ids[-1]]} {score:.2f}" for ids, score, *_ in level])

# %% [markdown]
# In the tree, the number under each piece is the log-probability of the sentence so far. Filled
# boxes are live sentences. A thick frame marks a finished sentence; its last line is the
# log-probability divided by the length penalty, for α = 0.6. Dotted lines and a ✗ mark candidates
# that are cut and never looked at again.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(9, 4.8), layout="constrained")
axes = figure.subplots()
place = {(START,): (0, 0.0)}
for depth, level in enumerate(levels, 1):
    for rank, (ids, *_) in enumerate(sorted(level, key=lambda node: -place[node[0][:-1]][1])):
        place[ids] = (depth, (len(level) - 1) / 2 - rank)
print(f"{len(place)} boxes")


# %%
def draw(ids, score, goes_on, is_finished):
    (x0, y0), (x1, y1) = place[ids[:-1]], place[ids]
    is_kept = goes_on or is_finished
    color = COLORS[0] if goes_on else COLORS[2] if is_finished else "#888888"
    axes.plot([x0, x1], [y0, y1], color=color, ls="-" if is_kept else ":", zorder=1)
    box = {"boxstyle": "round", "fc": "#DCEBF7" if goes_on else "white", "ec": color}
    box["lw"] = 3 if is_finished else 1.2
    text = f"{'' if is_kept else '✗ '}{words[ids[-1]]}\n{score:.2f}"
    text += f"\n÷ penalty: {normalized((ids, score), 0.6):.2f}" if is_finished else ""
    axes.text(x1, y1, text, ha="center", va="center", bbox=box, color="black", fontsize=11)


# %% [markdown]
# Every node is drawn with the line that leads to it.

# %%
axes.text(0, 0, "<s>\n0.00", ha="center", va="center", bbox={"boxstyle": "round", "fc": "#DCEBF7"})
for level in levels:
    for node in level:
        draw(*node)
axes.set(xlim=(-0.4, 4.6), ylim=(-2, 2), yticks=[], xticks=range(5))
axes.set_xlabel("pieces after <s>; numbers in boxes: log-probability of the sentence so far (nats)")
axes.spines[["top", "right", "left"]].set_visible(False)
figure

# %% [markdown]
# After four pieces only *the rain falls now* is left. Its end is certain, so its log-probability
# stays −3.36, and with α = 0.6 that becomes −3.36 / (10 / 6)^0.6 = −2.47. The two best finished
# sentences have −1.50 and −1.51. Our search ends here because it allows at most four words. The
# package's search need not wait for that: it stops as soon as no live sentence can still beat the W
# best finished ones. A log-probability can only fall, so the best a live sentence can hope for is
# its present one, divided by the penalty for the maximum length.

# %% [markdown]
# ## In three lines
#
# 1. Greedy search takes the best piece each time, and can miss the best sentence.
# 2. A beam keeps W sentences alive; finished ones are frozen, and compete under a length penalty.
# 3. One beam with α = 0 is greedy; a wider beam often finds a more probable sentence, and now and
#    then a less probable one.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/08_choosing_the_words.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** From what α on does *it rains now* beat *it rains*? Solve for α with the two
# log-probabilities, log 0.16695 for *it rains* and log 0.14805 for *it rains now*, then let
# `package_search` confirm it on both sides.

# %% [markdown]
# **2.** How wide must a beam be to be certain of finding the best sentence in any table? Show that
# with a beam that wide the package's whole ranking is that of all sentences, for sentences of at
# most two pieces.

# %% [markdown]
# ## Your turn
#
# Translate a sentence of your own with `num_beams=1`, 4 and 16. Does the text change, and does its
# score ever get worse with a wider beam, as in the third table? (Take `length_penalty=0.0`: then
# the score is what the search looks at.)

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [09 · Not computing twice](09_not_computing_twice.ipynb), where writing becomes fast.
