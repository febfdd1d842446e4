"""Memory and compilations of a search."""

from pathlib import Path
from unittest import mock

import numpy as np

MEGABYTE = 2**20


def cache_bytes(backbone, num_beams, source_length, target_length):
    """Bytes that the search remembers of one sentence at the end, computed from shapes.

    Args:
        backbone: A `TransformerBackbone`.
        num_beams: Number of beams W.
        source_length: Tokens of the source S, the end token included.
        target_length: Tokens of the translation, start and end not counted.
    """
    itemsize = 2 if backbone.compute_dtype.endswith("16") else 4
    width = backbone.num_heads * (backbone.key_dim + backbone.value_dim)
    positions = source_length + num_beams * (target_length + 2)
    token_bytes = 3 * 4 * num_beams * (target_length + 2)  # live, finished, ancestors
    return backbone.num_layers * width * positions * itemsize + token_bytes


class PeakMemory:
    """Greatest resident memory since it was last asked; Linux tells it, other systems do not."""

    def __init__(self):
        self.start = _resident_bytes("VmRSS")
        self.growth()

    def growth(self):
        """Bytes of the greatest resident memory above that at the start, or None."""
        peak = _resident_bytes("VmHWM")
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is forgotten
        except OSError:
            return None
        return peak - self.start


def _resident_bytes(field):
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def count_compilations(model, texts, batch_sizes):
    """Translates texts in calls of many sizes and counts how often the search is traced.

    TensorFlow and JAX run the Python function once for every graph they make, PyTorch, which
    compiles nothing, for every batch.

    Args:
        model: A `TransformerSeq2SeqLM`, not used before.
        texts: List of strings.
        batch_sizes: Numbers of texts of a call; each goes through all texts.

    Returns:
        Dictionary of the number of `calls`, of different `shapes` of batches after padding, and of
        `traces`.
    """
    from aiayn_keras import TransformerBackbone
    from aiayn_keras.models import translation

    shapes, calls = set(), 0
    pad_batch, encode = translation.pad_batch, TransformerBackbone.encode

    def noted_pad_batch(*args):
        arrays = pad_batch(*args)
        shapes.add(arrays[0].shape)
        return arrays

    with (
        mock.patch.object(translation, "pad_batch", noted_pad_batch),
        # Every search encodes once.
        mock.patch.object(
            TransformerBackbone, "encode", autospec=True, side_effect=encode
        ) as noted_encode,
    ):
        for batch_size in batch_sizes:
            for start in range(0, len(texts), batch_size):
                model.translate(texts[start : start + batch_size], min_length=1, max_length=4)
                calls += 1
    return {"calls": calls, "shapes": len(shapes), "traces": noted_encode.call_count}


def texts_of_many_lengths(num_texts, longest, seed=0):
    """Texts of 1 to `longest` words of `benchmarks.artifacts.word_tokenizer`."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=num_texts)
    return [" ".join(["t4"] * length) for length in lengths]
