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
# paper's section 6.1 inside. Then we use it without this package's model code, query it over the
# network as a client would, and measure how much time batches save.
#
# *35 minutes · you need notebook 08, and to have seen JSON and HTTP.* Afterwards you can export a
# model, ask a server for translations, and say why it collects requests into batches.

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
# Everything is exported together: both stacks, the output layer, the search, and the tokenizer,
# which is not in the drawing.

# %%
# %matplotlib inline
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow starts quietly

from drawings import draw_architecture

draw_architecture()

# %% [markdown]
# ## Export
#
# One call writes a version of the model and, beside it, all that the server needs to run it.

# %%
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

import aiayn_keras as ak

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../saved_models/demo_en_de_keras")
tf.get_logger().setLevel("ERROR")  # it would tell where it writes
folder = Path(tempfile.mkdtemp()) / "demo_en_de"
version = model.export(folder, num_beams=4, length_penalty=0.6)
print("written:", version.relative_to(folder.parent))
assert version == folder / "1"

# %% [markdown]
# ## What is in the kit
#
# **Predict:** The folder must be enough for a server without Python. What must be in it besides
# the weights?

# %%
for path in sorted(folder.rglob("*")):
    depth = len(path.relative_to(folder).parts)
    size = f"{path.stat().st_size / 1000:10,.1f} kB" if path.is_file() else ""
    print(f"{'    ' * (depth - 1) + path.name:52}{size}".rstrip())
kit = {path.name for path in folder.iterdir()}
assert (version / "saved_model.pb").is_file()
assert {"models.config", "batching.config", "docker-compose.yml", "README.md"} <= kit

# %% [markdown]
# - `1/saved_model.pb` is the graph: tokenizer, encoder, the loop of the beam search, detokenizer.
#   The weights are under `variables`. Numbered folders are versions: a server can change to a newer
#   one, and back again.
# - `tf_serving_warmup_requests` are run when the server loads the model, so that the first user
#   does not have to wait.
# - `models.config` gives names (labels) to versions; `batching.config` says how requests are
#   collected into batches.
# - `SHA256SUMS` shows whether a copy is complete.
#
# ## Use it without the model's code
#
# This takes only TensorFlow, and TensorFlow Text, whose operations the tokenizer uses. A
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

# %%
answer = loaded.signatures["serving_default"](text=tf.constant(sources))
served = [text.decode() for text in answer["translation"].numpy()]
print(*served, sep="\n")

# %% [markdown]
# An export is only worth something if it gives the same results as the model in the notebook, text
# **and** score:

# %%
translations = model.translate(sources, num_beams=4, length_penalty=0.6)
print(f"{'SavedModel':>10} {'notebook':>10}")
for score, translation in zip(answer["score"].numpy(), translations, strict=True):
    print(f"{score:10.4f} {translation.score:10.4f}")
assert served == [translation.text for translation in translations]
scores = [translation.score for translation in translations]
np.testing.assert_allclose(answer["score"], scores, atol=1e-3)

# %% [markdown]
# In a batch, a short text is padded to the length of its longest neighbour.
#
# **Predict:** By how much does the score of a text change when it is sent alone, without its
# neighbours?

# %%
for source, score in zip(sources, answer["score"].numpy(), strict=True):
    alone = loaded.signatures["serving_default"](text=tf.constant([source]))
    print(f"{score:.4f} among others, {alone['score'][0]:.4f} alone  {source}")
    np.testing.assert_allclose(alone["score"][0], score, atol=1e-3)
    assert alone["translation"][0].numpy().decode() in served

