"""A folder for transformers' `MarianMTModel`: tokens, permuted weights and configuration."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from aiayn_keras.export.hugging_face_files import (
    ids_never_written,
    marian_config,
    special_ids,
    write_json,
)
from aiayn_keras.export.preparation import (
    check_known_parts,
    check_packages,
    check_tokenizer,
    check_weights,
    float32_array,
    float32_kernel,
    render,
)
from aiayn_keras.layers.positional_embedding import sinusoidal_encoding
from aiayn_keras_light.files import check_is_new, new_folder
from aiayn_keras_light.search_numbers import SearchNumbers

EPSILON = 1e-5
"""Added to the variance there, which is PyTorch's default."""

_MIN_EPSILON = 1e-12

_CLOSE = 2.5e-4
"""A table that differs by less holds the sinusoids, which may have been rounded to float16."""

ACTIVATIONS = {
    keras.activations.relu: "relu",
    keras.activations.silu: "swish",
    keras.activations.gelu: "gelu",  # without approximation, as Keras' own default
}
"""Names of activations in Marian's configuration."""


LANGUAGE = "▁>>", "<<"
"""Beginning and end of our token for the language that a source asks for."""


def _write_marian_tokens(folder, tokenizer, max_sequence_length):
    """Writes `source.spm`, `target.spm`, `vocab.json` and `tokenizer_config.json`.

    Tokens keep their ids. Where the two SentencePiece models name them differently, the names in
    translations are in `target_vocab.json`.

    The tokenizer there gives the same ids, except for these texts:

    - The names of special tokens, such as `</s>`, are these tokens wherever a text has them.
    - `>>xx<<` at the beginning of a text is a token, or unknown if no token has this name.

    Args:
        folder: Path of the folder to fill.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a text.
    """
    target = tokenizer.of_targets()
    (folder / "source.spm").write_bytes(tokenizer.proto)
    (folder / "target.spm").write_bytes(target.proto)
    tables = _table(tokenizer), _table(target)
    is_joint = tables[0] == tables[1]
    write_json(folder / "vocab.json", tables[0])
    if not is_joint:
        write_json(folder / "target_vocab.json", tables[1])
    config = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": not is_joint,
        "pad_token": tokenizer.id_to_token(tokenizer.pad_token_id),
        "unk_token": tokenizer.id_to_token(tokenizer.unk_token_id),
        "eos_token": tokenizer.id_to_token(tokenizer.end_token_id),
        "model_max_length": max_sequence_length,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", config)


def _table(tokenizer):
    """Their names of tokens, with the ids; a `ValueError` if two have the same one."""
    table = {}
    for i, piece in enumerate(tokenizer.get_vocabulary()):
        other = table.setdefault(_name(piece), i)
        if other != i:
            raise ValueError(
                f"Marian's vocab.json cannot hold both tokens {other} and {i}, "
                f"{tokenizer.id_to_token(other)!r:.60} and {piece!r:.60}: both are "
                f"{_name(piece)!r:.60} there. Train a vocabulary without one of them."
            )
    return table


def _name(piece):
    """Their name of a token: that of a language has no sign of a space before it."""
    start, end = LANGUAGE
    return piece[1:] if piece.startswith(start) and piece.endswith(end) else piece


def _marian_tensors(backbone):
    """Makes the tensors of `MarianMTModel`.

    Args:
        backbone: A `TransformerBackbone` that `_check_fits` has passed.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        ValueError: For positions that are not the paper's sinusoids, in either order.
    """
    order = _position_order(backbone)
    scale = math.sqrt(EPSILON / backbone.layer_norm_epsilon)
    embedding = backbone.token_embedding
    bias = np.zeros(backbone.vocabulary_size, "float32")
    if embedding.logits_bias is not None:
        bias = float32_array(embedding.logits_bias)
    tensors = {
        "model.shared.weight": float32_array(embedding.matrix())[:, order],
        "final_logits_bias": bias[np.newaxis],
    }
    for side in ("encoder", "decoder"):
        blocks = getattr(backbone, f"{side}_blocks")
        tensors |= _stack(f"model.{side}.layers", blocks, order, scale)
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


