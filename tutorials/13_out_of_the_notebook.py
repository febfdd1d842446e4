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
# # 13 · Out of the notebook
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/13_out_of_the_notebook.ipynb)
#
# **How does a model leave Python, and what must travel with it?** We write the trained model as a
# SavedModel for TensorFlow Serving: text in, text out, with the tokenizer and the search of the
# paper's section 6.1 inside. Then we use it without this package's model code, ask it over the
# network as a client would, and measure what batches are good for.

# %% tags=["colab"]
import os
import sys

if "google.colab" in sys.modules:
    from IPython import get_ipython

    get_ipython().system("git clone --depth 1 https://github.com/aiayn-keras/aiayn_keras")
    get_ipython().system("pip install --quiet ./aiayn_keras")
    os.chdir("aiayn_keras/tutorials")

# %% [markdown]
# ## Export
#
# One call writes a version of the model and, beside it, all that the server needs to run it.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

import numpy as np

import aiayn_keras as ak

model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")

# %%
import tempfile
from pathlib import Path

import tensorflow as tf

tf.get_logger().setLevel("ERROR")  # it would tell where it writes
folder = Path(tempfile.mkdtemp()) / "demo_en_de"
version = model.export(folder, num_beams=4, length_penalty=0.6)
assert version == folder / "1"

# %% [markdown]
# ## What is in the kit

# %%
for path in sorted(folder.rglob("*")):
    depth = len(path.relative_to(folder).parts)
    size = f"{path.stat().st_size / 1000:10,.1f} kB" if path.is_file() else ""
    print(f"{'    ' * (depth - 1) + path.name:52}{size}".rstrip())

# %% [markdown]
# - `1/saved_model.pb` is the graph: tokenizer, encoder, the loop of the beam search, detokenizer.
#   The weights are under `variables`. Numbered folders are versions; a newer one can be rolled out
#   and back.
# - `tf_serving_warmup_requests` are run when the server loads the model, so that the first user
#   does not wait.
# - `models.config` gives versions their labels, `batching.config` says how requests are put
#   together.
# - `SHA256SUMS` shows whether a copy is whole.

# %%
assert (version / "saved_model.pb").is_file()
kit = {path.name for path in folder.iterdir()}
assert {"models.config", "batching.config", "docker-compose.yml", "README.md"} <= kit

# %% [markdown]
# ## Use it without the model's code
#
# Only TensorFlow and TensorFlow Text are needed, whose operations the tokenizer uses. A
# **signature** is a function of the SavedModel with named inputs and outputs.

# %%
import tensorflow_text  # noqa: F401 - the graph has its operations

loaded = tf.saved_model.load(version)
for name, function in loaded.signatures.items():
    inputs = ", ".join(sorted(function.structured_input_signature[1]))
    print(f"{name}({inputs}) → {', '.join(sorted(function.structured_outputs))}")
assert "serving_default" in loaded.signatures

# %%
sources = [
    "The girl is happy.",
    "Our boy knows that the happy mothers sing every day.",
    "Their man is seventy-one years old.",
]
answer = loaded.signatures["serving_default"](text=tf.constant(sources))
served = [text.decode() for text in answer["translation"].numpy()]
print(*served, sep="\n")

# %% [markdown]
# An export is only worth something if it gives the same as the model in the notebook, text **and**
# score:

# %%
translations = model.translate(sources, num_beams=4, length_penalty=0.6)
assert served == [translation.text for translation in translations]
scores = [translation.score for translation in translations]
np.testing.assert_allclose(answer["score"], scores, atol=1e-3)

# %% [markdown]
# What a text's answer is does not depend on the others in its batch, although a long neighbour
# makes it padded. Else two users whose requests meet in a batch would change each other's
# translations.

