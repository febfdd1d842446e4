"""A double of a loaded version, which gives texts back: for tests of all that is around a model."""

from types import SimpleNamespace

import numpy as np

from aiayn_keras.serving.model_server import RefusedError

_TEXTS = SimpleNamespace(dtype=SimpleNamespace(name="string"), shape=SimpleNamespace(rank=1))


class EchoVersion:
    """Translates each text into itself, in the signature `serving_default`.

    Args:
        folder: `pathlib.Path` of the version.
        is_mute: Whether each request is answered with an error.

    Attributes:
        batches: List of the numbers of rows of each call.
    """

    signature_defs = {}  # noqa: RUF012 - nobody changes it

    def __init__(self, folder, is_mute=False):
        self.folder, self.is_mute, self.batches = folder, is_mute, []

    def input_types(self, signature):
        return {"text": _TEXTS} if signature == "serving_default" else None

    def warm_up(self):
        pass

    def run(self, signature, inputs):
        if self.is_mute:
            raise RefusedError("INTERNAL", "a fault made on purpose")
        self.batches.append(len(inputs["text"]))
        scores = np.zeros(len(inputs["text"]), np.float32)
        return {"translation": inputs["text"], "score": scores, "normalized_score": scores}


def loading(broken=(), mute=()):
    """Function that loads an `EchoVersion`, or fails.

    Args:
        broken: Set of numbers of versions that cannot be loaded, changed as one likes.
        mute: Numbers of versions that answer with errors.
    """

    def load(folder):
        number = int(folder.name)
        if number in broken:
            raise ValueError("broken on purpose")
        return EchoVersion(folder, number in mute)

    return load
