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
# probable the next word is. We search with a table of next words that is small enough to try every
# sentence: first greedily, then with a beam, then with the length penalty of the paper's section
# 6.1. Each result is held to the package's `BeamSampler`, and the search is drawn as a tree.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## A language of six words
#
# Somebody translates *es regnet*, "it rains". Our model is a table: row *a*, column *b* holds the
# probability that the word *b* follows the word *a*. `<s>` starts a sentence, `</s>` ends it. (A
# real model looks at the source and at all earlier words; for the search that makes no
# difference.)

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from itertools import pairwise

import keras
import numpy as np

import aiayn_keras as ak

keras.utils.set_random_seed(1)

# %%
PAD, START, END = 0, 1, 2
words = ["<pad>", "<s>", "</s>", "it", "the", "rain", "rains", "falls", "now"]
V = len(words)

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
# As a matrix of logarithms, in which what is not listed has almost no probability:

# %%
table = np.full((V, V), 1e-9)  # nearly never, whose logarithm is still a number
for first, row in follows.items():
    for second, probability in row.items():
        table[words.index(first), words.index(second)] = probability
log_table = np.log(table).astype("float32")  # (V, V), nats
np.testing.assert_allclose(table[START].sum(), 1, atol=1e-6)

# %% [markdown]
# The probability of a sentence is the product of its steps, so its log-probability is a **sum**.
# The end token counts: a sentence that stops must also want to stop.


# %%
def log_probability(ids):
    return sum(log_table[a, b] for a, b in pairwise(ids))


it_rains = [START, words.index("it"), words.index("rains"), END]
print(f"it rains: {log_probability(it_rains):.3f} = log {np.exp(log_probability(it_rains)):.3f}")
np.testing.assert_allclose(np.exp(log_probability(it_rains)), 0.35 * 0.90 * 0.53, rtol=1e-5)

# %% [markdown]
# ## Greedy: take the best word, each time

# %%
ids = [START]
while ids[-1] != END:
    ids.append(int(log_table[ids[-1]].argmax()))
greedy = tuple(ids)
print("greedy:", " ".join(words[i] for i in greedy), f"{log_probability(greedy):.3f}")

# %% [markdown]
# ## Try everything
#
# With at most four words there are few sentences that can occur, and we can list them all.


# %%
def all_sentences(ids=(START,), max_words=4):
    yield (*ids, END)
    if len(ids) <= max_words:
        for word in range(3, V):
            yield from all_sentences((*ids, word), max_words)


# %%
ranking = sorted(all_sentences(), key=log_probability, reverse=True)
for ids in ranking[:4]:
    print(f"{log_probability(ids):.3f}  {' '.join(words[i] for i in ids[1:-1])}")

# %% [markdown]
# Of 1,555 sentences *it rains* is the best. Greedy search missed it: it took *the*, the best first
# word, and that led to worse ones. What is best now need not be best in the end.

# %%
assert len(ranking) == sum(6**n for n in range(5)) == 1555
assert ranking[0] == tuple(it_rains) != greedy
assert log_probability(greedy) < log_probability(ranking[0])

# %% [markdown]
# ## A beam: keep the best W
#
# Beam search keeps the W best unfinished sentences ("live") instead of one. A step has three
# parts:
#
# - **Grow**: append every word to every live sentence, and keep the best 2·W of these candidates.
#   Of them at most W end, so W are left to go on with.
# - **Finish**: a candidate among the best W that ends is finished. Its score never changes again.
# - **Live**: the best W others go on.


# %%
def grow(live, W, must_end=False):
    candidates = [
        ((*ids, word), score + float(log_table[ids[-1], word]))
        for ids, score in live
        for word in ([END] if must_end else range(END, V))
    ]
    candidates = sorted(candidates, key=lambda pair: pair[1], reverse=True)[: 2 * W]
    finished = [pair for pair in candidates[:W] if pair[0][-1] == END]
    live = [pair for pair in candidates if pair[0][-1] != END][:W]
    return live, finished


# %% [markdown]
# Log-probabilities only fall as words are added, so a long sentence starts with a handicap. The
# **length penalty** divides the log-probability by $((5 + |y|) / 6)^\alpha$, where |y| counts the
# words and the end. With α = 0 nothing is divided; the paper uses 0.6.


# %%
def normalized(pair, alpha):
    ids, score = pair
    length = len(ids) - 1  # <s> does not count
    return score / ((5 + length) / 6) ** alpha


