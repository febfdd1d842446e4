"""Memory of a search, computed from shapes, and the number of its compilations."""

from unittest import mock

import numpy as np


def cache_bytes(backbone, num_beams, source_length, target_length):
    """Bytes that the search holds for one sentence at its end.

    Args:
        backbone: A `TransformerBackbone`.
        num_beams: Number of beams W.
        source_length: Tokens of the source S, the end token included.
        target_length: Tokens of the translation, start and end not counted.
    """
    itemsize = 2 if backbone.compute_dtype.endswith("16") else 4
    width = backbone.num_heads * (backbone.key_dim + backbone.value_dim)
    positions = source_length + num_beams * (target_length + 2)
    token_bytes = (2 * 4 + num_beams) * num_beams * (target_length + 2)  # live, finished, visible
    return backbone.num_decoder_layers * width * positions * itemsize + token_bytes


def count_compilations(model, texts, batch_sizes):
    """Translates texts in calls of many sizes and counts how often the search is traced.

    Every search encodes once, in Python. TensorFlow and JAX run this Python code for every graph
    that they make; PyTorch, which compiles nothing, for every batch.

    Args:
        model: A `TransformerSeq2SeqLM`, not used before.
        texts: List of strings.
        batch_sizes: Numbers of texts per call; each goes through all texts.

    Returns:
        Dictionary of the number of `calls`, of `traces`, and of different `shapes` that were
        traced; TensorFlow's has no fixed dimension.
    """
    from aiayn_keras import TransformerBackbone

    encode, shapes, calls = TransformerBackbone.encode, [], 0

    def noted_encode(backbone, token_ids, *args, **kwargs):
        shapes.append(tuple(token_ids.shape))
        return encode(backbone, token_ids, *args, **kwargs)

    with mock.patch.object(TransformerBackbone, "encode", noted_encode):
        for batch_size in batch_sizes:
            for start in range(0, len(texts), batch_size):
                model.translate(
                    texts[start : start + batch_size], min_length=1, max_length=4, engine="keras"
                )
                calls += 1
    return {"calls": calls, "shapes": len(set(shapes)), "traces": len(shapes)}


def texts_of_many_lengths(num_texts, longest, seed=0):
    """Texts with 1 to `longest` words from `benchmarks.random_models.word_tokenizer`."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, size=num_texts)
    return [" ".join(["t4"] * length) for length in lengths]
