"""What a system is asked to do, and which systems there are."""

import fnmatch
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

NUM_BEAMS = 4


@dataclass(frozen=True)
class Task:
    """Texts to translate by a search with `NUM_BEAMS` beams and no length penalty.

    Attributes:
        model: A model folder of `aiayn_keras`.
        artifact: What `benchmarks.artifacts` made of it for this system, or None.
        precision: What the system computes in, such as `"bfloat16"`.
        texts: The sources.
        batch_size: Texts searched together. With 1, texts come one after another, as requests to a
            server do; else all at once.
        forced_length: Number of tokens every translation must have, the end token not counted;
            None for as many as the model likes.
    """

    model: str
    artifact: str | None
    precision: str
    texts: list[str]
    batch_size: int
    forced_length: int | None = None

    def as_dict(self):
        return asdict(self)


class System(NamedTuple):
    """A loaded system.

    Attributes:
        translate: Function from a list of strings to a list of strings.
        note: What is worth knowing about how it runs.
    """

    translate: Any
    note: str = ""


class SystemSpec(NamedTuple):
    """How to start a system.

    Attributes:
        loader: `module:function`, which makes a `System` of a `Task`.
        precision: See `Task`.
        packages: Python packages that must be there.
        backend: Keras backend, or None where Keras is not used.
        artifact: A key of `benchmarks.artifacts.MAKERS`, or None.
        worker: The module that its process runs.
    """

    loader: str
    precision: str
    packages: tuple[str, ...]
    backend: str | None = None
    artifact: str | None = None
    worker: str = "benchmarks.worker"


BACKENDS = ("tensorflow", "jax", "torch")
_PEERS = {
    "savedmodel": (("float32",), ("tensorflow", "tensorflow_text"), "saved_model", "ours"),
    "ctranslate2": (("float32", "bfloat16", "int8"), ("ctranslate2",), "ctranslate2", "peers"),
    "marian": (("float32", "bfloat16"), ("transformers", "torch"), "marian", "peers"),
}

SYSTEMS = {
    **{
        f"ours-{backend}-{precision}": SystemSpec(
            "benchmarks.ours:load_ours", precision, (backend,), backend
        )
        for precision in ("float32", "bfloat16")
        for backend in BACKENDS
    },
    **{
        f"kerashub-{backend}-float32": SystemSpec(
            "benchmarks.ours:load_kerashub", "float32", (backend,), backend
        )
        for backend in BACKENDS
    },
    **{
        f"{name}-{precision}": SystemSpec(
            f"benchmarks.{module}:load_{name}", precision, packages, None, artifact
        )
        for name, (precisions, packages, artifact, module) in _PEERS.items()
        for precision in precisions
    },
}


def choose_systems(patterns):
    """Names of the systems of `SYSTEMS` that match a pattern, in the patterns' order."""
    return match_systems(patterns, SYSTEMS)


def match_systems(patterns, systems):
    """Names of the systems that match a pattern, in the patterns' order.

    Raises:
        ValueError: For a pattern that matches none.
    """
    chosen = []
    for pattern in patterns:
        matches = fnmatch.filter(systems, pattern)
        if not matches:
            raise ValueError(f"No system matches {pattern!r}. There are: {', '.join(systems)}.")
        chosen += [name for name in matches if name not in chosen]
    return chosen
