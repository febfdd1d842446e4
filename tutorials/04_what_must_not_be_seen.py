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
# # 04 · What must not be seen
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/04_what_must_not_be_seen.ipynb)
#
# **Which positions may a word look at, and how do you notice when it sees too much?** We build the
# three masks of a Transformer by hand, let the future leak in through an off-by-one error, watch
# training fall for it, and write a test that finds the leak. The package passes the same test. The
# paper names one mask, the causal one (section 3.2.3); batches need a second, for padding, and rows
# shared by several sentences a third.
#
# *Short path, 3 of 9 · 40 minutes · you need notebook 03.* Afterwards you can say which of the
# model's three attentions needs which mask, and test a model for leaks.

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

import keras
import numpy as np
from keras import ops

import aiayn_keras as ak
from aiayn_keras import layers
from aiayn_keras.plotting import plot_masks
from drawings import draw_architecture, draw_mask_choice, draw_shapes

# %% [markdown]
# Blue marks the place of the masks inside each attention: after the scores, before the softmax.

# %%
draw_architecture("mask")

# %% [markdown]
# A mask is boolean, of shape (B, T, S): **True means that query t may look at key s.** It means the
# same in all notebooks and in the package. A position may have to be hidden for three reasons.

# %% [markdown]
# ## 1. Padding is not text
#
# The sentences of a batch are filled up to the same length. Here are B = 2 sentences of 5 and 3
# pieces, padded to T = 7. By hand: a pair of positions is allowed if both are real. The columns
# matter most: no real piece may read padding. The rows of padding are forbidden by the same rule,
# but nobody reads their results.
#
# **Predict:** How many of the 49 pairs are allowed in each sentence?

# %%
B, T = 2, 7
padding_mask = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0]], dtype="int32")
by_hand = np.zeros((B, T, T), dtype=bool)
for b in range(B):
    for t in range(T):
        for s in range(T):
            by_hand[b, t, s] = padding_mask[b, t] == 1 and padding_mask[b, s] == 1
print("allowed pairs:", by_hand.sum(axis=(1, 2)))

# %% [markdown]
# There are 5 · 5 pairs in the first sentence and 3 · 3 in the second. The package makes the same
# masks in one step.

# %%
draw_shapes(
    "padding (B, T), (B, S)", "both real", "mask (B, T, S)", "for all heads", "(B, 1, T, S)"
)

# %%
padding = ops.convert_to_numpy(layers.make_attention_mask(padding_mask, padding_mask))
np.testing.assert_array_equal(padding, by_hand)
padding[1].astype(int)

# %% [markdown]
# ## 2. The future is not known yet
#
# At position t the decoder must name the piece after t. In training it is given the whole target at
# once, so the later pieces must be hidden: only the entries on and below the diagonal stay, which
# are those that `np.tril` keeps. (The diagonal too: at t the decoder *reads* piece t, and names
# piece t + 1; what it reads is shifted to the right by one place.)

# %%
causal = ops.convert_to_numpy(layers.make_causal_mask(padding_mask))
np.testing.assert_array_equal(causal, np.tril(np.ones((B, T, T), dtype=bool)))
causal[0].astype(int)

# %% [markdown]
# The decoder needs both masks: a pair is allowed only if both allow it.
#
# **Predict:** How many pairs are left in the sentence of 3 pieces?

# %%
both = ops.convert_to_numpy(layers.combine_masks(padding, causal))
np.testing.assert_array_equal(both, padding & causal)
print("allowed pairs:", both.sum(axis=(1, 2)))
both[1].astype(int)

# %% [markdown]
# ## 3. Neighbours in a packed row
#
# Instead of padding, a row can hold several sentences, numbered 1, 2, 3 … in the mask. A sentence
# sees only itself. The rule is the same: *the numbers agree and are not 0*.

# %%
packed_mask = np.array([[1, 1, 1, 2, 2, 2, 0]], dtype="int32")
packed = ops.convert_to_numpy(layers.make_attention_mask(packed_mask, packed_mask))
by_hand = packed_mask[:, :, None] == packed_mask[:, None, :]
np.testing.assert_array_equal(packed, by_hand & (packed_mask[:, None, :] != 0))
packed[0].astype(int)

# %% [markdown]
# ## Which mask where
#
# A model has three kinds of attention, and each needs its own mask.
#
# - **The encoder's self-attention**: queries and keys are source pieces. It hides padding and
#   nothing else: the whole source is known.
# - **The decoder's self-attention**: queries and keys are target pieces. It hides padding *and the
#   future*.
# - **Cross-attention**: queries are target pieces, keys and values come from the memory, the
#   encoder's output. It hides padding. It is *not* causal: every target piece may look at the
#   whole source.
#
# In packed rows all three hide the other sentences, too. The drawing shows all this. **How to read
# it:** follow the branches "all T, in training". Those called "one, with the cache" are for writing
# a translation piece by piece. There the decoder's mask is the last row of the causal one, because
# only the newest piece has a query. You will need the grid with two beams only in notebooks 08 and
# 09.

# %%
draw_mask_choice()

