"""A folder for Hugging Face's transformers, as a Marian model (https://huggingface.co/docs/transformers)."""

import json
from pathlib import Path

import keras

from aiayn_keras.export.hf_marian_tokens import write_marian_tokens
from aiayn_keras.export.hf_marian_weights import EPSILON, LEAST_EPSILON, marian_tensors
from aiayn_keras.export.hugging_face_files import (
    ids_never_written,
    marian_config,
    special_ids,
    write_json,
)
from aiayn_keras.export.preconditions import check_has_tokenizer, check_packages
from aiayn_keras.export.template_files import render
from aiayn_keras.files import check_is_new, new_folder

ACTIVATIONS = {
    keras.activations.relu: "relu",
    keras.activations.silu: "swish",
    keras.activations.gelu: "gelu",  # without approximation, as Keras' own default
}
"""Their names of activations."""


def export_hf_marian(model, filepath, license=None):
    """Writes a folder that `transformers.MarianMTModel` and `MarianTokenizer` load.

    The model there is the same function, in float32; its README shows how to run it. With its
    `generation_config.json` it gives the translations of
    `model.translate(texts, num_beams=4, length_penalty=0.0)`. See `write_marian_tokens` for the few
    texts that become other tokens, and `hf_marian_weights` for `layer_norm_epsilon`.

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
        ValueError: For a model without preprocessor, or one that Marian cannot be: pre-norm, heads
            whose width is not `hidden_dim / num_heads`, another activation than ReLU, swish (SiLU)
            and GELU, an output matrix of its own, positions that are not the paper's sinusoids, a
            `layer_norm_epsilon` above 1e-5, or sources without an end token.
    """
    check_packages("safetensors")
    check_has_tokenizer(model)
    from safetensors.numpy import save_file

    backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
    check_fits(backbone, tokenizer)
    folder = Path(filepath)
    check_is_new(folder)
    tensors = marian_tensors(backbone)
    with new_folder(folder) as written:
        save_file(tensors, written / "model.safetensors", metadata={"format": "pt"})
        write_json(written / "config.json", _config(backbone, tokenizer))
        write_json(written / "generation_config.json", _generation_config(backbone, tokenizer))
        write_marian_tokens(written, tokenizer, backbone.max_sequence_length)
        readme = render(
            "hf_marian.md",
            name=folder.resolve().name,
            positions=backbone.max_sequence_length,
            license="" if license is None else f"license: {json.dumps(license)}\n",
        )
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def check_fits(backbone, tokenizer):
    """Raises a `ValueError` with the first option that a Marian model has not got."""
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
            LEAST_EPSILON <= backbone.layer_norm_epsilon <= EPSILON,
            f"from {LEAST_EPSILON:g} to {EPSILON:g}",
        ),
        ("source_end", tokenizer.source_end, tokenizer.source_end, "True"),
    ):
        if not fits:
            raise ValueError(
                f"A Marian model of transformers cannot be made of this one: `{name}` must be "
                f"{wanted}. Received: {name}={received!r}."
            )


def _config(backbone, tokenizer):
    """The content of `config.json`."""
    return {
        **marian_config(backbone, tokenizer),
        **_further_ids(tokenizer),
        "decoder_vocab_size": backbone.vocabulary_size,
        "num_hidden_layers": backbone.num_layers,
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


def _generation_config(backbone, tokenizer):
    """The content of `generation_config.json`."""
    return {
        **special_ids(tokenizer),
        **_further_ids(tokenizer),
        "bad_words_ids": [[token_id] for token_id in ids_never_written(tokenizer)],
        "max_length": backbone.max_sequence_length,
        "num_beams": 4,
        "length_penalty": 0.0,
    }


def _further_ids(tokenizer):
    """Tokens for which transformers would take another model's, unless they are given."""
    return {"bos_token_id": tokenizer.start_token_id, "forced_eos_token_id": None}