# %% [markdown]
# It changes by rounding at most. Otherwise two users whose requests meet in a batch would change
# each other's translations.
#
# ## The server
#
# With Docker, this command runs the kit from its folder (the kit's README has it, with batching):
#
# ```shell
# docker run --rm -p 127.0.0.1:8500:8500 -p 127.0.0.1:8501:8501 \
#     -v "$PWD:/models/demo_en_de:ro" tensorflow/serving:2.20.0 \
#     --model_config_file=/models/demo_en_de/models.config \
#     --allow_version_labels_for_unavailable_models=true
# ```
#
# Without Docker, the package serves a kit itself, for trying it out and for small loads:
#
# ```shell
# aiayn-keras serve demo_en_de --api
# ```
#
# **What answers below is this server of the package, not TensorFlow Serving.** Paths, errors,
# labels and batches are the same; its speed says nothing about the real server's. Like the real
# server, it can be asked in two ways: by REST, which is JSON over HTTP, and by gRPC, which is
# binary and uses TensorFlow Serving's official messages. In a notebook the server can run in the
# same process:

# %%
from aiayn_keras.serving.model_server import ModelServer, ServedKit, read_batching_config

kit = ServedKit(folder)
kit.start()  # loads the versions that models.config names, and runs the warm-up requests
server = ModelServer(kit, read_batching_config(folder))
for number, (state, _) in kit.states("demo_en_de").items():
    print(f"version {number}: {state}, labels {sorted(kit.labels)}")

# %% [markdown]
# ## Ask the server
#
# The package has two clients, which are made for the real server: one for REST and one for gRPC.
# Both have the same methods.

# %%
from aiayn_keras.serving import GrpcClient, RestClient

address = f"http://127.0.0.1:{server.rest_port}"
rest_client = RestClient(address, "demo_en_de", deadline=600)
grpc_client = GrpcClient(f"127.0.0.1:{server.grpc_port}", "demo_en_de", deadline=600)
for client in (rest_client, grpc_client):
    texts = [translation.text for translation in client.translate(sources)]
    print(type(client).__name__, texts[0])
    assert texts == served

# %% [markdown]
# We send the same request without any client, as `curl` would:

# %%
import json
import urllib.request

url = f"{address}/v1/models/demo_en_de:predict"
body = json.dumps({"inputs": {"text": sources[:1]}}).encode()
with urllib.request.urlopen(urllib.request.Request(url, body), timeout=120) as response:
    outputs = json.load(response)["outputs"]
print(json.dumps(outputs, indent=1, ensure_ascii=False))
assert outputs["translation"] == served[:1]

# %% [markdown]
# Other signatures answer different questions: what the next best translations are, where each piece
# looked, or how probable a given translation is.

# %%
for hypothesis in grpc_client.translate_nbest(sources[:1])[0]:
    print(f"{hypothesis.score:8.3f}  {hypothesis.text}")
alignment = rest_client.align(sources[:1])[0]
S, T = len(alignment.source_tokens), len(alignment.target_tokens)
print(f"attention (T, S) = {alignment.weights.shape}")
assert alignment.weights.shape == (T, S)
np.testing.assert_allclose(alignment.weights.sum(axis=1), 1, atol=1e-3)

# %% [markdown]
# ## A server that does not answer
#
# A server that is being restarted does not answer for a while. The clients try again, waiting a
# little longer each time, until their deadline. We close the server, and let it come back after two
# seconds.

# %%
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

from aiayn_keras.serving.model_server import reserve_port


def start_later(rest_port, grpc_port, seconds=2.0):
    sleep(seconds)
    rest_socket = reserve_port("127.0.0.1", rest_port, "--port")
    return ModelServer(kit, read_batching_config(folder), rest_socket, f"127.0.0.1:{grpc_port}")


# %% [markdown]
# **Predict:** The client is called once, while nothing answers on its port. Does the caller notice?

# %%
server.close()
begin = perf_counter()
later = ThreadPoolExecutor(1).submit(start_later, server.rest_port, server.grpc_port)
text = rest_client.translate(sources[:1])[0].text
print(f"after {perf_counter() - begin:.1f} seconds: {text}")
server = later.result()
assert text == served[0]

# %% [markdown]
# The caller notices only that the answer takes longer.

# %% [markdown]
# ## Latency against batch size
#
# Many texts in one request share the matrix products and the steps of the loop. We measure the
# SavedModel directly and through gRPC, with sentences from the demo's test set. The two take turns
# for five rounds. The first one also warms them up; we keep the fastest time of each.