# %%
for source, score in zip(sources, answer["score"].numpy(), strict=True):
    alone = loaded.signatures["serving_default"](text=tf.constant([source]))
    np.testing.assert_allclose(alone["score"][0], score, atol=1e-3)
    assert alone["translation"][0].numpy().decode() in served

# %% [markdown]
# ## The server
#
# With Docker, the kit runs by this command in its folder (the kit's README has it, with batching):
#
# ```shell
# docker run --rm -p 127.0.0.1:8500:8500 -p 127.0.0.1:8501:8501 \
#     -v "$PWD:/models/demo_en_de:ro" tensorflow/serving \
#     --model_config_file=/models/demo_en_de/models.config
# ```
#
# A notebook has no Docker. Here a **stand-in** answers: the package's test double, which speaks
# the official messages of gRPC and REST around the loaded SavedModel, on this machine alone. It
# makes no batches and is no measure of the real server's speed; the clients cannot tell the
# difference.

# %%
sys.path.insert(0, "..")  # the repository, for its tests
from tests.serving.loopback_server import LoopbackServer

server = LoopbackServer(folder)
print(f"serves {server.model.name!r}, versions {sorted(server.model.loaded)}")

# %% [markdown]
# ## Ask it: REST and gRPC
#
# REST is JSON over HTTP: readable, and every language has it. gRPC is binary and faster for large
# answers. Both clients have the same methods, and ask again when the server is unavailable.

# %%
from aiayn_keras.serving import GrpcClient, RestClient

rest = RestClient(f"http://127.0.0.1:{server.rest_port}", "demo_en_de", deadline=120)
grpc = GrpcClient(f"127.0.0.1:{server.grpc_port}", "demo_en_de", deadline=120)
for client in (rest, grpc):
    texts = [translation.text for translation in client.translate(sources)]
    print(type(client).__name__, texts[0])
    assert texts == served

# %% [markdown]
# The same request without any client, as `curl` would send it:

# %%
import json
import urllib.request

url = f"http://127.0.0.1:{server.rest_port}/v1/models/demo_en_de:predict"
body = json.dumps({"inputs": {"text": sources[:1]}}).encode()
with urllib.request.urlopen(urllib.request.Request(url, body), timeout=120) as response:
    print(json.dumps(json.load(response)["outputs"], indent=1, ensure_ascii=False))

# %% [markdown]
# Other signatures answer other questions: the runners-up, where each piece looked, or how probable
# a given translation is.

# %%
for hypothesis in grpc.translate_nbest(sources[:1])[0]:
    print(f"{hypothesis.score:8.3f}  {hypothesis.text}")
alignment = rest.align(sources[:1])[0]
S, T = len(alignment.source_tokens), len(alignment.target_tokens)
assert alignment.weights.shape == (T, S)
np.testing.assert_allclose(alignment.weights.sum(axis=1), 1, atol=1e-3)

# %% [markdown]
# ## Trouble
#
# A server that restarts refuses requests for a while. The clients wait a little longer after each
# refusal, until the deadline. We tell the stand-in to refuse twice:

# %%
from grpc import StatusCode

asked = server.num_requests
server.faults = [StatusCode.UNAVAILABLE, StatusCode.UNAVAILABLE]
assert rest.translate(sources[:1])[0].text == served[0]
print(f"{server.num_requests - asked} requests for one answer")
assert server.num_requests - asked == 3

# %% [markdown]
# ## Latency against batch size
#
# Many texts in one request share the matrix products and the steps of the loop. We measure the
# SavedModel directly and through gRPC, with sentences of the demo's test set. Both take turns for
# five rounds, and we keep the fastest time of each.

# %%
from time import perf_counter

from aiayn_keras.data import load_corpus

texts = list(load_corpus("demo", train_size=1, test_size=64).test.sources)
direct = loaded.signatures["serving_default"]
ways = {
    "gRPC, with the stand-in": grpc.translate,
    "SavedModel": lambda batch: direct(text=tf.constant(batch))["translation"].numpy(),
}