def _position_order(backbone):
    """For each of the D dimensions of Marian's positions, the index of the same one in ours."""
    table = sinusoidal_encoding(backbone.max_sequence_length, backbone.hidden_dim)
    as_ours = np.arange(backbone.hidden_dim)
    halves = np.concatenate([as_ours[0::2], as_ours[1::2]])
    if backbone.position_embedding == "sinusoidal":
        return halves
    if backbone.position_embedding == "given":
        sides = backbone.encoder_embedding, backbone.decoder_embedding
        tables = [float32_array(side.table) for side in sides]
        for order, sinusoids in ((as_ours, table[:, halves]), (halves, table)):
            if all(np.abs(given - sinusoids).max() < _CLOSE for given in tables):
                return order
    raise ValueError(
        "Marian has the paper's sinusoids for positions. Received: "
        f"position_embedding={backbone.position_embedding!r}, a table of other numbers."
    )


class _Sublayer(NamedTuple):
    """The layers of a sublayer, by their names in Marian's model.

    Attributes:
        readers: Dense layers that read the residual stream.
        memory_readers: Dense layers that read the encoder's output.
        writer: The dense layer whose output is added.
        norm: The layer normalization of that sum.
    """

    readers: dict
    memory_readers: dict
    writer: tuple
    norm: tuple


def _sublayers(block):
    """The sublayers of an encoder or decoder layer, in their order."""
    yield _attention("self_attn", block.self_attention, block.self_attention_add_norm)
    if hasattr(block, "cross_attention"):
        yield _attention(
            "encoder_attn", block.cross_attention, block.cross_attention_add_norm, True
        )
    yield _Sublayer(
        {"fc1": block.feed_forward.hidden_dense},
        {},
        ("fc2", block.feed_forward.output_dense),
        ("final_layer_norm", block.feed_forward_add_norm.layer_norm),
    )


def _attention(name, attention, add_norm, reads_memory=False):
    query = {f"{name}.q_proj": attention.query_dense}
    others = {f"{name}.k_proj": attention.key_dense, f"{name}.v_proj": attention.value_dense}
    return _Sublayer(
        query if reads_memory else query | others,
        others if reads_memory else {},
        (f"{name}.out_proj", attention.output_dense),
        (f"{name}_layer_norm", add_norm.layer_norm),
    )


def _stack(prefix, blocks, order, scale):
    """The tensors of all layers of a side; between its sublayers everything is `scale` times."""
    sublayers = [
        (f"{prefix}.{i}", sublayer)
        for i, block in enumerate(blocks)
        for sublayer in _sublayers(block)
    ]
    scales = [1.0, *[scale] * (len(sublayers) - 1), 1.0]
    tensors = {}
    for (layer, sublayer), before, after in zip(sublayers, scales[:-1], scales[1:], strict=True):
        parts = {name: _reader(dense, order, before) for name, dense in sublayer.readers.items()}
        for name, dense in sublayer.memory_readers.items():
            parts[name] = _reader(dense, order, 1.0)
        name, dense = sublayer.writer
        parts[name] = float32_kernel(dense)[:, order].T * before, _bias(dense)[order] * before
        name, norm = sublayer.norm
        parts[name] = (float32_array(part)[order] * after for part in (norm.gamma, norm.beta))
        for name, (weight, bias) in parts.items():
            tensors |= {f"{layer}.{name}.weight": weight, f"{layer}.{name}.bias": bias}
    return tensors


def _reader(dense, order, scale):
    return float32_kernel(dense)[order].T / scale, _bias(dense)


def _bias(dense):
    return float32_array(dense.bias) if dense.use_bias else np.zeros(dense.units, "float32")