# %%
from aiayn_keras.data import load_corpus


def milliseconds(way, batch):
    start = perf_counter()
    way(batch)
    return 1000 * (perf_counter() - start)


# %%
texts = list(load_corpus("demo", train_size=1, test_size=64).test.sources)
ways = {
    "gRPC, the package's server": grpc_client.translate,
    "SavedModel": lambda batch: loaded.signatures["serving_default"](text=tf.constant(batch)),
}
print(len(texts), "texts, such as", texts[0])

# %% [markdown]
# **Predict:** Are 64 texts sent together faster than 64 sent one by one? And two?

# %%
sizes = [1, 2, 4, 8, 16, 32, 64]
rounds = [
    [[milliseconds(way, texts[:size]) for size in sizes] for way in ways.values()] for _ in range(5)
]
latency = dict(zip(ways, np.min(rounds, axis=0), strict=True))
for name, times in latency.items():
    print(f"{name:>26}:", *(f"{time:6.0f}" for time in times), "ms")
alone = [min(milliseconds(ways["SavedModel"], [text]) for _ in range(3)) for text in texts]
one_by_one = [sum(alone[:size]) for size in sizes]
print(f"{'one by one':>26}:", *(f"{time:6.0f}" for time in one_by_one), "ms")
assert latency["SavedModel"][-1] < one_by_one[-1] / 2

# %% [markdown]
# We close all connections and draw the times. Both axes are logarithmic.

# %%
rest_client.close()
grpc_client.close()
print("all requests were answered:", server.close())
kit.close()

# %%
from matplotlib.figure import Figure

from aiayn_keras.plotting import COLORS

figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.subplots()
for (name, times), marker, color in zip(latency.items(), "so", COLORS[1::-1], strict=True):
    axes.plot(sizes, times, marker=marker, color=color, label=name)

# %%
axes.plot(sizes, one_by_one, ":", color="#555555", label="SavedModel, one by one (fastest of 3)")
axes.set_xscale("log", base=2)
axes.set_yscale("log")
axes.set_xticks(sizes, sizes)
axes.yaxis.set_major_formatter("{x:g}")
axes.set(xlabel="texts in a request", ylabel="latency (ms, fastest of 5 or 3)")
axes.grid(color="#DDDDDD", lw=0.6)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
figure

# %% [markdown]
# A large batch costs far less than its texts one by one. Two texts together save little here, and
# elsewhere may even take longer than one after the other: there is a separate, simpler graph for a
# single text, and a batch waits for its longest text. So a busy server gains by waiting: it
# collects requests for a few milliseconds, as `batching.config` says, and answers them together. A
# single request then waits, too, which explains part of the distance between the two lines.

# %% [markdown]
# ## In three lines
#
# 1. The SavedModel takes text and returns text: tokenizer, model and search travel as one graph.
# 2. It gives the same texts and scores as the model in Python, alone and in any batch.
# 3. Clients use REST or gRPC; a server is faster if it answers requests in batches.

# %% [markdown]
# ## Exercises
#
# The [solutions](solutions/13_out_of_the_notebook.ipynb) are a notebook of their own.

# %% [markdown]
# **1.** The signature `score` gives the log-probability of a translation. Use it to let the
# SavedModel choose between "Das Mädchen ist glücklich." and "Die Mädchen ist glücklich.", and
# compare the numbers with `model.score`.

# %% [markdown]
# **2.** What does the served model answer to a text without words? And to "The girl is happy."
# repeated two hundred times, far more than its 256 positions? Neither may fail, since that would
# fail the whole batch, and with it other users' requests. Few words come back for the long text. Is
# that because it is cut? Try the sentence twice.

# %% [markdown]
# ## Your turn
#
# Give the SavedModel a sentence with a word that is not in the demo's grammar, such as "The girl is
# a lawyer.", and look at its score. Would a server notice that the translation is wrong?

# %% tags=["your-turn"]
# Your code here

# %% [markdown]
# Next: [14 · Somebody else's weights](14_somebody_elses_weights.ipynb), where we read a model that
# others have trained.
