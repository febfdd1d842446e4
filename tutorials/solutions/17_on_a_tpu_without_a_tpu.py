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
# # Solutions to 17 · On a TPU without a TPU
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/17_on_a_tpu_without_a_tpu.ipynb)
#
# These are answers to the exercises of [17 · On a TPU without a
# TPU](../17_on_a_tpu_without_a_tpu.ipynb).

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

import numpy as np

# %% [markdown]
# The chips' published figures, and the bytes and FLOPs of a product, as in the lesson:

# %%
sys.path.insert(0, "../..")
from benchmarks.tpu.chips import CHIPS

v5e, v6e = CHIPS["v5e"], CHIPS["v6e"]
for name, chip in (("v5e", v5e), ("v6e", v6e)):
    print(f"{name}: {chip.flops / chip.bandwidth:.0f} FLOPs in the time of one byte")


# %%
def intensity(n, D, F):
    """FLOPs a byte of the product (n, D) by (D, F) in bfloat16."""
    return 2 * n * D * F / (2 * (n * D + D * F + n * F))


# %% [markdown]
# **1.** From how many pieces n on does the feed-forward product of the base model no longer wait
# for memory, on a v5e and on a v6e? What changes for the big model (D = 1024, F = 4096)?


# %%
def fewest_tokens(chip, D, F):
    """Fewest tokens with which the product is not held up by memory; None if there are none."""
    ridge = chip.flops / chip.bandwidth
    return next((n for n in range(1, 100_000) if intensity(n, D, F) >= ridge), None)


# %%
found = {}
for model, D, F in (("base", 512, 2048), ("big", 1024, 4096)):
    for kind, chip in (("v5e", v5e), ("v6e", v6e)):
        found[model, kind] = fewest_tokens(chip, D, F)
        print(f"{model:4} on {kind}: {found[model, kind]}; never above {D * F / (D + F):.0f}")
assert list(found.values()) == [583, None, 341, 1768]

# %% [markdown]
# Every token is read and written, however many there are, so the FLOPs for each byte stay below D ·
# F / (D + F). For base that is 410, and a v6e needs 560. So even the largest product in a layer of
# base waits for memory there, however large the batch. The wider model makes better use of that
# chip.

# %% [markdown]
# **2.** Compute a sum over a ring by hand. Each of m chips has a vector, cut into m parts. In step
# s chip i sends its part i − s (modulo m) to chip i + 1, which adds it to its own in the first m −
# 1 steps, and replaces its own by it in m − 1 further steps. Write it in NumPy for m = 4, 16 and
# 256: does every chip end with the sum, and how much has each sent? How long does that take for the
# 240 MB of the base model at 100 GB/s, and what time does it never exceed, for any m?


# %%
def ring_sum(vectors):
    """What each of m chips holds after the sum, and how many numbers each has sent."""
    m, sent = len(vectors), 0
    parts = vectors.reshape(m, m, -1).copy()  # chip, part, numbers
    chips = np.arange(m)
    for step in range(2 * (m - 1)):
        part, right = (chips - step) % m, (chips + 1) % m
        moving = parts[chips, part]
        parts[right, part] = moving + (parts[right, part] if step < m - 1 else 0)
        sent += moving[0].size
    return parts.reshape(m, -1), sent


# %%
speed, times = 2 * v5e.link_bandwidth, {}
for m in (4, 16, 256):
    vectors = np.random.default_rng(1).normal(size=(m, 2 * m))
    held, sent = ring_sum(vectors)
    np.testing.assert_allclose(held, np.tile(vectors.sum(axis=0), (m, 1)), atol=1e-9)
    share = sent / vectors.shape[1]
    times[m] = 240e6 * share / speed
    print(f"{m:3} chips: each sends {share:.3f} times its vector, {1e3 * times[m]:.2f} ms")
    assert np.isclose(share, 2 * (m - 1) / m)
print(f"below {1e3 * 2 * 240e6 / speed:.1f} ms for any m")
assert times[4] < times[16] < times[256] < 2 * 240e6 / speed

# %% [markdown]
# After the first m − 1 steps each chip has one complete part of the sum; after m − 1 more it has
# all parts. In each step a chip sends one of its m parts, so in all it sends 2 (m − 1) / m times
# its vector: always less than twice, however many chips there are. What does grow is the number of
# steps, and with it the waiting between them, which this count leaves out.