# %% [markdown]
# ## What a mask does
#
# Where the mask is False, the score is replaced by a very low number before the softmax. The weight
# there is not just small but exactly 0, and each row still sums to 1.
#
# The rows of padding, the last two below, are different. Such a query may look at nothing: all its
# scores are equally low, and the softmax spreads the weight evenly, 1/7 ≈ 0.14. That does no harm,
# because nobody reads the result: padding is hidden as a key in every later attention, and its
# positions have weight 0 in the loss. So the assertion looks at real queries only.

# %%
keras.utils.set_random_seed(1)
attention = layers.MultiHeadAttention(num_heads=3, key_dim=4)
x = np.random.normal(size=(B, T, 12)).astype("float32")
weights = ops.convert_to_numpy(attention.weights_of(x, x, both))  # (B, H, T, S)
real = padding_mask.astype(bool)
hidden = np.broadcast_to(~both[:, None], weights.shape)
assert (weights[hidden & real[:, None, :, None]] == 0).all()
np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
np.round(weights[0, 0], 2)

# %% [markdown]
# ## A leak, made on purpose
#
# This mask is off by one: `tril(..., k=1)` keeps one more diagonal, so each position sees one
# position ahead. Nothing fails, and no shape is wrong. What will the training show?

# %%
T = 8
honest = np.tril(np.ones((1, T, T), dtype=bool))
leaky = np.tril(np.ones((1, T, T), dtype=bool), k=1)
leaky[0].astype(int)

# %% [markdown]
# A tiny decoder of one block learns to continue *random* text made of V = 16 pieces. Its *loss* at
# a position is −ln p, where p is the probability that it gives to the right piece: 0 if it is
# certain and right, and ln 16 ≈ 2.77 nats if it finds all 16 equally probable. Random text cannot
# be predicted: on new text no model can expect a loss below ln 16 per piece, or more than 1/16 of
# the pieces right, 6 %. (On the text that it trains on, it may do a little better.) This task has
# no source, so an encoder block (one layer of an encoder; notebook 06a builds it) with a causal
# mask *is* the decoder.
#
# The Keras model below is built by calling one layer after another. `Input` stands for the ids,
# `Embedding` gives each piece a learned vector, and `PositionalEmbedding` adds a vector that tells
# its position (notebook 02; `ones_like(ids)` says that nothing is padding). `Dense(V)` is a *dense
# layer*, a product with a learned matrix plus a learned vector: it makes the V logits.

# %%
V = 16
text = np.random.randint(V, size=(4_096, T + 1))
read, answer = text[:, :-1], text[:, 1:]  # shifted to the right
print("read  ", read[0])
print("answer", answer[0])


# %%


def tiny_decoder(mask):
    ids = keras.Input((T,), dtype="int32")
    x = keras.layers.Embedding(V, 32)(ids)
    x = layers.PositionalEmbedding(T, dropout=0.0)(x, ops.ones_like(ids))
    x = layers.EncoderBlock(num_heads=4, key_dim=8, intermediate_dim=64, dropout=0.0)(x, mask)
    return keras.Model(ids, keras.layers.Dense(V)(x))


# %% [markdown]
# `SparseCategoricalCrossentropy(from_logits=True)` is this loss, computed from logits; *accuracy*
# is the share of positions at which the right piece has the highest logit. `fit` trains, as in
# notebook 03.
#
# **Predict:** What loss and what accuracy does each mask reach on this random text?

# %%
results = {}
for name, mask in (("honest", honest), ("leaky", leaky)):
    decoder = tiny_decoder(ops.convert_to_tensor(mask))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    decoder.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"], jit_compile=False)
    history = decoder.fit(read, answer, batch_size=64, epochs=6, verbose=0).history
    results[name] = decoder
    print(f"{name:6}: loss {history['loss'][-1]:.2f}, accuracy {history['accuracy'][-1]:.0%}")

# %% [markdown]
# With the leak, the model "predicts" random text: it copies the answer from the next position.
# (Only the last position has no next one, so 7 of 8 answers can be copied, and the best loss is
# (ln 16) / 8 = 0.35.) With no causal mask at all the model would copy in the same way. On real text
# such a curve looks like a great success, until the model has to write and has no future to copy.
#
# When the model writes, nothing has to be hidden from its newest position, because the later pieces
# do not exist yet. In training they do exist, and the mask leaves each position exactly the pieces
# that it will have when the model writes.

# %%
loss_of = {name: decoder.evaluate(read, answer, verbose=0)[0] for name, decoder in results.items()}
print({name: f"{loss:.2f} nats" for name, loss in loss_of.items()}, f"ln 16 = {np.log(V):.2f}")
assert loss_of["honest"] > 0.9 * np.log(V)
assert loss_of["leaky"] < 0.5 * np.log(V)

# %% [markdown]
# ## A test that finds it
#
# Do not trust the mask; trust the outputs: change the input at one position s, and see which
# outputs change. The result is a matrix (T, S): True where the input at s influences the output at
# t.


