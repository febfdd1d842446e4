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
# # 14 · Somebody else's weights
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/14_somebody_elses_weights.ipynb)
#
# **How do we take over a model that a different toolkit has trained, number by number?** More than
# a thousand trained translation models are shared in the format of Hugging Face's Marian. We open
# such a file by hand, find the place of each matrix, and compute one attention from the file's
# numbers alone. Then we compare everything with the package's converter, and see what damage to the
# file does.
#
# *50 minutes · you need notebooks 05 and 06b.* Afterwards you can read a file of weights by hand,
# convert a layer, and say why names and shapes are not enough of a test.

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
# This is about the whole drawing: every box that has learned numbers, from the embeddings to the
# output projection, gets them from somebody else's file.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture, draw_shapes

draw_architecture()

# %%
import json
import tempfile
from pathlib import Path

import numpy as np
from keras import ops

import aiayn_keras as ak

# %% [markdown]
# ## A folder from elsewhere
#
# In this format a model is a folder. Notebooks download nothing, so we make one: **this folder
# stands in for a downloaded one. It is the included English–Spanish model, written in Marian's
# format by this package's own export.** For a real one you would give its address,
# `from_preset("hf://Helsinki-NLP/opus-mt-en-es")`. It would be read by the same steps, but only
# here do we have the original to compare with.

# %%
ours = ak.TransformerSeq2SeqLM.from_preset("../saved_models/tatoeba_en_es_keras")
folder = Path(tempfile.mkdtemp()) / "marian_en_es"
ours.export(folder, format="hf_marian")
for path in sorted(folder.iterdir()):
    print(f"{path.name:24}{path.stat().st_size / 1000:10,.1f} kB")

# %% [markdown]
# With `source.spm`, `target.spm` and `vocab.json`, text is cut into numbered pieces. `config.json`
# describes the architecture, and `model.safetensors` holds the numbers.

# %%
config = json.loads((folder / "config.json").read_text())
for name in ("model_type", "d_model", "encoder_layers", "encoder_attention_heads"):
    print(f"{name:26}{config[name]}")
for name in ("activation_function", "normalize_before", "tie_word_embeddings"):
    print(f"{name:26}{config[name]}")

# %% [markdown]
# ## The numbers, read by hand
#
# A file of the format *safetensors* has three parts: eight bytes with the length of a header; the
# header, in JSON; and then the numbers themselves. For each tensor, the header gives its format,
# its shape, and the bytes at which it begins and ends.
#
# **Predict:** The included model has 7,568,384 numbers. Does the file have the same number, fewer,
# or more?

# %%
content = (folder / "model.safetensors").read_bytes()
size = int.from_bytes(content[:8], "little")
header, numbers = json.loads(content[8 : 8 + size]), content[8 + size :]
remarks = header.pop("__metadata__")
print(f"header of {size:,} bytes, {len(header)} tensors, {len(numbers) // 4:,} numbers of 4 bytes")
print(f"that is {len(numbers) // 4 - ours.count_params():,} more than ours")
print("model.shared.weight:", header["model.shared.weight"])

# %% [markdown]
# The file has more numbers. In this format every dense layer has a bias, and so have the logits.
# Our attention has no biases, so the export wrote zeros. We read the tensors, count the zeros, and
# compare all tensors with what the package reads.


# %%
def tensor(name):
    """One tensor of the file as an array."""
    start, end = header[name]["data_offsets"]
    return np.frombuffer(numbers[start:end], "<f4").reshape(header[name]["shape"])


# %%
from aiayn_keras.convert.tensor_files import read_tensors

package = read_tensors(folder / "model.safetensors")
assert package.keys() == header.keys()
assert all(np.array_equal(tensor(name), package[name]) for name in header)
zeros = [name for name in header if not tensor(name).any()]
print(f"{len(zeros)} tensors of {sum(tensor(name).size for name in zeros):,} zeros, such as")
print(zeros[0])

# %% [markdown]
# ## Why a pickle is never opened
#
# Older folders have a `pytorch_model.bin` in place of the safetensors. Its numbers are described by
# a *pickle*. A pickle is not a table. It is a small program that builds Python objects, and it may
# call any function on the way. Here is one that calls a harmless function.


