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
# # 15 · Reading a sentence into a tree
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/15_reading_a_sentence_into_a_tree.ipynb)
#
# **How can a model that translates write the grammar of a sentence?** In the paper's section 6.3
# the same Transformer reads English words and writes a tree, as a line of tokens. We make a small
# treebank, write trees as lines and read them back by hand, train a parser, let it write freely and
# then under a rule that only trees fit, and score what it writes.

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
# Blue marks what is new today. The target is not a sentence but a tree, written as a line of
# tokens, and the search can be held to a rule. All between them is as before.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture

draw_architecture("target_ids", "search")

# %%
import random
import re
from collections import Counter

import keras
import numpy as np

import aiayn_keras as ak
from aiayn_keras.parsing import Tree, linearize, parse_linearized

# %% [markdown]
# ## A treebank
#
# A *constituency tree* says which words belong together: *the old cat* is a noun phrase (NP), and
# with a verb phrase (VP) it makes a sentence (S). *Near the garden* is a prepositional phrase (PP),
# and *that the old cat slept*, which is part of a larger sentence, is an SBAR. Each word has a part
# of speech: DT for *the*, JJ for *old*, NN for *cat*, VBD for *slept*, IN for *near* and *that*. A
# collection of sentences with their trees is a *treebank*.
#
# The paper's treebank is the Penn Treebank, which is not free. **No treebank comes with this
# repository: the one here is written by a small grammar of our own. Its trees are like real ones in
# their form, but far easier.** Each rule names the parts that a phrase may have.

# %%
RULES = {
    "S": ["NP VP"],
    "NP": ["DT NN", "DT NN", "DT JJ NN", "NP-short PP-of"],
    "NP-short": ["DT NN", "DT JJ NN"],
    "PP-of": ["IN-of NP"],
    "PP-at": ["IN-at NP"],
    "VP": ["VBD-alone", "VBD-alone PP-at", "VBD-with NP", "VBD-with NP PP-at", "VBD-say SBAR"],
    "SBAR": ["IN-that S"],
}

# %%
WORDS = {
    "DT": "the a every this",
    "JJ": "old small red clever tired happy",
    "NN": "cat dog king girl poet fish horse river garden hat friend mouse",
    "VBD-alone": "slept sang fell waited",
    "VBD-with": "saw chased liked found",
    "VBD-say": "said thought knew",
    "IN-of": "of",
    "IN-at": "near in behind with",
    "IN-that": "that",
}

# %% [markdown]
# What follows a hyphen only helps the grammar: the tree has the label before it. The parser must
# find out by itself that *chased* takes an object and *said* a sentence, and that *of* belongs to
# the noun before it, but *near* to the verb.


# %%
def grow(symbol, chance):
    """A random tree with this symbol at its root."""
    label = symbol.partition("-")[0]
    if symbol in WORDS:
        return Tree(label, (chance.choice(WORDS[symbol].split()),))
    parts = chance.choice(RULES[symbol]).split()
    return Tree(label, tuple(grow(part, chance) for part in parts))


def sentence(chance):
    """A random sentence, with a full stop."""
    return Tree("S", (*grow("S", chance).children, Tree(".", (".",))))


# %% [markdown]
# No sentence may be there twice. We keep apart those of at most ten words, and longer ones.

# %%
keras.utils.set_random_seed(1)
chance = random.Random(1)
treebank = {}
while len(treebank) < 20_000:
    tree = sentence(chance)
    treebank[" ".join(tree.words())] = tree
short = [tree for tree in treebank.values() if len(tree.words()) <= 10]
longer = [tree for tree in treebank.values() if 11 <= len(tree.words()) <= 16]
print(f"{len(short):,} sentences of at most 10 words, {len(longer):,} of 11 to 16; for example")
print(" ".join(short[1].words()))
print(short[1])

