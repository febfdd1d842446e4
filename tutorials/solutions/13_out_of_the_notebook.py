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
# # Solutions to 13 · Out of the notebook
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/aiayn-keras/aiayn_keras/blob/main/tutorials/solutions/13_out_of_the_notebook.ipynb)
#
# These are answers to the exercises of [13 · Out of the notebook](../13_out_of_the_notebook.ipynb).

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

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401 - the graph has its operations

import aiayn_keras as ak

# %%
model = ak.TransformerSeq2SeqLM.from_preset("../../saved_models/demo_en_de_keras")
tf.get_logger().setLevel("ERROR")  # it would tell where it writes
folder = Path(tempfile.mkdtemp()) / "demo_en_de"
loaded = tf.saved_model.load(model.export(folder, num_beams=4, length_penalty=0.6))
print(", ".join(loaded.signatures))

# %% [markdown]
# **1.** The signature `score` gives the log-probability of a translation. Use it to let the
# SavedModel choose between "Das Mädchen ist glücklich." and "Die Mädchen ist glücklich.", and
# compare the numbers with `model.score`.

# %%
sources = ["The girl is happy."] * 2
german = ["Das Mädchen ist glücklich.", "Die Mädchen ist glücklich."]
inputs = {"source": tf.constant(sources), "target": tf.constant(german)}
log_probability = loaded.signatures["score"](**inputs)["log_probability"].numpy()
for score, text in zip(log_probability, german, strict=True):
    print(f"{score:.2f}  {text}")
np.testing.assert_allclose(log_probability, model.score(sources, german), atol=1e-3)
assert log_probability[0] > log_probability[1]

# %% [markdown]
# **2.** What does the served model answer to a text without words? And to "The girl is happy."
# repeated two hundred times, far more than its 256 positions? Neither may fail, since that would
# fail the whole batch, and with it other users' requests. Few words come back for the long text. Is
# that because it is cut? Try the sentence twice.

# %%
happy = "The girl is happy. "
strange = ["", "   ", happy * 200, happy * 2, happy]
answer = loaded.signatures["serving_default"](text=tf.constant(strange))
translated = [text.decode() for text in answer["translation"].numpy()]
for text, translation in zip(strange, translated, strict=True):
    print(f"{len(text.split()):4} words → {translation!r:.70}")
assert translated[:2] == ["", ""]
assert answer["score"][:2].numpy().tolist() == [0, 0]
assert translated[4] == "Das Mädchen ist glücklich."  # the neighbour is not disturbed

# %% [markdown]
# The long text is cut to 255 pieces, but that is not why so little comes back. The sentence written
# twice has only 10 pieces and is not cut, but its translation has no second sentence either. Every
# text in the demo's training corpus is one sentence, so the model has learned to end after one.

# %%
tokenizer = model.preprocessor.tokenizer
print(len(tokenizer([happy * 2])[0]), "pieces for the sentence twice")
assert len(tokenizer([happy * 2])[0]) < 255
assert translated[3].count(".") == 1
