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
# # 17 · On a TPU without a TPU
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/17_on_a_tpu_without_a_tpu.ipynb)
#
# **How fast would this model train on a chip that we do not have?** Work can be counted, and makers
# publish what their chips can do. We count the operations of a training step by hand, let a
# compiler count them too, compare with the paper's own estimate, and project a time. Then we read
# what the compiler for TPUs said. In this notebook, *projected* means that something was only
# computed, and *measured* that it was run.
#
# *55 minutes · you need notebook 06b.* Afterwards you can count the operations of a training step,
# say whether memory or arithmetic limits it, and compute an MFU.

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
# Blue marks the boxes that are matrix products or contain some, and the steps inside each attention
# that are matrix products. This notebook counts their work.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture

draw_architecture(
    *("encoder_self_attention", "decoder_self_attention", "cross_attention"),
    *("heads", "scores", "weighted_values", "joined_heads"),
    *("feed_forward", "output_projection"),
)

# %%
import json
import re
from pathlib import Path
from time import process_time

import numpy as np
import tensorflow as tf

import aiayn_keras as ak

# %% [markdown]
# ## Count the work
#
# Nearly all of a Transformer's work is in matrix products. A product of (a, b) by (b, c) has a·c
# results, each a sum of b products: 2·a·b·c operations (*FLOPs*), counting additions too.


# %%
def product(a, b, c):
    return 2 * a * b * c


# %%
def forward(N, D, F, V, S, T):
    """FLOPs of the matrix products for one pair of sentences, by part."""
    pairs = ((S, S), (T, T), (T, S))  # queries and keys of the three attentions
    return {
        "projections of attention": N * sum(2 * product(t + s, D, D) for t, s in pairs),
        "scores, and weights · V": N * sum(2 * product(t, D, s) for t, s in pairs),
        "feed-forward": N * 2 * product(S + T, D, F),
        "projection to logits": product(T, D, V),
    }


# %% [markdown]
# The paper's base model has N = 6 layers of width D = 512, with F = 2,048 and V = 37,000. We take
# rows of 256 positions, filled with several sentences each.
#
# **Predict:** Which of the four parts is the largest? And how large is the share of the part that
# grows with the square of the length, the scores and weights · V?

# %%
BASE = {"N": 6, "D": 512, "F": 2048, "V": 37_000}
parts = forward(**BASE, S=256, T=256)
row = sum(parts.values())
for part, flops in parts.items():
    print(f"{part:26}{flops / 1e9:6.2f} GFLOPs {flops / row:5.0%}")
print(f"{'forward, one row':26}{row / 1e9:6.2f} GFLOPs")

# %% [markdown]
# What does it cost to compute the gradients? If Y = X W, the gradient for X is a product of the
# same size, and so is the gradient for W. So training takes three times the forward work.
#
# ## A compiler counts, too
#
# XLA compiles TensorFlow's and JAX's programs, for processors as well as TPUs. We let it translate
# a whole update of a small model, forward and backward. The sizes are small and all different, so
# that a wrong count cannot agree by chance.

# %%
SMALL = {"N": 2, "D": 32, "F": 48, "V": 97}
B, S, T = 3, 11, 7
sizes = {"num_layers": SMALL["N"], "hidden_dim": SMALL["D"], "intermediate_dim": SMALL["F"]}
backbone = ak.TransformerBackbone(SMALL["V"], num_heads=4, **sizes, dropout=0.0)
small, loss = ak.TransformerSeq2SeqLM(backbone), ak.LabelSmoothedCrossEntropy(0.1)
inputs = ak.pack_token_ids(np.ones((B, S), "int32"), np.ones((B, T), "int32"))
print("logits:", small(inputs, training=False).shape)


# %%
@tf.function(jit_compile=True)
def gradients(inputs):
    with tf.GradientTape() as tape:
        value = loss(inputs["decoder_token_ids"], small(inputs, training=True))
    return tape.gradient(value, small.trainable_variables)


# %%
program = gradients.experimental_get_compiler_ir(inputs)(stage="hlo")
products = [line for line in program.splitlines() if " dot(" in line]
print(f"{len(program.splitlines()):,} lines, {len(products)} of them matrix products; the first:")
print(re.sub(r", metadata=.*", "", products[0]).strip())