# %% [markdown]
# ## A tree as a line
#
# A model that writes tokens one after the other can write a tree in this way: each constituent is
# an opening bracket with its label, its parts, and a closing bracket with the label; each word is
# one *leaf*. Here a leaf is the word's part of speech. (The form is that of [Vinyals et
# al.](https://arxiv.org/abs/1412.7449), since the paper does not print its own; there every leaf
# is `XX`. Parts of speech show a small model sooner at which word it is.)
#
# **Predict:** How many tokens has the tree of *the old cat slept .*, which has the constituents S,
# NP and VP?


# %%
def write_line(tree):
    """The tokens of a tree."""
    if tree.is_word:
        return [tree.label]
    inside = [token for child in tree.children for token in write_line(child)]
    return [f"({tree.label}", *inside, f"){tree.label}"]


noun_phrase = Tree("NP", (Tree("DT", ("the",)), Tree("JJ", ("old",)), Tree("NN", ("cat",))))
verb_phrase = Tree("VP", (Tree("VBD", ("slept",)),))
example = Tree("S", (noun_phrase, verb_phrase, Tree(".", (".",))))
print(len(write_line(example)), "tokens:", *write_line(example))

# %% [markdown]
# Two for each constituent, one for each word. The words themselves are not written: they are known.
# The package's `linearize` gives the same.

# %%
trees = short + longer
assert all(" ".join(write_line(tree)) == linearize(tree, "tags") for tree in trees[::10])
most = [max(len(write_line(tree)) for tree in part) for part in (short, longer)]
print(f"{len(trees[::10]):,} lines are equal; the longest have {most[0]} and {most[1]} tokens")

# %% [markdown]
# To read a line back takes a *stack*: an opening bracket puts a new constituent on it, a closing
# one takes it off and gives it to the constituent below.


# %%
def read_line(tokens, words):
    """The tree of a line that is one."""
    stack, words = [[]], iter(words)
    for token in tokens:
        if token.startswith("("):
            stack.append([])
        elif token.startswith(")"):
            children = stack.pop()
            stack[-1].append(Tree(token[1:], tuple(children)))
        else:
            stack[-1].append(Tree(token, (next(words),)))
    return stack[0][0]


# %%
for tree in trees[::50]:
    tokens, words = write_line(tree), tree.words()
    assert read_line(tokens, words) == parse_linearized(" ".join(tokens), words) == tree
print(f"{len(trees[::50]):,} trees come back, by hand and by the package; the last is")
print(tree)

# %% [markdown]
# ## A parser is a translator
#
# From here on nothing is new: sources are words, targets are lines. Every word and every token of a
# tree is one piece of the vocabulary. The model is small: two layers of width 64.

# %%
train, unseen, longer = short[300:], short[:100], longer[:50]
pieces = {token for tree in trees for token in (*tree.words(), *write_line(tree))}
tokenizer = ak.TransformerTokenizer.train(
    [" ".join(tree.words()) for tree in train[:3000]],
    vocabulary_size=4 + len(pieces),
    whole_words=sorted(pieces),
)
line = linearize(example, "tags")
print(tokenizer.vocabulary_size(), "pieces:", *(tokenizer.id_to_token(i) for i in tokenizer(line)))

# %% [markdown]
# The preprocessor pads to a fixed length: 12 pieces of words and 29 of a tree hold every training
# pair, with the end token. A second one, for translating, has room for longer sentences.

# %%
V, UPDATES, B = tokenizer.vocabulary_size(), 240, 64
backbone = ak.TransformerBackbone(
    V, num_layers=2, num_heads=4, hidden_dim=64, intermediate_dim=128, dropout=0.0
)
learner = ak.TransformerSeq2SeqLM(
    backbone, ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 12, most[0] + 1)
)
model = ak.TransformerSeq2SeqLM(backbone, ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 20, 80))
print(f"{model.count_params():,} parameters, {len(train):,} trees to train on")

# %% [markdown]
# The training sees its trees one and a half times.

# %%
import tensorflow as tf

