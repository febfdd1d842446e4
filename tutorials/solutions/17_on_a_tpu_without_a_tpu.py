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
# To the exercises of [17 · On a TPU without a TPU](../17_on_a_tpu_without_a_tpu.ipynb).

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
# **1.** From how many tokens n on is the feed-forward product of the base model not held up by
# memory, on a v5e and on a v6e? What changes for the big model (D = 1024, F = 4096)?


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
# However many tokens there are, each is read and written, and so the FLOPs a byte stay below D · F
# / (D + F). For base that is 410, and a v6e wants 560: its memory holds up even the largest product
# of a layer of base, at any batch. The wider model is the better use of that chip.

# %% [markdown]
# **2.** The gradients of the base model are 240 MB. How long does their sum take on 4, 16 and 256
# chips of a v5e, with two links for a grid of 2 × 2 and four for larger ones? Why does it not grow
# with the number of chips?

# %%
grids = {4: 2, 16: 4, 256: 4}  # chips: links of each
times = {}
for chips, links in grids.items():
    sent = 240e6 * 2 * (chips - 1) / chips
    times[chips] = 1e3 * sent / (links * v5e.link_bandwidth)
    print(f"{chips:3} chips: each sends {sent / 1e6:.0f} MB, {times[chips]:.1f} ms")
assert times[256] < times[4]

# %% [markdown]
# Each chip sends less than twice the gradients, however many there are: in a ring every chip passes
# on one part at a time, and all links work at once. What does grow is the number of steps, and with
# it the waiting between them, which this count leaves out.
