"""Marian models that lie: each is right but for one thing.

Needs PyTorch and `transformers`, which write the right one.
"""

import json
import shutil

import numpy as np
import safetensors.numpy

from tests.convert.marian_models import SIZES, write_marian_model

QUERY = "model.encoder.layers.0.self_attn.q_proj.weight"
BOTH = "encoder_", "decoder_"


def hostile_marian_models(folder):
    """Yields what is wrong, the folder of a Marian model, and what the answer must say.

    Args:
        folder: A folder to write them into.
    """
    right = folder / "right"
    right.mkdir()
    write_marian_model(right)
    config = json.loads((right / "config.json").read_text())
    tensors = safetensors.numpy.load_file(right / "model.safetensors")
    for number, (name, changes, message) in enumerate(_changed_settings(config)):
        model = shutil.copytree(right, folder / f"settings-{number}")
        (model / "config.json").write_text(json.dumps({**config, **changes}))
        yield name, model, message
    for number, (name, changes, message) in enumerate(_changed_tensors(tensors)):
        model = shutil.copytree(right, folder / f"tensors-{number}")
        kept = {name: array for name, array in {**tensors, **changes}.items() if array is not None}
        safetensors.numpy.save_file(kept, model / "model.safetensors")
        yield name, model, message


def _of_both_sides(field, value):
    return {f"{side}{field}": value for side in BOTH}


def _changed_settings(config):
    """Fields of `config.json`: sizes that the weights do not have come first."""
    wide = "describe a model of .* weights, and the file has"
    for size in (1 << 10, 1 << 16, 1 << 20):
        yield f"{size} hidden units", _of_both_sides("ffn_dim", size), wide
    for count in (3, 1000):
        yield f"{count} layers", _of_both_sides("layers", count), "layers.2.*is missing"
    yield "1 layer", _of_both_sides("layers", 1), "layers.1.*is not a tensor of the model"
    yield "2^31 layers", _of_both_sides("layers", 1 << 31), "field `encoder_layers`"
    for size in (18, 1 << 16):
        yield (
            f"width {size}",
            {"d_model": size, "max_position_embeddings": 40},
            "expected the shape",
        )
    yield (
        "a great table",
        {"max_position_embeddings": 1 << 20, "d_model": 1 << 16},
        "at most 67,108,864",
    )
    yield "2^40 positions", {"max_position_embeddings": 1 << 40}, "field `max_position_embeddings`"
    yield "no positions", {"max_position_embeddings": 0}, "field `max_position_embeddings`"
    for size in (1 << 20, 1 << 40, -1):
        yield f"{size} tokens", {"vocab_size": size, "decoder_vocab_size": size}, "vocab"
    yield "3 heads", _of_both_sides("attention_heads", 3), "must be a multiple of `num_heads`"
    yield "heads that differ", {"encoder_attention_heads": 2}, "`encoder_attention_heads` is 2"
    yield "a negative rate", {"dropout": -0.5}, "`dropout` must be"
    yield "a rate of infinity", {"dropout": 1e999}, "dropout"
    yield "a size as text", {"d_model": str(SIZES["d_model"])}, "field `d_model`"
    yield "a size as list", {"d_model": [config["d_model"]]}, "field `d_model`"
    yield "another activation", {"activation_function": "eval"}, "field `activation_function`"
    yield "another model", {"model_type": "bert"}, "field `model_type`"
    yield "learned positions", {"static_position_embeddings": False}, "static_position_embeddings"
    yield (
        "a start of another table",
        {"decoder_start_token_id": 1 << 23},
        "begin with token 8388608",
    )


def _changed_tensors(tensors):
    """Arrays of `model.safetensors`."""
    matrix = tensors[QUERY]
    for value, what in ((np.nan, "NaN"), (np.inf, "infinity")):
        changed = matrix.copy()
        changed[2, 3] = value
        yield what, {QUERY: changed}, "self_attention/query/kernel.*not finite"
    yield "missing", {QUERY: None}, "q_proj.weight` is missing"
    yield "one more", {"model.encoder.layers.0.gate": matrix}, "gate` is not a tensor of the model"
    yield "a vector", {QUERY: matrix[0].copy()}, "q_proj.weight"
    yield "another shape", {QUERY: np.zeros((16, 15), "float32")}, "query/kernel|q_proj|weights"
    yield "no rows", {"model.shared.weight": np.zeros((0, 16), "float32")}, "expected the shape"