# %%
def milliseconds(way, batch):
    start = perf_counter()
    way(batch)
    return 1000 * (perf_counter() - start)


# %% [markdown]
# The first round also warms up; it is never the fastest.

# %%
sizes = [1, 2, 4, 8, 16, 32, 64]
rounds = [
    [[milliseconds(way, texts[:size]) for size in sizes] for way in ways.values()] for _ in range(5)
]
latency = dict(zip(ways, np.min(rounds, axis=0), strict=True))

# %%
for name, times in latency.items():
    print(f"{name:>24}:", *(f"{time:6.0f}" for time in times), "ms")
gain = 64 * latency["SavedModel"][0] / latency["SavedModel"][-1]
print(f"64 texts together take 1/{gain:.0f} of the time that they take one by one")

# %% [markdown]
# All connections are closed, and the picture drawn.

# %%
for connection in (rest, grpc, server):
    connection.close()

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.subplots()
for (name, times), marker, color in zip(latency.items(), "so", COLORS[1::-1], strict=True):
    axes.plot(sizes, times, marker=marker, color=color, label=name)

# %%
one_by_one = np.array(sizes) * latency["SavedModel"][0]
axes.plot(sizes, one_by_one, ":", color="#555555", label="SavedModel, one by one (computed)")
axes.set_xscale("log", base=2)
axes.set_yscale("log")
axes.set_xticks(sizes, sizes)
axes.set_yticks([20, 50, 100, 200, 500, 1000, 2000], [20, 50, 100, 200, 500, 1000, 2000])
axes.set(xlabel="texts in a request", ylabel="latency (ms, fastest of 5)")
axes.grid(color="#DDDDDD", lw=0.6)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure

# %% [markdown]
# A batch costs far less than its texts one by one. That is why the real server collects requests
# for a few milliseconds before it answers them together: `batching.config` says for how long.

# %% [markdown]
# ## In three lines
#
# 1. The SavedModel takes text and returns text: tokenizer, model and search travel as one graph.
# 2. It gives the same texts and scores as the model in Python, alone and in any batch.
# 3. Clients speak REST or gRPC; batches make a server fast.

# %% [markdown]
# ## Exercises

# %% [markdown]
# **1.** The signature `score` gives the log-probability of a translation. Use it to let the
# SavedModel choose between "Das Mädchen ist glücklich." and "Die Mädchen ist glücklich.", and
# compare the numbers with `model.score`.

# %% tags=["solution"] jupyter={"source_hidden": true}
german = ["Das Mädchen ist glücklich.", "Die Mädchen ist glücklich."]
inputs = {"source": tf.constant(sources[:1] * 2), "target": tf.constant(german)}
log_probability = loaded.signatures["score"](**inputs)["log_probability"].numpy()
print(
    *(f"{score:.2f}  {text}" for score, text in zip(log_probability, german, strict=True)), sep="\n"
)
np.testing.assert_allclose(log_probability, model.score(sources[:1] * 2, german), atol=1e-3)
assert log_probability[0] > log_probability[1]

# %% [markdown]
# **2.** What does the served model answer to a text without words? And what to a text far longer
# than its 256 positions? Neither may fail: both would fail the whole batch, and so other users'
# requests.

# %% tags=["solution"] jupyter={"source_hidden": true}
strange = ["", "   ", "The girl is happy. " * 200, sources[0]]
answer = loaded.signatures["serving_default"](text=tf.constant(strange))
translated = [text.decode() for text in answer["translation"].numpy()]
assert translated[:2] == ["", ""]
assert answer["score"][:2].numpy().tolist() == [0, 0]
assert translated[3] == served[0]  # and the neighbour is not disturbed
print(f"the long text is cut to its beginning: {len(translated[2].split())} words come back")

# %% [markdown]
# You have gone from words to pieces, through every part of the model, to a server. All notebooks
# are in the [list of contents](README.md).
