"""Systems that translate."""

import importlib
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.speed.systems import BACKENDS, System

NUM_BEAMS = 4
EXTRA_LENGTH = 50  # tokens that a translation may have more than its source (paper 6.1)


@dataclass(frozen=True)
class DecodeTask:
    """Texts to translate by a search with `NUM_BEAMS` beams and no length penalty.

    Attributes:
        model: A model folder of `aiayn_keras`.
        artifact: The conversion by `benchmarks.speed.artifacts` for this system, or None.
        precision: Precision of the system, such as `"bfloat16"`.
        texts: The sources.
        batch_size: Texts searched together. With 1, texts arrive one after another, like requests
            to a server; otherwise all at once.
        forced_length: Number of tokens that every translation must have, without the end token;
            None for any number.
    """

    model: str
    artifact: str | None
    precision: str
    texts: list[str]
    batch_size: int
    forced_length: int | None = None

    @property
    def has_many_batches(self):
        """True if several batches may be under way at once."""
        return len(self.texts) > self.batch_size > 1


class Translator(NamedTuple):
    """A loaded system.

    Attributes:
        translate: Function from a list of strings to a list of strings.
        note: A remark on the way it runs.
    """

    translate: Any
    note: str = ""


class LoadedTask:
    """A task and the system for it, kept in the system's process.

    Args:
        loader: `module:function`, from a `DecodeTask` to a `Translator`.
        task: Attributes of the `DecodeTask`.
    """

    def __init__(self, loader, task):
        module, function = loader.split(":")
        self.task = DecodeTask(**task)
        self.translator = getattr(importlib.import_module(module), function)(self.task)

    def note(self):
        """The system's remark about itself."""
        return self.translator.note

    def run(self):
        """Translates all texts; returns seconds and translations."""
        texts = self.task.texts
        requests = [[text] for text in texts] if self.task.batch_size == 1 else [texts]
        start = time.perf_counter()
        translations = []
        for request in requests:
            translations += self.translator.translate(request)
        return {"seconds": time.perf_counter() - start, "translations": translations}


_OURS = "benchmarks.speed.decode_ours"
_CTRANSLATE2 = "benchmarks.speed.decode_ctranslate2"
_ONNX = "benchmarks.speed.decode_onnx"
_MARIAN = "benchmarks.speed.decode_marian"

SYSTEMS = {
    **{
        f"ours-{backend}-{precision}": System(
            f"{_OURS}:load_ours", precision, (backend,), backend, is_ours=True
        )
        for precision in ("float32", "bfloat16")
        for backend in BACKENDS
    },
    **{
        f"engine-ctranslate2-{precision}": System(
            f"{_OURS}:load_engine", precision, ("tensorflow", "ctranslate2"), "tensorflow"
        )
        for precision in ("float32", "int8")
    },
    **{
        f"kerashub-{backend}-float32": System(
            f"{_OURS}:load_kerashub", "float32", (backend,), backend
        )
        for backend in BACKENDS
    },
    "savedmodel-float32": System(
        f"{_OURS}:load_savedmodel",
        "float32",
        ("tensorflow", "tensorflow_text"),
        artifact="saved_model",
        is_ours=True,
    ),
    **{
        f"ctranslate2-{precision}": System(
            f"{_CTRANSLATE2}:load_ctranslate2", precision, ("ctranslate2",), artifact="ctranslate2"
        )
        for precision in ("float32", "bfloat16", "int8")
    },
    **{
        f"onnx-{precision}": System(
            f"{_ONNX}:load_onnx",
            precision,
            ("onnx", "onnxruntime", "tokenizers"),
            artifact=f"onnx_{precision}",
        )
        for precision in ("float32", "int8")
    },
    **{
        f"marian-{precision}": System(
            f"{_MARIAN}:load_marian", precision, ("transformers", "torch"), "torch"
        )
        for precision in ("float32", "bfloat16")
    },
}
