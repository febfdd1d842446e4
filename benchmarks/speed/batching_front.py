"""Batches of requests for the stand-in server, made by the scheduler that TensorFlow Serving uses.

TensorFlow has it as an operation, `BatchFunction`, set up from the kit's `batching.config`.
"""

import os
import re
from pathlib import Path

import tensorflow as tf

SIGNATURE = "serving_default"
NUMBER = re.compile(r"(\w+): (\d+)|(\w+) \{ value: (\d+) \}")


class BatchingFront:
    """A `ServedModel` of the stand-in server that runs several requests as one batch.

    Args:
        model: The `ServedModel`. Signatures other than `serving_default` are left unchanged.
        kit: Its folder, with a `batching.config`.
    """

    def __init__(self, model, kit):
        self._model = model
        config = read_config((Path(kit) / "batching.config").read_text(encoding="utf-8"))
        self._version = max(model.loaded)
        function = model.loaded[self._version].signatures[SIGNATURE]
        self._names = sorted(function.structured_outputs)

        @tf.nondifferentiable_batch_function(os.cpu_count(), autograph=False, **config)
        def run(text):
            outputs = function(text=text)
            return [outputs[name] for name in self._names]

        self._run = tf.function(run, input_signature=[tf.TensorSpec([None], tf.string)])

    def __getattr__(self, name):
        return getattr(self._model, name)

    def predict(self, name, version, label, signature, inputs):
        """Version and outputs of a request, see `ServedModel.predict`."""
        if signature != SIGNATURE or version not in (None, self._version) or label is not None:
            return self._model.predict(name, version, label, signature, inputs)
        outputs = self._run(tf.constant(inputs["text"], tf.string))
        arrays = (output.numpy() for output in outputs)
        return self._version, dict(zip(self._names, arrays, strict=True))


def read_config(text):
    """The arguments of a batch function from the text of a `batching.config`."""
    pairs = [(a or b, int(x or y)) for a, x, b, y in NUMBER.findall(text)]
    sizes = [value for name, value in pairs if name == "allowed_batch_sizes"]
    values = {name: value for name, value in pairs if name != "allowed_batch_sizes"}
    return {**values, "allowed_batch_sizes": sizes}