# %%
class Trap:
    """An object whose pickle names a function and what to call it with."""

    def __reduce__(self):
        return print, ("This line was run by opening a file.",)


# %% [markdown]
# **Predict:** `pickle.loads` is only meant to read these bytes. What do you see?

# %%
import pickle

trap = pickle.dumps(Trap(), protocol=2)  # the protocol of such files
print(f"{len(trap)} bytes; loading them:")
pickle.loads(trap)

# %% [markdown]
# Instead of `print`, the pickle could name a function that deletes your files. So the package never
# loads a pickle that way. In a child process with limits of memory and time, every function that it
# names is replaced by one that does nothing, and anything but a table of tensors is refused:

# %%
from aiayn_keras.convert.tensor_files import read_tensors

bad_file = folder.parent / "pytorch_model.bin"
bad_file.write_bytes(trap)
try:
    read_tensors(bad_file)
except ValueError as error:
    refusal = str(error).replace(f"{folder.parent}/", "")
    print(refusal)
assert "pytorch_model.bin" in refusal

# %% [markdown]
# ## A place for each name
#
# Both toolkits have the same layers under different names. In the first encoder layer, the names
# are:

# %%
DENSE = {
    "self_attn.q_proj": "self_attention/query",
    "self_attn.k_proj": "self_attention/key",
    "self_attn.v_proj": "self_attention/value",
    "self_attn.out_proj": "self_attention/output",
    "fc1": "feed_forward/hidden",
    "fc2": "feed_forward/output",
}
NORMS = {
    "self_attn_layer_norm": "self_attention_add_norm/layer_norm",
    "final_layer_norm": "feed_forward_add_norm/layer_norm",
}

# %% [markdown]
# A dense layer of PyTorch computes $x W^\top + b$, one of Keras $x W + b$: the matrices are
# *transposed*. And the two vectors of a normalization, γ and β, are called weight and bias there.

# %%
by_hand = {}
for theirs, place in DENSE.items():
    by_hand[f"{place}/kernel"] = tensor(f"model.encoder.layers.0.{theirs}.weight").T
    by_hand[f"{place}/bias"] = tensor(f"model.encoder.layers.0.{theirs}.bias")
for theirs, place in NORMS.items():
    by_hand[f"{place}/gamma"] = tensor(f"model.encoder.layers.0.{theirs}.weight")
    by_hand[f"{place}/beta"] = tensor(f"model.encoder.layers.0.{theirs}.bias")
for path, array in by_hand.items():
    print(f"{path:50}{array.shape}")

# %% [markdown]
# The package converts the whole folder when it is asked to load it. Its weights have paths, which
# here begin with `encoder_block_0/`.
#
# **Predict:** A query matrix is 256 by 256. If a converter forgot to transpose it, which check
# would notice that: the check of names, the check of shapes, or neither?

# %%
converted = ak.TransformerSeq2SeqLM.from_preset(folder)
weights = {weight.path: ops.convert_to_numpy(weight) for weight in converted.backbone.weights}
layer = {path: weights[f"encoder_block_0/{path}"] for path in by_hand}
assert all(np.array_equal(layer[path], by_hand[path]) for path in by_hand)
query = layer["self_attention/query/kernel"]
print(f"{len(by_hand)} arrays of the layer are equal, number by number")
print(f"transposed once more: shape {query.T.shape}, equal: {np.array_equal(query, query.T)}")

# %% [markdown]
# Neither, since name and shape fit. A translation may not show the mistake either: if one matrix in
# nine attentions is wrong, easy sentences are still translated well (exercise 2). Only the numbers
# reveal it. So we do not stop at names and shapes, but compute.
#
# ## The order of the sines
#
# The paper interleaves: unit 2i of a position is a sine, unit 2i + 1 the cosine of the same angle
# ([notebook 02](02_where_am_i.ipynb)). Marian puts all sines first, then all cosines. The file does
# not hold the table: both sides compute it.