# %% [markdown]
# Such a line gives the shape of the result, the shapes of both factors, and the dimension of the
# left factor that is summed over. That is all we need for counting.


# %%
def numbers(text):
    return [int(n) for n in text.split(",")]


def dot_flops(line):
    """FLOPs of one product."""
    result, left = re.search(r"= \w+\[([\d,]*)\]\S* dot\(\w+\[([\d,]*)\]", line).groups()
    summed = numbers(re.search(r"lhs_contracting_dims={([\d,]+)}", line)[1])
    return 2 * np.prod(numbers(result)) * np.prod([numbers(left)[i] for i in summed])


# %% [markdown]
# Our count is 3 · forward, for B pairs.
#
# **Predict:** The compiler's program also has softmax, normalization, sums and the lookups of
# embeddings. Will its products have more FLOPs than our count by hand, fewer, or the same?

# %%
counted = sum(dot_flops(line) for line in products)
by_hand = 3 * B * sum(forward(**SMALL, S=S, T=T).values())
print(f"by hand {by_hand:,}, in the compiler's program {counted:,}")
assert by_hand == counted
assert len({B, S, T, 4, *SMALL.values()}) == 4 + len(SMALL)

# %% [markdown]
# They have the same number, to the last operation, because nothing else in the program is a matrix
# product. The rest of the program takes time nevertheless, as we shall see.
#
# ## The paper's count
#
# Table 2 of the paper gives the training cost of the base model as 3.3 · 10¹⁸ FLOPs. It is not a
# count of operations. It multiplies the training time (12 hours), the number of GPUs (8) and what
# the authors assume to be the sustained speed of a P100, 9.5 · 10¹² operations a second.
#
# **Predict:** The training had 100,000 steps of 25,000 source and 25,000 target tokens. Are the
# operations of its matrix products more or fewer than 3.3 · 10¹⁸?

# %%
paper = 12 * 3600 * 8 * 9.5e12
needed = 3 * row / 256 * 25_000 * 100_000
print(f"paper's estimate {paper:.1e}, matrix products {needed:.1e}: {needed / paper:.0%} of it")
assert f"{paper:.1e}" == "3.3e+18"

# %% [markdown]
# About a third. (Ours is for full rows of 256; the paper's shorter sentences have a little less
# attention, and had some padding.) So the paper's figure says how much the occupied GPUs could have
# computed, and the model needed a third of that. *Model FLOPs utilization*, **MFU**, is the model's
# own work as a share of what the chip could do at its *peak* speed.
#
# ## Two speeds of a chip
#
# A chip has a peak speed for matrix operations, and a bandwidth for its memory. The published
# figures of three TPUs and a GPU are in the repository's tool for TPUs. For the TPUs it names
# Google's page as their source; the line of the GPU (h100) is NVIDIA's data sheet for the SXM
# model.

# %%
sys.path.insert(0, "..")  # the repository: its benchmarks are no part of the package
from benchmarks.tpu.chips import CHIPS, Chip

print("TPUs:", re.search(r"https:[^)]+", Chip.__doc__)[0])
for name, chip in CHIPS.items():
    ridge = chip.flops / chip.bandwidth
    print(f"{name:5}{chip.flops / 1e12:5.0f} TFLOP/s, {chip.bandwidth / 1e9:5.0f} GB/s", end="")
    print(f": {ridge:4.0f} operations in the time of one byte")

# %% [markdown]
# If an operation has fewer FLOPs for each byte that it moves than the number at the end of the
# line, it waits for memory. This is the *roofline* model: the time of an operation is FLOPs / peak
# or bytes / bandwidth, whichever is longer. We count FLOPs and bytes for parts of an update with n
# = 6,144 pieces on a v5e, at two bytes per number (bfloat16).


# %%
def matrix(a, b, c, copies=1):
    """FLOPs and bytes of so many products of (a, b) by (b, c): read both, write the result."""
    return copies * product(a, b, c), copies * 2 * (a * b + b * c + a * c)


# %%
n, D, F, V = 6144, BASE["D"], BASE["F"], BASE["V"]