# %%
def beam_search(W, alpha, max_words=4):
    live, finished = [((START,), 0.0)], []
    for num_words in range(max_words + 1):
        live, ended = grow(live, W, must_end=num_words == max_words)
        finished += ended
    return sorted(finished, key=lambda pair: normalized(pair, alpha), reverse=True)[:W]


# %%
for W in (1, 2):
    ids, score = beam_search(W, alpha=0)[0]
    print(f"{W} beam(s): {score:.3f}  {' '.join(words[i] for i in ids[1:-1])}")
assert beam_search(1, alpha=0)[0][0] == greedy
assert beam_search(2, alpha=0)[0][0] == ranking[0]

# %% [markdown]
# One beam is greedy search. Two beams find the best sentence of all, because the second beam kept
# *it* alive.
#
# ## The package's search on the same table
#
# `beam_search` asks a function for the logits of the next token. Ours looks them up.


# %%
def next_token(token_ids, cache, index):
    last = keras.ops.take(token_ids, index - 1, axis=1)
    return keras.ops.take(log_table, last, axis=0), None, cache


# %% [markdown]
# Its options are `SearchOptions`. Most models keep what they have computed in a cache; this one
# gets an empty one.

# %%
from aiayn_keras.decoding.beam_search import beam_search as package_beam_search
from aiayn_keras.decoding.cache import ForeignCache
from aiayn_keras.decoding.search_options import SearchOptions


# %%
def package_search(W, alpha, max_words=4):
    prompt = np.array([[START] + [PAD] * (max_words + 1)], "int32")  # (B, L), B = 1
    options = SearchOptions(num_beams=W, length_penalty=alpha, num_return_sequences=W)
    cache = ForeignCache({})  # the table needs to remember nothing
    start = (next_token, cache, prompt, prompt == START, options, END)
    ids, scores = package_beam_search(*start, forbidden_token_ids=(PAD, START))
    return np.array(ids)[0], np.array(scores)[0]


# %%
for W in (1, 2, 4):
    for alpha in (0.0, 0.6, 1.0):
        ids, scores = package_search(W, alpha)
        expected = beam_search(W, alpha)
        np.testing.assert_allclose(scores, [score for _, score in expected], rtol=1e-4)
        for row, (sentence, _) in zip(ids.tolist(), expected, strict=True):
            assert tuple(row[: len(sentence)]) == sentence

# %% [markdown]
# ## The length penalty changes the winner

# %%
for alpha in (0.0, 0.6):
    print(f"α = {alpha}")
    for ids, score in beam_search(2, alpha):
        text = " ".join(words[i] for i in ids[1:-1])
        print(f"  {normalized((ids, score), alpha):.3f} (plain {score:.3f})  {text}")

# %% [markdown]
# With α = 0 *it rains* wins, with 0.6 *it rains now*. No α is right by itself: it is chosen on
# validation data. [Notebook 11](11_real_sentences.ipynb) shows what it does to BLEU.

# %%
now = words.index("now")
assert beam_search(2, 0.0)[0][0] == (START, *it_rains[1:3], END)
assert beam_search(2, 0.6)[0][0] == (START, *it_rains[1:3], now, END)

# %% [markdown]
# ## The shipped model does the same
#
# `translate` returns the runners-up, best first. The score of each is what `model.score` gives
# when it reads the finished sentence: a search must not report another number than the model.

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
source = "In the evening I can see the woman."
best = model.translate([source], num_beams=4, num_return_sequences=4)[0]
for hypothesis in best.hypotheses:
    print(f"{hypothesis.score:8.3f}  {hypothesis.text}")
texts = [hypothesis.text for hypothesis in best.hypotheses]

# %%
scores = [hypothesis.score for hypothesis in best.hypotheses]
assert len(set(texts)) == 4
np.testing.assert_allclose(model.score([source], texts[:1]), scores[:1], atol=1e-3)

# %% [markdown]
# ## The tree
#
# We run the search with two beams once more and note every candidate: which live sentence it grew
# from, its score, and what became of it. Only the 2·W = 4 best of a step are noted.

# %%
W, levels, live = 2, [], [((START,), 0.0)]
for _ in range(4):
    grown = [grow([pair], 2 * W)[i] for pair in live for i in (0, 1)]
    candidates = sorted((p for part in grown for p in part), key=lambda p: -p[1])[: 2 * W]
    candidates = [pair for pair in candidates if pair[1] > -20]  # without "nearly never"
    live, finished = grow(live, W)
    kept = {ids for ids, _ in live}, {ids for ids, _ in finished}
    levels.append([(*pair, pair[0] in kept[0], pair[0] in kept[1]) for pair in candidates])
    live = [pair for pair in live if pair[1] > -20]
