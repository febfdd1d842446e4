"""Calling a SavedModel's signatures: in this process, and in one that knows only TensorFlow."""

import json
import subprocess
import sys

import numpy as np


class Served:
    """A loaded SavedModel.

    Args:
        path: Folder that holds `saved_model.pb`.
    """

    def __init__(self, path):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - the graph has its ops

        # The signatures hold on to the variables of what was loaded only weakly.
        self.loaded = tf.saved_model.load(str(path))

    def __call__(self, signature, **inputs):
        """The outputs as arrays; bytes as strings."""
        import tensorflow as tf

        inputs = {name: tf.constant(value) for name, value in inputs.items()}
        outputs = self.loaded.signatures[signature](**inputs)
        return {name: readable(value.numpy()) for name, value in outputs.items()}


def readable(array):
    """An array whose bytes, if it has any, are strings."""
    if array.dtype != object:
        return array
    return np.array([text.decode() for text in array.flat], dtype=object).reshape(array.shape)


# Runs without this package.
_FRESH = """
import json, sys
import numpy as np
import tensorflow as tf
import tensorflow_text
request = json.load(sys.stdin)
model = tf.saved_model.load(request["path"])
inputs = {name: tf.constant(value) for name, value in request["inputs"].items()}
outputs = model.signatures[request["signature"]](**inputs)
def plain(value):
    value = value.numpy()
    if value.dtype == object:
        return np.vectorize(lambda text: text.decode(), otypes=[object])(value).tolist()
    return value.tolist()
assert not {"aiayn_keras", "keras_hub"} & set(sys.modules)
print(json.dumps({name: plain(value) for name, value in outputs.items()}))
"""


def call_in_fresh_process(path, signature, **inputs):
    """The outputs as lists, from a process that has imported TensorFlow and its text ops only."""
    request = {"path": str(path), "signature": signature, "inputs": inputs}
    ran = subprocess.run(
        [sys.executable, "-c", _FRESH], input=json.dumps(request), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