def export_hf_marian(model, filepath, license=None):
    """Writes a folder that `transformers.MarianMTModel` and `MarianTokenizer` load.

    The model there is the same function, in float32; its README shows how to run it. With its
    `generation_config.json` it gives the translations of
    `model.translate(texts, length_penalty=0.0)`, or those of `model.translate(texts)` if
    `model.search_defaults` has `length_penalty_offset=0`. See `_write_marian_tokens` for
    the few texts with different tokens, and `_marian_tensors` for `layer_norm_epsilon`.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        license: The license in the README, by Hugging Face's name, such as `"apache-2.0"`,
            or a list of several.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `safetensors` is not installed.
        ValueError: For a model without preprocessor or with a tokenizer of your own, or one that
            Marian cannot be: pre-norm, heads whose width is not `hidden_dim / num_heads`, an
            activation other than ReLU, swish (SiLU) and GELU, an output matrix of its own,
            positions that are not the paper's sinusoids, a `layer_norm_epsilon` above 1e-5, sources
            without an end token, two tokens `>>xx<<` and `▁>>xx<<`, or a weight that is not finite.
    """
    check_packages("safetensors")
    check_tokenizer(model)
    check_known_parts(model, "Marian of transformers")
    from safetensors.numpy import save_file

    backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
    _check_fits(backbone, tokenizer)
    check_weights(model)
    folder = Path(filepath)
    check_is_new(folder)
    tensors = _marian_tensors(backbone)
    with new_folder(folder) as written:
        save_file(tensors, written / "model.safetensors", metadata={"format": "pt"})
        write_json(written / "config.json", _config(backbone, tokenizer))
        search = _search(model.search_defaults)
        write_json(written / "generation_config.json", {**_generation_ids(model), **search})
        _write_marian_tokens(written, tokenizer, backbone.max_sequence_length)
        readme = render(
            "hf_marian.md",
            name=folder.resolve().name,
            positions=backbone.max_sequence_length,
            search=", ".join(f"{name}={value}" for name, value in search.items()),
            license="" if license is None else f"license: {json.dumps(license)}\n",
        )
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def _check_fits(backbone, tokenizer):
    """Raises a `ValueError` with the first option, or pair of tokens, that Marian does not have."""
    head_dim = backbone.hidden_dim / backbone.num_heads
    activation = getattr(backbone.activation, "__name__", backbone.activation)
    names = ", ".join(known.__name__ for known in ACTIVATIONS)
    for name, received, fits, wanted in (
        ("normalize_first", backbone.normalize_first, not backbone.normalize_first, "False"),
        ("key_dim", backbone.key_dim, backbone.key_dim == head_dim, f"{head_dim:g}"),
        ("value_dim", backbone.value_dim, backbone.value_dim == head_dim, f"{head_dim:g}"),
        ("activation", activation, backbone.activation in ACTIVATIONS, f"one of {names}"),
        ("tie_weights", backbone.tie_weights, backbone.tie_weights, "True"),
        (
            "layer_norm_epsilon",
            backbone.layer_norm_epsilon,
            _MIN_EPSILON <= backbone.layer_norm_epsilon <= EPSILON,
            f"from {_MIN_EPSILON:g} to {EPSILON:g}",
        ),
        ("source_end", tokenizer.source_end, tokenizer.source_end, "True"),
    ):
        if not fits:
            raise ValueError(
                f"This model cannot become a Marian model of transformers: `{name}` must be "
                f"{wanted}. Received: {name}={received!r}."
            )
    for side in (tokenizer, tokenizer.of_targets()):
        _table(side)


def _config(backbone, tokenizer):
    """The content of `config.json`."""
    return {
        **marian_config(backbone, tokenizer),
        **_further_ids(tokenizer),
        "decoder_vocab_size": backbone.vocabulary_size,
        "num_hidden_layers": backbone.num_encoder_layers,
        "activation_function": ACTIVATIONS[backbone.activation],
        "dropout": backbone.dropout,
        "attention_dropout": backbone.attention_dropout,
        "activation_dropout": backbone.activation_dropout,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
    }


def _generation_ids(model):
    """The token ids and the length in `generation_config.json`."""
    tokenizer = model.preprocessor.tokenizer
    return {
        **special_ids(tokenizer),
        **_further_ids(tokenizer),
        "bad_words_ids": [[token_id] for token_id in ids_never_written(tokenizer)],
        "min_new_tokens": SearchNumbers.min_length,
        "max_length": model.backbone.max_sequence_length,
    }


def _search(defaults):
    """The numbers of a model's own search that transformers knows, too."""
    is_theirs = defaults.get("length_penalty_offset") == 0  # they do not have GNMT's penalty
    ngram_size = defaults.get("no_repeat_ngram_size", 0)
    return {
        "num_beams": defaults.get("num_beams", SearchNumbers.num_beams),
        "length_penalty": defaults.get("length_penalty", 0.0) if is_theirs else 0.0,
        **({"no_repeat_ngram_size": ngram_size} if ngram_size else {}),
    }


def _further_ids(tokenizer):
    """Tokens that transformers would fill with another model's defaults unless they are given."""
    return {"bos_token_id": tokenizer.start_token_id, "forced_eos_token_id": None}