from aiayn_keras.data import tree_pairs

pairs = tree_pairs((train * 2)[: UPDATES * B], "tags")
texts = {"encoder_text": list(pairs.sources), "decoder_text": list(pairs.targets)}
batches = tf.data.Dataset.from_tensor_slices(texts).batch(B).repeat()
print(f"{len(pairs):,} pairs in batches of {B}:", pairs[0])

# %% [markdown]
# This is the only cell that takes long. The share is of tokens that are right when all tokens
# before are given; label smoothing and schedule are those of [notebook
# 07](07_learning_to_translate.ipynb).

# %%
schedule = ak.WarmupSchedule(hidden_dim=64, warmup_steps=100, peak_learning_rate=0.003)
adam = keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)
learner.compile(adam, loss=ak.LabelSmoothedCrossEntropy(0.1), jit_compile=False)
history = learner.fit(batches, steps_per_epoch=UPDATES // 6, epochs=6, verbose=0).history
print("share of tokens that are right:", *(f"{share:.0%}" for share in history["accuracy"]))

# %% [markdown]
# ## Writing freely
#
# Now the parser writes, one token after the other, whatever it likes best. A line is a tree of its
# sentence only if each bracket is closed by one of its own label, no constituent is empty, and
# there are as many leaves as words. `read_outputs` reads lines; one that is no tree becomes `None`.
#
# **Predict:** In training no sentence had more than 10 words. What share of the lines will be
# trees, for new sentences of at most 10 words and for those of 11 to 16?

# %%
from aiayn_keras.parsing.scores import read_outputs

free = {"num_beams": 1, "length_penalty": 0.0}
sentences = {"at most 10 words": unseen, "11 to 16 words": longer}
lines = {}
for name, references in sentences.items():
    sources = [" ".join(tree.words()) for tree in references]
    lines[name] = [found.text for found in model.translate(sources, **free)]
    read = read_outputs(lines[name], references)
    share = np.mean([tree is not None for tree in read])
    exact = np.mean([tree == reference for tree, reference in zip(read, references, strict=True)])
    print(f"{name:17}: {share:4.0%} are trees, {exact:4.0%} are the right tree")

# %% [markdown]
# The sentences of at most 10 words are new. Are their lines new, too?

# %%
known = {linearize(tree, "tags") for tree in train}
print(f"{len(train):,} trees of the training have {len(known)} different lines")
for name, references in sentences.items():
    new = sum(linearize(tree, "tags") not in known for tree in references)
    print(f"{name:17}: {new} of {len(references)} have a line that is not among them")

# %% [markdown]
# What is wrong with the others? The package's error says it for each line.

# %%
from aiayn_keras.parsing import MalformedTreeError

reasons = Counter()
for line, reference in zip(lines["11 to 16 words"], longer, strict=True):
    try:
        parse_linearized(line, reference.words())
        reasons["a tree"] += 1
    except MalformedTreeError as error:
        reasons[re.sub(r"token \d+: |\d+ ", "", str(error))] += 1
for reason, count in reasons.most_common(6):
    print(f"{count:4}  {reason}")

# %% [markdown]
# Within the lengths that it knows the parser made no mistake; but its lines were not new, as the
# counts above say, only the words. Beyond them it mostly writes fewer leaves than there are words:
# it ends where sentences ended in training. Every longer sentence needs a line never seen, so we
# cannot tell here whether length or structure defeats it. The paper chose sinusoids because they
# *may* let a model go beyond the lengths of its training (section 3.5); that this small one does is
# not shown.
#
# ## Only trees, by hand
#
# We need not hope: at each step the rules of trees say which tokens may follow, and the search
# takes the best of *those*. It takes the stack again, and the number of words that have no leaf
# yet.

# %%
LEAVES = {leaf.label for tree in train for leaf in tree.leaves()}
OPENING = {token for token in pieces if token.startswith("(")}
print(len(OPENING), "opening brackets:", *sorted(OPENING))
print(len(LEAVES), "leaves:", *sorted(LEAVES))


# %%
def may_follow(written, num_words):
    """Tokens after which the line can still become a tree of so many words; </s> is the end."""
    stack = []
    for token in written:
        stack = stack[:-1] if token.startswith(")") else stack + [token[1:]] * (token[0] == "(")
    if written and not stack:
        return {"</s>"}
    words_left = num_words - sum(token[0] not in "()" for token in written)
    allowed = OPENING if words_left else set()
    allowed = allowed | LEAVES if words_left and stack else allowed
    can_close = stack and written[-1][0] != "(" and (len(stack) > 1 or not words_left)
    return allowed | {f"){stack[-1]}"} if can_close else allowed


# %% [markdown]
# **Predict:** The line so far is `(S (NP DT NN )NP`, of a sentence of 4 words. May `)S` follow?

# %%
for written in ("", "(S", "(S (NP DT NN )NP", "(S (NP DT NN )NP (VP VBD )VP ."):
    allowed = may_follow(written.split(), num_words=4)
    closing = sorted(token for token in allowed if token.startswith(")"))
    print(f"{written or 'nothing':32} open {bool(allowed & OPENING)!s:5}", end=" ")
    print(f"leaf {bool(allowed & LEAVES)!s:5} close {closing}")
assert ")S" not in may_follow(["(S", "(NP", "DT", "NN", ")NP"], 4)

# %% [markdown]
# The root may only be closed when every word has its leaf. Now greedy search, with everything that
# may not follow left out:


# %%
def next_logits(source, ids):
    """Logits of the next piece, by name."""
    x = {"encoder_token_ids": np.array([source]), "decoder_token_ids": np.array([ids])}
    x |= {name.replace("token_ids", "padding_mask"): np.ones_like(x[name]) for name in x}
    logits = np.array(model(x, training=False))[0, -1]
    return {tokenizer.id_to_token(i).removeprefix("▁"): logits[i] for i in range(V)}


# %%
def parse_by_hand(words):
    """The line of greedy search under `may_follow`, without a cache."""
    written, source = [], [*map(int, tokenizer(" ".join(words))), tokenizer.end_token_id]
    while written[-1:] != ["</s>"]:
        ids = [tokenizer.start_token_id, *map(int, tokenizer(" ".join(written)))]
        logits = next_logits(source, ids)
        written.append(max(may_follow(written, len(words)), key=logits.get))
    return " ".join(written[:-1])


# %% [markdown]
# The package's constraint `"brackets"` does this for all hypotheses of a beam at once, in tensors.
# With one beam and no length penalty it writes what we write.

# %%
some = longer[:3]
by_hand = [parse_by_hand(tree.words()) for tree in some]
sources = [" ".join(tree.words()) for tree in some]
by_package = model.translate(sources, constraint="brackets", **free)
assert by_hand == [found.text for found in by_package]
print(*by_hand, sep="\n\n")

# %% [markdown]
# The first and the third show what happens: behind the tenth word the model would end, may not, and
# fills the root with leaves of no use.
#
# ## Scoring: labelled brackets
#
# How good is a tree that is nearly right? A constituent is compared as its label with the place of
# its first word and the place behind its last. *Precision* is the share of the model's constituents
# that the reference has, *recall* the share of the reference's that the model has, and F1 is their
# harmonic mean. Full stops are left out, whatever part of speech the model gives them, and with
# them a constituent that holds nothing else.


# %%
def constituents(tree, start=0):
    """Labels with their places, and the number of words."""
    if tree.is_word:
        return Counter(), int(tree.children[0] != ".")
    found, length = Counter(), 0
    for child in tree.children:
        inside, words = constituents(child, start + length)
        found, length = found + inside, length + words
    here = [(tree.label, start, start + length)] if length else []
    return found + Counter(here), length


# %%
for constituent in constituents(example)[0]:
    print(constituent)

# %% [markdown]
# A line that is no tree has no constituent: all of its reference's count as missed.

# %%
from aiayn_keras.parsing.scores import score_trees


def f1_by_hand(trees, references):
    matched = total = 0
    for tree, reference in zip(trees, references, strict=True):
        ours = constituents(tree)[0] if tree else Counter()
        theirs = constituents(reference)[0]
        matched, total = matched + (ours & theirs).total(), total + ours.total() + theirs.total()
    return 200 * matched / total


# %% [markdown]
# **Predict:** The constraint makes a tree of every line. Will it make F1 higher, too?

# %%
scores, parsed = {}, {}
for name, references in sentences.items():
    sources = [" ".join(tree.words()) for tree in references]
    found = model.translate(sources, constraint="brackets", **free)
    for search, texts in (("free", lines[name]), ("only trees", [one.text for one in found])):
        parsed[name, search] = read_outputs(texts, references)
        scores[name, search] = score = score_trees(parsed[name, search], references)
        np.testing.assert_allclose(score.f1, f1_by_hand(parsed[name, search], references))
        print(f"{name:17} {search:11} F1 {score.f1:5.1f}, trees {score.well_formed:5.1f} %")

# %%
assert all(scores[name, "only trees"].well_formed == 100 for name in sentences)
gain = {name: scores[name, "only trees"].f1 - scores[name, "free"].f1 for name in sentences}
print({name: f"{points:+.1f} F1" for name, points in gain.items()})

# %% [markdown]
# The constraint cannot make the model know more. But a line that was no tree had no constituent at
# all; now what is right in it counts.
#
# The paper's parser has 4 layers of width 1024 and reaches F1 91.3 on the Penn Treebank's section
# 23 when it is trained on that treebank alone, and 92.7 with 17 million sentences more, parsed by
# other parsers (Table 4). Real English is ambiguous and has tens of thousands of words; our grammar
# has neither. How this package does on a real treebank is in [docs/parsing.md](../docs/parsing.md).
#
# ## A tree drawn
#
# Above the words the reference, below them the model's tree, of a longer sentence that it got wrong
# in part. Constituents that both have are blue; those of one alone have broken lines.

# %%
from aiayn_keras.parsing.drawing import plot_tree_pair

trees_of_longer = parsed["11 to 16 words", "only trees"]
pairs = zip(longer, trees_of_longer, strict=True)
f1 = [score_trees([tree], [reference]).f1 for reference, tree in pairs]
wrong = [i for i in np.argsort(f1)[::-1] if f1[i] < 95]
chosen = wrong[0] if wrong else 0
plot_tree_pair(
    longer[chosen], trees_of_longer[chosen], title=f"F1 {f1[chosen]:.0f}: not seen, and longer"
)

# %% [markdown]
# ## In three lines
#
# 1. A tree is a line of tokens: brackets with labels, and a leaf for each word; a stack reads it
#    back.
# 2. A constraint leaves out what cannot become a tree, so every line is one, whatever the model
#    knows.
# 3. F1 compares labelled constituents; a line that is no tree has none of them.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/15_reading_a_sentence_into_a_tree.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** A parser that knows nothing gives every sentence the *flat* tree: one S with all the words
# in it. What are its precision, recall and F1 for *the old cat slept .*, counted by hand? Which of
# the three stays the same for every sentence?

# %% [markdown]
# **2.** Let chance write: always take a random token of `may_follow`. Is every line that ends a
# tree of its sentence? How long does it become, and what happens if opening brackets are taken as
# often as leaves?

# %% [markdown]
# ## Your turn
#
# Add a rule to `RULES`, such as `"PP-at": ["IN-at NP", "IN-at NP PP-at"]` for *near the cat behind
# the hat*, and train again. Or parse a sentence of your own from the words in `WORDS`, and draw its
# tree.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [16 · What each part is worth](16_what_each_part_is_worth.ipynb)