# %%
from aiayn_keras.layers.positional_embedding import sinusoidal_encoding

D, H, S_MAX = config["d_model"], config["encoder_attention_heads"], 64
paper = sinusoidal_encoding(S_MAX, D)
order = np.concatenate([np.arange(0, D, 2), np.arange(1, D, 2)])  # sines, then cosines
marian = paper[:, order]
np.testing.assert_array_equal(marian, weights["encoder_embedding/table"][:S_MAX])
print("our unit of Marian's units 0, 1, 2 and 128, 129:", order[[0, 1, 2, 128, 129]])

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(8.4, 3.2), layout="constrained")
panels = figure.subplots(1, 2, sharey=True)
narrow = sinusoidal_encoding(S_MAX, 32)  # 256 columns would only flicker
halves = np.concatenate([narrow[:, ::2], narrow[:, 1::2]], axis=1)
for axes, table, title in zip(panels, (narrow, halves), ("paper", "Marian"), strict=True):
    image = axes.imshow(table, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set(title=title, xlabel="unit of the position, 32 in all")
panels[0].set_ylabel("position in the sentence")
figure.colorbar(image, ax=panels, label="value")
figure

# %% [markdown]
# Both tables hold the same columns in a different order. Apart from this table, all units are
# treated alike by the network: if all matrices are reordered in the same way, the function stays
# the same. So the export reordered the embeddings, and with them the rows or columns of each matrix
# that reads or writes these D units.

# %%
np.testing.assert_array_equal(
    tensor("model.shared.weight"),
    ops.convert_to_numpy(ours.backbone.token_embedding.embeddings)[:, order],
)
print("embeddings in the file: ours, with the units in Marian's order")

# %% [markdown]
# ## One attention from the file's numbers
#
# Now we compute the first attention of the encoder from nothing but the folder. We begin with the
# pieces of a text, and their numbers:

# %%
import sentencepiece

text = "The girl is very happy today."
cutter = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
table = json.loads((folder / "vocab.json").read_text())
pieces = [*cutter.encode(text, out_type=str), "</s>"]
ids = [table[piece] for piece in pieces]
print(*(f"{piece}={number}" for piece, number in zip(pieces, ids, strict=True)))
assert ids[:-1] == list(map(int, converted.preprocessor.tokenizer(text)))

# %% [markdown]
# Then we compute equation 1 for the H heads, with $x W^\top + b$ for each projection. The input is
# the embedding times √D, plus the position.

# %%
draw_shapes(
    *("x (S, D)", "project, split", "Q, K (H, S, d_k)", "softmax", "(H, S, S)"),
    *("· V", "(H, S, d_k)", "join", "(S, D)"),
)


# %%
def project(x, name):
    name = f"model.encoder.layers.0.self_attn.{name}_proj"
    return x @ tensor(f"{name}.weight").T + tensor(f"{name}.bias")


def split(x):
    return x.reshape(len(x), H, D // H).swapaxes(0, 1)  # (S, D) --> (H, S, d_k)


# %%
x = np.sqrt(D) * tensor("model.shared.weight")[ids] + marian[: len(ids)]
Q, K, V = (split(project(x, name)) for name in "qkv")
scores = Q @ K.swapaxes(1, 2) / np.sqrt(D // H)  # (H, S, S)
probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
probabilities /= probabilities.sum(axis=-1, keepdims=True)
attended = project((probabilities @ V).swapaxes(0, 1).reshape(len(ids), D), "out")
print("x", x.shape, "→ Q, K, V", Q.shape, "→ weights", probabilities.shape, "→", attended.shape)

# %% [markdown]
# The converted model's layer gives the same result for the same x. The included model has its units
# in a different order; once that is undone, it gives the same result, too.

# %%
row = ops.convert_to_tensor(x[None], "float32")
layer_output = np.array(converted.backbone.encoder_blocks[0].self_attention(row, row))[0]
np.testing.assert_allclose(attended, layer_output, atol=1e-4)
back = np.argsort(order)  # from Marian's order to ours
row = ops.convert_to_tensor(x[None][..., back], "float32")
shipped = np.array(ours.backbone.encoder_blocks[0].self_attention(row, row))[0]
np.testing.assert_allclose(attended[:, back], shipped, atol=1e-4)
print(f"largest difference to the converted layer: {np.abs(attended - layer_output).max():.1e}")

# %% [markdown]
# ## Where toolkits differ
#
# | | here | elsewhere | converted |
# |---|---|---|---|
# | normalization | after the sum | before the sublayer | as it is, or refused |
# | its ε | 1e-6 | 1e-5 in PyTorch | with theirs |
# | positions | interleaved, from 0 | halves, from 1, learned | a table beside the weights |
# | embeddings | one matrix | up to three | one in Marian, or refused |
# | length penalty | $((5 + n) / 6)^\alpha$ | $n^\alpha$ in transformers | you choose |
#
# The paper's order is *post-norm*: add, then normalize. Many newer models have *pre-norm*, which is
# a different network. A length penalty is not part of a model at all: `length_penalty_offset=0`
# makes our search use theirs.
#
# [docs/converting.md](../docs/converting.md) says more. We try two of these differences. The first
# is ε, which is added to the variance. It is easy to overlook, and it changes the function only
# where a vector is tiny, as this one is:


# %%
def normalize(x, epsilon):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)


small = 1e-3 * np.random.default_rng(1).normal(size=(5, D))  # so small that ε matters
for epsilon in (1e-6, 1e-5):
    print(f"ε = {epsilon}: standard deviation {normalize(small, epsilon).std():.3f}")
assert not np.allclose(normalize(small, 1e-6), normalize(small, 1e-5), rtol=0.1)

# %% [markdown]
# Marian's ε is ten times the included model's, so an export that copied all numbers would write a
# slightly different function. Ours also scales the numbers between the blocks so that their
# variances are ten times as large, too. Then the function stays the same.
#
# **Predict:** A search has found a translation of 4 tokens with a log-probability of −2.0 and one
# of 8 tokens with −3.0. With α = 1, do both rules of the length penalty choose the same?

# %%
lengths, log_probabilities = np.array([4, 8]), np.array([-2.0, -3.0])
for name, penalty in (("((5 + n) / 6)^α", (5 + lengths) / 6), ("n^α", lengths)):
    scores = log_probabilities / penalty
    print(f"{name:16} {np.round(scores, 3)}  → {lengths[scores.argmax()]} tokens")

# %% [markdown]
# They do not. With a different search, a converted model gives different translations, although all
# its weights are the same. So we compare the two models with the same search.
#
# ## The whole model
#
# Above, `from_preset` read the folder. In a shell it is `aiayn-keras convert FOLDER --output
# runs/from_elsewhere`.

# %%
texts = [text, "My brother lost his keys in the garden.", "I don't know what to say."]
search = {"num_beams": 4, "length_penalty": 0.0}
pairs = list(
    zip(ours.translate(texts, **search), converted.translate(texts, **search), strict=True)
)
for before, after in pairs:
    assert before.text == after.text
    print(f"{before.score:9.5f} {after.score:9.5f}  {after.text}")
    np.testing.assert_allclose(before.score, after.score, atol=1e-3)

# %% [markdown]
# ## What a damaged file does
#
# We damage the file in three ways: we change a byte of the header, remove the last 1,000 bytes, or
# flip the lowest bit of one number.


# %%
def said_of(damaged):
    """What the converter says of a folder with these bytes as its weights."""
    path = folder / "model.safetensors"
    path.write_bytes(damaged)
    try:
        ak.TransformerSeq2SeqLM.from_preset(folder)
        return "nothing: it is taken"
    except ValueError as error:
        return str(error).replace(f"{folder}/", "")
    finally:
        path.write_bytes(content)


# %% [markdown]
# **Predict:** Which of the three does the converter notice?

# %%
position = content.index(b"F32")
damages = {
    "header": content[:position] + b"X" + content[position + 1 :],
    "cut off": content[:-1000],
    "one bit": content[:-4] + bytes([content[-4] ^ 1]) + content[-3:],
}
said = {name: said_of(damaged) for name, damaged in damages.items()}
for name, answer in said.items():
    print(f"{name:8} {answer}\n")
assert [answer.startswith("nothing") for answer in said.values()] == [False, False, True]

# %% [markdown]
# The header must describe the file exactly, so damage to the header is noticed, and so are missing
# bytes. But the format has no checksum, and a changed number is still a number. Compare the sha256
# of a download with the published one; the included model's folder has a `SHA256SUMS` for that.
#
# How bad is one bit? We flip each of the 32 bits of one number, the second unit of `▁happy`, and
# see how far the logits of the sentence's first Spanish piece move.

# %%
vectors = ops.convert_to_numpy(converted.backbone.token_embedding.embeddings)
number = vectors[table["▁happy"], 1]
flipped = (number.view("uint32") ^ (1 << np.arange(32, dtype="uint32"))).view("float32")
inputs = ak.pack_token_ids([ids], [[2]])  # 2 is <s>
assert inputs["encoder_padding_mask"].all()
print(f"{number:.6f} becomes {flipped[0]:.6f} by bit 0, {flipped[31]:.6f} by bit 31")
print(f"and {flipped[30]:.1e} by bit 30")


# %%
def logits_with(value):
    """Logits of the first Spanish piece, with this value in place of the number."""
    changed = vectors.copy()
    changed[table["▁happy"], 1] = value
    converted.backbone.token_embedding.embeddings.assign(changed)
    return np.array(converted(inputs, training=False))[0, 0]


original = logits_with(number)
moved = np.array([np.abs(logits_with(value) - original).max() for value in flipped])
print("bits that move a logit by more than 0.01:", np.flatnonzero(~(moved <= 0.01)))

# %%
from aiayn_keras.plotting import COLORS

# %% [markdown]
# The picture shows all 32 bits, on a logarithmic axis:

# %%
figure = Figure(figsize=(8.4, 3.6), layout="constrained")
axes = figure.subplots()
parts = (("fraction", range(23), 0), ("exponent", range(23, 31), 1), ("sign", [31], 2))
for part, bits, color in parts:
    heights = np.maximum(moved[list(bits)], 1e-7)
    axes.scatter(bits, heights, color=COLORS[color], marker="os^"[color], label=part)
axes.set(yscale="log", xlabel="bit that was flipped", xticks=range(0, 32, 4))
axes.set_ylabel("largest change of a logit")
axes.text(30, 1e-3, "bit 30: NaN", rotation=90, ha="center", va="center")
axes.legend(frameon=False)
figure

# %% [markdown]
# The low bits of the fraction are lost in the rounding of float32 (a change of 0 is drawn at 10⁻⁷);
# from about bit 13 on, each moves the logits twice as far as the one before. Flipping any of the
# bits 26 to 29 makes the number nearly 0, as if it had been left out. Flipping bit 30 makes it −1.0
# · 10³⁷. That is a finite number, so the converter accepts it, but the logits become NaN ("not a
# number"), and the picture can only show that word.

# %% [markdown]
# ## In three lines
#
# 1. A checkpoint consists of names, shapes and numbers; to convert it, you need a table of names,
#    and to transpose matrices.
# 2. Shapes do not reveal a forgotten transposition or a different order of positions: compute and
#    compare.
# 3. Never load somebody else's pickle; a format without a checksum does not notice a flipped bit.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/14_somebody_elses_weights.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** In the decoder, attention to the source is called `encoder_attn` there and
# `cross_attention` here. Map its four matrices in `decoder.layers.2` by hand, and compare them with
# the converted model.

# %% [markdown]
# **2.** Forget one transposition on purpose: give the converted model the query matrix of the first
# encoder layer as it stands in the file. Does anything complain, and what does the model translate?

# %% [markdown]
# ## Your turn
#
# Flip bits of a different number: a γ of the last normalization, or the vector of a word that is
# not in the sentence. Which numbers of the file does this sentence not need at all?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [15 · Reading a sentence into a tree](15_reading_a_sentence_into_a_tree.ipynb)