# %%
def influence(model):
    """Matrix (T, S), True where the piece at s changes the output at t."""
    columns = []
    for s in range(T):
        changed = read[:8].copy()
        changed[:, s] = (changed[:, s] + 1) % V
        difference = model.predict_on_batch(changed) - model.predict_on_batch(read[:8])
        columns.append(np.abs(difference).max(axis=(0, 2)) > 1e-4)
    return np.stack(columns, axis=1)


# %% [markdown]
# **Predict:** The matrix of the leaky decoder has ones above the diagonal. Where?

# %%
np.testing.assert_array_equal(influence(results["honest"]), honest[0])
above_the_diagonal = np.triu(influence(results["leaky"]), k=1)
assert above_the_diagonal.sum() == T - 1  # one step ahead, everywhere
print("The leak is found at (t, s) =", np.argwhere(above_the_diagonal)[:3].tolist(), "...")
influence(results["leaky"]).astype(int)

# %% [markdown]
# ## The package under the same test
#
# Now we test a whole encoder-decoder. Its *weights*, the numbers that training would change, are
# random, since a mask must work for any weights. The package calls it a *backbone*: encoder and
# decoder, without tokenizer and search. `encode` makes the memory of the source; `decode` reads it,
# and the target. Changing a piece of the target changes no earlier output, not even by a single
# bit.

# %%
backbone = ak.TransformerBackbone(
    V, num_layers=2, num_heads=3, hidden_dim=12, intermediate_dim=24, max_sequence_length=32
)
print(f"{backbone.count_params():,} parameters")


# %%
def outputs_of(source, target, source_mask=None, target_mask=None):
    memory_mask = np.ones_like(source) if source_mask is None else source_mask
    target_mask = np.ones_like(target) if target_mask is None else target_mask
    memory = backbone.encode(source, memory_mask)
    return ops.convert_to_numpy(backbone.decode(memory, memory_mask, target, target_mask))


# %%
source, target = text[:2, :5], text[2:4, :T]
before = outputs_of(source, target)
print("change at   earlier outputs   from there on")
for s in range(T):
    changed = target.copy()
    changed[:, s] = (changed[:, s] + 1) % V
    after = outputs_of(source, changed)
    np.testing.assert_array_equal(after[:, :s], before[:, :s])
    earlier, later = np.abs(after - before)[:, :s], np.abs(after - before)[:, s:].max()
    print(f"{s:9}{earlier.max(initial=0):18}{later:16.2f}")
    assert later > 1e-3

# %% [markdown]
# Adding padding changes nothing, no matter which ids it has.

# %%
padded = np.concatenate([source, np.full((2, 3), 9)], axis=1)
mask = np.array([[1] * 5 + [0] * 3] * 2)
difference = np.abs(outputs_of(padded, target, mask) - before).max()
print(f"largest difference with 3 more positions of padding: {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# And two sentence pairs packed into one row give what they give alone: the masks keep them apart,
# and positions are counted from 0 again in the second pair.

# %%
row = outputs_of(
    source.reshape(1, 10),
    target.reshape(1, 16),
    np.repeat([[1, 2]], 5, 1),
    np.repeat([[1, 2]], 8, 1),
)
difference = np.abs(row.reshape(2, T, 12) - before).max()
print(f"two pairs in one row, {row.shape}: largest difference {difference:.7f}")
assert difference < 1e-5

# %% [markdown]
# ## The masks side by side
#
# Rows are queries, columns are keys; a dark square is a pair that is allowed.

# %%
packed_causal = packed & causal[:1]
plot_masks(
    {
        "padding: 5 of 7 real": padding[0],
        "causal": causal[0],
        "decoder: both": both[0],
        "packed, causal: 3 + 3": packed_causal[0],
    }
)

# %% [markdown]
# The decoder's masks lie on and below the diagonal, the packed one once for each sentence. The row
# of a padding position is empty.

# %%
print("allowed:", *(int(mask.sum()) for mask in (padding[0], causal[0], both[0], packed_causal)))
assert not np.triu(both, k=1).any()
assert not np.triu(packed_causal, k=1).any()
assert not padding[0, 5:].any()

# %% [markdown]
# ## In three lines
#
# 1. True means "may look"; padding, the future and neighbours in a packed row are False.
# 2. A mask that is off by one raises no error; it only makes the loss too good to be true.
# 3. Test the outputs, not the mask: change one input and see which outputs change.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/04_what_must_not_be_seen.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Write a *local* mask: each position sees itself and the two before it. How far does a
# change reach after one block, and after two? (For two, give the output of an `EncoderBlock` to
# the same block once more.)

# %% [markdown]
# **2.** The decoder's attention to the source needs a mask too, of shape (B, T, S). Make it for two
# sources of lengths 5 and 3, and targets of T = 4 pieces. Which of its rows are equal, and why?

# %% [markdown]
# ## Your turn
#
# Hide the diagonal as well, `np.tril(np.ones((1, T, T), dtype=bool), k=-1)`, and train the tiny
# decoder with that. Look at `influence`: what does position 0, which may look at nothing, do?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [05 · Many heads](05_many_heads.ipynb)