for level in levels:
    print([f"{words[ids[-1]]} {score:.2f}" for ids, score, *_ in level])

# %% [markdown]
# Solid lines and filled boxes go on. A thick frame is a finished sentence, with its score for α =
# 0.6 below. Dotted lines and a ✗ are cut: nobody looks at them again. Under each word stands the
# log-probability of the sentence so far.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(9, 4.8), layout="constrained")
axes = figure.subplots()
place = {(START,): (0, 0.0)}
for depth, level in enumerate(levels, 1):
    for rank, (ids, *_) in enumerate(sorted(level, key=lambda node: -place[node[0][:-1]][1])):
        place[ids] = (depth, (len(level) - 1) / 2 - rank)


# %%
def draw(ids, score, goes_on, is_finished):
    (x0, y0), (x1, y1) = place[ids[:-1]], place[ids]
    is_kept = goes_on or is_finished
    color = COLORS[0] if goes_on else COLORS[2] if is_finished else "#888888"
    axes.plot([x0, x1], [y0, y1], color=color, ls="-" if is_kept else ":", zorder=1)
    box = {"boxstyle": "round", "fc": "#DCEBF7" if goes_on else "white", "ec": color}
    box["lw"] = 3 if is_finished else 1.2
    text = f"{'' if is_kept else '✗ '}{words[ids[-1]]}\n{score:.2f}"
    text += f"\nα: {normalized((ids, score), 0.6):.3f}" if is_finished else ""
    axes.text(x1, y1, text, ha="center", va="center", bbox=box, color="black", fontsize=11)


# %% [markdown]
# Every node is drawn with the line that leads to it.

# %%
axes.text(0, 0, "<s>\n0.00", ha="center", va="center", bbox={"boxstyle": "round", "fc": "#DCEBF7"})
for level in levels:
    for node in level:
        draw(*node)
axes.set(xlim=(-0.4, 4.5), ylim=(-2, 2), yticks=[], xticks=range(5))
axes.set_xlabel("tokens after <s>; numbers in boxes: log-probability of the sentence so far (nats)")
axes.spines[["top", "right", "left"]].set_visible(False)
figure

# %% [markdown]
# After four tokens the search is over: *the rain falls now* has −3.36 already, and whatever
# follows, it cannot beat the two best finished sentences.

# %% [markdown]
# ## In three lines
#
# 1. Greedy search takes the best word each time, and can miss the best sentence.
# 2. A beam keeps W sentences alive; finished ones are frozen, and compete with a length penalty.
# 3. One beam is greedy; a beam as wide as the language is exhaustive search.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** From which α on does *it rains now* beat *it rains*? Solve for α with the two
# log-probabilities, then let `beam_search` confirm it on both sides.

# %% tags=["solution"] jupyter={"source_hidden": true}
short, long = beam_search(2, alpha=0)[:2]
lengths = [len(ids) - 1 for ids, _ in (short, long)]
# short / l₁^α = long / l₂^α  ⟹  α = log(long / short) / log(l₂ / l₁)
alpha = np.log(long[1] / short[1]) / np.log((5 + lengths[1]) / (5 + lengths[0]))
print(f"α = {alpha:.3f}")
assert beam_search(2, alpha - 0.01)[0] == short
assert beam_search(2, alpha + 0.01)[0] == long

# %% [markdown]
# **2.** How wide must a beam be to be sure to find the best sentence, whatever the table? Show
# that with a beam that wide the package's whole ranking is that of `all_sentences`, for sentences
# of at most two words.

# %% tags=["solution"] jupyter={"source_hidden": true}
ranking = sorted(all_sentences(max_words=2), key=log_probability, reverse=True)
W = len(ranking)  # nothing is ever cut; narrower beams may be enough for one table, not for all
assert W == 1 + 6 + 6**2
ids, scores = package_search(W, alpha=0.0, max_words=2)
expected = [log_probability(sentence) for sentence in ranking]
np.testing.assert_allclose(scores, expected, rtol=1e-4)
assert tuple(ids[0][: len(ranking[0])]) == ranking[0]

# %% [markdown]
# Next: [09 · Not computing twice](09_not_computing_twice.ipynb), where decoding becomes fast.
