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
# # 12 · Any backend, many devices
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/12_any_backend_many_devices.ipynb)
#
# **Does a model give the same answer whichever engine runs it?** Keras 3 runs on TensorFlow, JAX
# and PyTorch. We load the same weights with each of them, compare the logits and the time of an
# update, and then share one update among four devices. (The paper trained on eight, section 5.2.)
#
# *25 minutes · you need notebook 07.* Afterwards you can choose a backend, say how far their
# numbers agree, and say what data parallelism computes.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## One process, one backend
#
# Keras reads its backend from the variable `KERAS_BACKEND` when it is imported, once per process.
# So each backend gets a process of its own, to which we hand a short program. The model is the
# whole of the paper's Figure 1:

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture

draw_architecture()

# %%
import json
import subprocess
import tempfile
from importlib.util import find_spec

import numpy as np

BACKENDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}

# %% [markdown]
# Backends that are not installed are left out.

# %%
installed = [name for name in BACKENDS if find_spec(name)]
folder = tempfile.mkdtemp()  # where the processes leave their logits
for name, title in BACKENDS.items():
    print(f"{title:>10}: {'installed' if name in installed else 'not installed'}")


# %%
def run(program, backend, **variables):
    """Runs a program in a process with this backend, and returns what its last line says."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "OUT": folder, **variables}
    command = [sys.executable, "-W", "ignore", "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-2000:]
    return json.loads(result.stdout.splitlines()[-1])


# %% [markdown]
# ## The program
#
# The first part loads the included model, makes one batch of demo pairs, and saves the logits `(B,
# T, V)`. No line of it names a backend.

# %%
MODEL = """
import json, os, time, keras, numpy as np
import aiayn_keras as ak
from aiayn_keras.data import load_corpus
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
"""

# %%
BATCH = """
pairs = load_corpus("demo", train_size=32).train
prepare = ak.TransformerSeq2SeqLMPreprocessor(model.preprocessor.tokenizer, 32, 32)
texts = {"encoder_text": list(pairs.sources), "decoder_text": list(pairs.targets)}
x, y, w = prepare(texts)
x, y, w = keras.tree.map_structure(keras.ops.convert_to_numpy, (x, y, w))
learner = ak.TransformerSeq2SeqLM(model.backbone)
"""
LOGITS = """
np.save(f"{os.environ['OUT']}/{keras.config.backend()}.npy", learner.predict(x, verbose=0))
"""

# %% [markdown]
# The second part translates a sentence and times six updates on the batch. The first three are not
# counted, since they include compiling. We take the fastest of the other three. `process_time` is
# the time that the processor works for this process alone, all its threads together.

# %%
STEPS = """
from aiayn_keras.backend import compiles_by_default
best = model.translate(["Our boy knows that the happy mothers sing every day."])[0]
learner.compile(jit_compile=compiles_by_default())
times = []
for _ in range(6):
    start = time.process_time()
    learner.train_on_batch(x, y, sample_weight=w)
    times.append(time.process_time() - start)
answer = {"text": best.text, "score": best.score, "seconds": min(times[3:])}
print(json.dumps(answer))
"""

# %% [markdown]
# **Predict:** Three engines, one set of weights. Will the translations be the same, and will their
# log-probabilities agree to five decimal places?

# %%
program = MODEL + BATCH + LOGITS + STEPS
answers = {backend: run(program, backend, OMP_NUM_THREADS="1") for backend in installed}
for backend, answer in answers.items():
    print(f"{BACKENDS[backend]:>10}: {answer['score']:.5f}  {answer['text']}")
assert len({answer["text"] for answer in answers.values()}) == 1

# %% [markdown]
# ## The same numbers
#
# The backends add numbers in different orders, so the last digits of float32 differ. First we look
# at how large the logits themselves are:

# %%
logits = {backend: np.load(f"{folder}/{backend}.npy") for backend in installed}
B, T, V = 32, 32, 1000
print(f"{B * T * V:,} logits, the largest {max(np.abs(a).max() for a in logits.values()):.1f}")
assert all(array.shape == (B, T, V) for array in logits.values())

# %% [markdown]
# **Predict:** A float32 has about seven digits. How large, then, is the largest difference between
# the logits of two backends?

# %%
print(f"{'':>10}", *(f"{BACKENDS[name]:>10}" for name in installed))
for one in installed:
    differences = [np.abs(logits[one] - logits[other]).max() for other in installed]
    print(f"{BACKENDS[one]:>10}", *(f"{difference:10.1e}" for difference in differences))
    assert max(differences) < 1e-3

# %% [markdown]
# Such small differences change no word here, and they change the scores only in their last digits:

# %%
scores = [answer["score"] for answer in answers.values()]
np.testing.assert_allclose(scores, scores[0], atol=1e-3)
best = [array.argmax(axis=-1) for array in logits.values()]
share = np.mean([(best[0] == other).mean() for other in best])
print(f"the same best piece at {share:.2%} of the positions")
assert share > 0.999

# %% [markdown]
# ## Many devices: one update, shared
#
# With *data parallelism*, each device has all the weights and a part of the batch, and the
# gradients are summed over the devices. The result must be that of one device with the whole batch.
# JAX can treat the processor as if it were four devices. That is slow, but shows whether the
# numbers agree.
#
# The program makes three updates of a model with one block on either side, once on one device and
# once on all four, starting from the same weights.

# %%
DEVICES = """
config = {**model.backbone.get_config(), "num_layers": 1, "dropout": 0.0}
weights = ak.TransformerBackbone.from_config(config).get_weights()
def trained(model, distribution):
    keras.distribution.set_distribution(distribution)
    copy = ak.TransformerSeq2SeqLM(ak.TransformerBackbone.from_config(config))
    copy.set_weights(weights)
    copy.compile(jit_compile=True)
    losses = [float(copy.train_on_batch(x, y, sample_weight=w)[0]) for _ in range(3)]
    return losses, [np.array(weight) for weight in copy.get_weights()]