work = {
    "feed-forward": matrix(n, D, F),
    "projection to logits": matrix(n, D, V),
    "scores, 8 heads": matrix(256, 64, 256, copies=8 * n // 256),
    "residual sum": (n * D, 3 * 2 * n * D),
    "Adam, each float32": (12 * 63e6, 7 * 4 * 63e6),  # reads w, m, v, g; writes w, m, v
    "feed-forward, 4 beams": matrix(4, D, F),
}
print(f"{len(work)} operations; feed-forward: {work['feed-forward'][0] / 1e9:.1f} GFLOPs")

# %% [markdown]
# The last one belongs to a search: one new piece for each of the four beams of one sentence.
#
# **Predict:** A v5e does 241 operations in the time of one byte. Which of the six wait for memory?

# %%
v5e = CHIPS["v5e"]
intensity = {name: flops / moved for name, (flops, moved) in work.items()}
for name, (flops, moved) in work.items():
    times = flops / v5e.flops, moved / v5e.bandwidth
    waits = "memory" if times[1] > times[0] else "products"
    print(f"{name:22}{intensity[name]:7.1f} FLOPs a byte, {1e6 * max(times):8.1f} µs: {waits}")

# %% [markdown]
# Only the large products keep the matrix units busy. The scores have heads of only 64 numbers;
# residual sums, normalization, dropout and Adam do next to nothing with each byte; and a search
# with few sentences reads all the weights for a handful of pieces. (A compiler *fuses* small
# operations into one that reads and writes only once, which saves memory traffic.)
#
# ## Why the batch matters, and padding
#
# We take the feed-forward product with n pieces. The weights are read once, for any n.

# %%
ridge = v5e.flops / v5e.bandwidth
for tokens in (1, 16, 256, 1024, 6144):
    flops, moved = matrix(tokens, D, F)
    print(f"n = {tokens:5}: at most {min(1, flops / moved / ridge):6.1%} of the peak")

# %% [markdown]
# So the batch must be large. But filling it with padding does not help, since the chip multiplies
# padded positions, too. We fill batches with the sentences of the demo corpus in three ways: as
# they come; sorted by length; and *packed*, several sentences in a row of 256. First we look at
# their lengths, in words:

# %%
from aiayn_keras.data import load_corpus

lengths = np.array(
    [len(text.split()) + 1 for text in load_corpus("demo", train_size=6400).train.sources]
)
print("words and end tokens of the first pairs:", *lengths[:16])


# %%
def padding(batches):
    """Share of padding if each batch is as wide as its longest sentence."""
    return 1 - sum(map(sum, batches)) / sum(len(batch) * max(batch) for batch in batches)


# %% [markdown]
# **Predict:** What share of the positions is padding in each of the three?

# %%
rows = [[]]
for length in lengths:
    rows = rows if sum(rows[-1]) + length <= 256 else [*rows, []]
    rows[-1].append(length)
print(f"as they come {padding(lengths.reshape(-1, 64)):.1%}", end=", ")
print(f"sorted {padding(np.sort(lengths).reshape(-1, 64)):.1%}", end=", ")
print(f"packed {1 - lengths.sum() / (256 * len(rows)):.1%}")

# %% [markdown]
# Real text has more varied lengths than this corpus: on Multi30k the package *measured* 12.7 %
# padding in batches of similar lengths and 3.7 % in packed rows
# ([docs/benchmarks.md](../docs/benchmarks.md)).
#
# ## Many chips: the gradients must be summed
#
# Under data parallelism each chip has its own rows and all the weights, and gradients are summed
# over the chips, in an *all-reduce*. First we count the weights, and check the count against the
# small model:


# %%
def parameters(N, D, F, V):
    attention, feed_forward, norm = 4 * D * D, 2 * D * F + F + D, 2 * D
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return {"layers": N * (encoder + decoder), "embeddings": V * D}


assert sum(parameters(**SMALL).values()) == small.count_params()
base = parameters(**BASE)
print({name: f"{count / 1e6:.1f} million" for name, count in base.items()})

# %% [markdown]
# If the products are computed in bfloat16, we expect two bytes for each gradient of the layers. The
# embedding matrix has two gradients, from the lookups and from the projection to logits, and we
# take float32 for their sums. In a ring, each of m chips sends 2 (m − 1) / m times its bytes. In a
# grid of 2 × 2, a v5e has two links. Below we shall see whether the compiler's program sums the
# same number of bytes.

# %%
sent = 2 * base["layers"] + 2 * 4 * base["embeddings"]
m, links = 4, 2
speed = links * v5e.link_bandwidth
exchange = sent * 2 * (m - 1) / m / speed
print(f"{sent / 1e6:.0f} MB, {1e3 * exchange:.1f} ms at {speed / 1e9:.0f} GB/s")

# %% [markdown]
# ## What the compiler for TPUs says
#
# That compiler runs on any Linux machine. `python -m benchmarks.tpu` gives it the package's update
# for chips that are not there, and reads the program that comes back: its products, the bytes it
# moves, its exchanges. It is not part of the notebooks' installation, and needs some minutes for
# each program. So we read stored figures. **All of these are projections: nothing was run on a
# TPU.**

# %%
report = json.loads(Path("data/tpu_projections.json").read_text("utf-8"))
print(report["command"], report["compiler"], sep="\n")
for one in report["records"]:
    print(f"{one['preset']:5}{one['topology']:10}", end="")
    print(f"{one['step_ms']['roofline']:4} to {one['step_ms']['compiler']:3} ms a step,", end=" ")
    print(f"{one['moved_gb']:5.1f} GB moved, {one['all_reduce_mb']} MB summed over the chips")

# %% [markdown]
# The first time puts each operation of the program on the roofline. The second is what XLA's own
# model of the chip expects. It knows the small operations better, so a real chip is likely to be
# closer to it.
#
# **Predict:** We know the work of an update on a v5e chip (24 rows) and its peak. If an update
# takes 21 ms, or 35 ms, what is the MFU?

# %%
step = 24 * 3 * row
v5e_base = report["records"][0]
print(f"products alone, at the peak: {1e3 * step / v5e.flops:.1f} ms")
for kind, milliseconds in v5e_base["step_ms"].items():
    mfu = step / (milliseconds / 1e3) / v5e.flops
    print(f"{kind:9} {milliseconds} ms: MFU {mfu:.0%}, kept {v5e_base['mfu_percent'][kind]} %")
    assert abs(100 * mfu - v5e_base["mfu_percent"][kind]) < 2  # milliseconds are rounded
assert round(sent / 1e6) == v5e_base["all_reduce_mb"]

# %% [markdown]
# The compiler's program sums the 240 MB that we expected, and the compiler's own figure for the
# exchange is 3.6 ms, as ours is ([docs/devices.md](../docs/devices.md)). Memory is nearly as busy
# as the products: 9.0 GB at 819 GB/s take 11 ms. The paper's updates, 100,000 for base and 300,000
# for big, would take:

# %%
for one in report["records"]:
    updates = {"base": 100_000, "big": 300_000}[one["preset"]]
    hours = [updates * 25_000 / (4 * 6144) * ms / 3.6e6 for ms in one["step_ms"].values()]
    print(
        f"{one['preset']:5}{one['topology']:10} {hours[0]:.1f} to {hours[1]:.1f} hours on 4 chips"
    )

# %% [markdown]
# ## Measured: the processor that is here
#
# One thing can be measured anywhere: the MFU of this processor. We take its best speed in a large
# matrix product as its peak, and count operations per second of processor time (which other
# programs disturb less than the time on the clock).


# %%
def seconds(function, *inputs):
    """Least processor time of six calls; the first compiles."""
    times = []
    for _ in range(6):
        start = process_time()
        np.array(tf.nest.flatten(function(*inputs))[0])
        times.append(process_time() - start)
    return min(times)


# %%
large, multiply = tf.random.normal((1024, 1024)), tf.function(tf.matmul)
peak = product(1024, 1024, 1024) / seconds(multiply, large, large)
print(f"measured: {peak / 1e9:.0f} GFLOP/s a core in a product of 1,024 by 1,024")

# %% [markdown]
# **Predict:** What share of that will an update of a model of width 128 reach?

# %%
HERE = {"N": 2, "D": 128, "F": 512, "V": 1000}
backbone = ak.TransformerBackbone(HERE["V"], HERE["N"], 4, HERE["D"], HERE["F"])
here = ak.TransformerSeq2SeqLM(backbone)
ids = np.ones((32, 32), "int32")
batch = ak.pack_token_ids(ids, ids)
here.compile(jit_compile=False)
here.train_on_batch(batch, ids)
taken = seconds(lambda x: here.train_on_batch(x, ids), batch)
share = 32 * 3 * sum(forward(**HERE, S=32, T=32).values()) / taken / peak
print(f"measured: {1e3 * taken:.0f} ms of processor time an update, MFU {share:.0%}")
assert 0 < share < 1

# %% [markdown]
# ## The roofline, drawn
#
# On the left is the roof of a v5e: it rises where memory is the limit, and is flat where the peak
# speed is. The dots are the six operations. On the right is the projected time of an update, by the
# roofline and by the compiler.


# %%
def draw_roof(axes, chip):
    axis = np.logspace(-1, 4, 100)
    axes.loglog(axis, np.minimum(chip.flops, axis * chip.bandwidth) / 1e12, color=COLORS[0])
    for name, value in intensity.items():
        height = min(chip.flops, value * chip.bandwidth) / 1e12
        axes.plot(value, height, "o", color=COLORS[1])
        place, side = ((-5, 6), "right") if name == "feed-forward" else ((6, -12), "left")
        axes.annotate(name, (value, height), place, textcoords="offset points", ha=side, fontsize=8)
    axes.set(xlabel="FLOPs for each byte moved", xlim=(0.1, 3e5), ylim=(0.05, 3000))
    axes.set_ylabel("TFLOP/s that are possible")


# %%
def draw_steps(axes, records):
    for shift, kind, color in ((-0.2, "roofline", 0), (0.2, "compiler", 1)):
        heights = [one["step_ms"][kind] for one in records]
        places = np.arange(len(records)) + shift
        bars = axes.bar(places, heights, 0.38, color=COLORS[color], label=f"projected: {kind}")
        axes.bar_label(bars)
    axes.set_xticks(range(len(records)), [f"{one['preset']}\n{one['topology']}" for one in records])
    axes.set_ylabel("an update with 6,144 pieces on each chip (ms)")
    axes.legend(frameon=False, loc="upper left")


# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(10.5, 4.2), layout="constrained")
roof, steps = figure.subplots(1, 2)
draw_roof(roof, v5e)
draw_steps(steps, report["records"])
figure

# %% [markdown]
# The v6e has nearly five times the peak of a v5e, but only twice its bandwidth, and the compiler's
# program for it moves more bytes (the table above). So an update takes half the time, and the MFU
# falls. If you have a real chip, you can check a projection in five minutes: `python -m
# benchmarks.accelerator` ([docs/devices.md](../docs/devices.md)).

# %% [markdown]
# ## In three lines
#
# 1. An update costs 3 · forward in matrix products; our count and the compiler's are equal.
# 2. Time is the longer of FLOPs / peak and bytes / bandwidth; large batches without padding keep
#    the matrix units busy.
# 3. MFU is the model's own work as a share of what the chip's peak allows; a projection is not a
#    measurement.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/17_on_a_tpu_without_a_tpu.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** From how many pieces n on does the feed-forward product of the base model no longer wait
# for memory, on a v5e and on a v6e? What changes for the big model (D = 1024, F = 4096)?

# %% [markdown]
# **2.** Compute a sum over a ring by hand. Each of m chips has a vector, cut into m parts. In step
# s chip i sends its part i − s (modulo m) to chip i + 1, which adds it to its own in the first m −
# 1 steps, and replaces its own by it in m − 1 further steps. Write it in NumPy for m = 4, 16 and
# 256: does every chip end with the sum, and how much has each sent? How long does that take for the
# 240 MB of the base model at 100 GB/s, and what time does it never exceed, for any m?

# %% [markdown]
# ## Your turn
#
# Choose a D and an F of your own, and find with `matrix` the batch at which the feed-forward
# product reaches the roof. Or add your GPU's published peak and bandwidth, and draw its roof beside
# that of the v5e.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [18 · From here to GPT](18_from_here_to_gpt.ipynb), which needs only half of the model.