"""

# %% [markdown]
# Dropout is 0 here, so that both trainings compute the same thing.

# %%
COMPARE = """
losses, one = trained(model, None)
distribution = keras.distribution.DataParallel(devices=keras.distribution.list_devices())
parallel_losses, four = trained(model, distribution)
def distance(ones, others):  # between two sets of weights, Euclidean
    return np.sqrt(sum(np.square(a - b).sum() for a, b in zip(ones, others)))
difference, moved = distance(one, four), distance(one, weights)
answer = {"losses": losses, "parallel": parallel_losses, "difference": float(difference)}
answer |= {"moved": float(moved), "devices": len(keras.distribution.list_devices())}
print(json.dumps(answer))
"""

# %% [markdown]
# **Predict:** After three updates, how far apart are the weights of the two trainings, compared
# with how far they have moved?

# %%
shared = None
if "jax" in installed:
    flags = "--xla_force_host_platform_device_count=4"
    shared = run(MODEL + BATCH + DEVICES + COMPARE, "jax", XLA_FLAGS=flags)
    print(f"{shared['devices']} devices with {B // shared['devices']} sentences each")
    print("one device: ", *(f"{loss:.6f}" for loss in shared["losses"]))
    print("four devices:", *(f"{loss:.6f}" for loss in shared["parallel"]))
    print(f"weights: moved by {shared['moved']:.1e}, differ by {shared['difference']:.1e}")
else:
    print("JAX is not installed: nothing to compare.")

# %%
if shared:
    share = shared["difference"] / shared["moved"]
    assert shared["devices"] == 4
    np.testing.assert_allclose(shared["parallel"], shared["losses"], rtol=1e-3)
    assert share < 0.02
    print(f"the weights differ by {share:.0e} of their way")
else:
    print("JAX is not installed: nothing to compare.")

# %% [markdown]
# There is one trap: the loss is a mean over *real pieces*. If each device took the mean of its own
# sentences and these means were averaged, a device with little text would count as much as one with
# a lot. Here all devices share one mean. In a recipe, `devices: data_parallel` does all this; see
# [docs/devices.md](../docs/devices.md).
#
# ## Time of an update
#
# JAX compiles the whole update with XLA, TensorFlow runs it as a graph, PyTorch runs one operation
# after another. This is processor time, for a small model and batch; with a GPU or a larger model
# the ranking can be different.

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(7.5, 2.6), layout="constrained")
axes = figure.subplots()
names = [BACKENDS[backend] for backend in installed]
milliseconds = [1000 * answers[backend]["seconds"] for backend in installed]
bars = axes.barh(names, milliseconds, color=COLORS[: len(names)])
axes.bar_label(bars, fmt="%.0f ms", padding=4)
print(dict(zip(names, map(round, milliseconds), strict=True)), "ms")

# %%
axes.invert_yaxis()
axes.set(xlim=(0, 1.15 * max(milliseconds)))
axes.set_xlabel(f"processor time of an update with {B} sentences (ms)")
axes.spines[["top", "right"]].set_visible(False)
figure

# %% [markdown]
# The bars show the fastest of three updates. On your machine the times will be different, and
# perhaps their order too; the logits will be the same up to rounding.

# %% [markdown]
# ## In three lines
#
# 1. The code names no backend; `KERAS_BACKEND` chooses one before Keras is imported.
# 2. The same weights give the same logits on all three, except for the last digits of float32.
# 3. Data parallelism shares a batch among devices; the update is the same as on one device.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/12_any_backend_many_devices.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** Why do the last digits differ at all? Add up the same 10,000 float32 numbers in two
# orders, and compare with the sum in float64.

# %% [markdown]
# **2.** Two devices have sentences with 30 and 2 real pieces, and mean losses of 2 and 6 nats per
# piece. What is the loss of the whole batch, and what would the mean of the two means be?

# %% [markdown]
# ## Your turn
#
# Change the sentence in `STEPS`, and let all backends translate yours:
# `run(MODEL + BATCH + STEPS, backend)` for each `backend` in `installed`.

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [13 · Out of the notebook](13_out_of_the_notebook.ipynb), where the model runs without
# Python.
