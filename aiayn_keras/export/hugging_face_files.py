"""Configuration files by which Hugging Face's libraries run an exported model."""

import json

from aiayn_keras.models.transformer_tokenizer import SPECIAL_PIECES


def write_json(path, content):
    """Writes a JSON file."""
    path.write_text(f"{json.dumps(content, ensure_ascii=False, indent=1)}\n", encoding="utf-8")


def write_configuration(folder, model, precision):
    """Writes `config.json`, `generation_config.json` and `tokenizer_config.json`.

    The model is called `marian`, the library's Transformer with scaled embeddings and a projection
    that may have a bias. Only sizes are read of it: the arithmetic is in the graphs.

    Args:
        folder: Path of the folder.
        model: The `TransformerSeq2SeqLM`.
        precision: Which files transformers.js loads, such as `"fp32"`.
    """
    backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
    config = marian_config(backbone, tokenizer)
    write_json(folder / "config.json", {**config, "transformers.js_config": {"dtype": precision}})
    write_json(folder / "generation_config.json", _generation_config(backbone, tokenizer))
    write_json(folder / "tokenizer_config.json", _tokenizer_config(backbone))


def marian_config(backbone, tokenizer):
    """Sizes and special tokens of a model as `config.json` of a Marian model names them."""
    sides = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in {
            "layers": backbone.num_layers,
            "attention_heads": backbone.num_heads,
            "ffn_dim": backbone.intermediate_dim,
        }.items()
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "vocab_size": backbone.vocabulary_size,
        "d_model": backbone.hidden_dim,
        **sides,
        "max_position_embeddings": backbone.max_sequence_length,
        "scale_embedding": True,
        **special_ids(tokenizer),
    }


def _generation_config(backbone, tokenizer):
    """Settings of a search, which writes the same tokens as ours."""
    return {
        **special_ids(tokenizer),
        "suppress_tokens": ids_never_written(tokenizer),
        "max_length": backbone.max_sequence_length,
    }


def ids_never_written(tokenizer):
    """Ids of the tokens that our search does not choose."""
    return [tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.start_token_id]


def special_ids(tokenizer):
    """The tokens that a search needs, by Hugging Face's names."""
    return {
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.end_token_id,
        "decoder_start_token_id": tokenizer.start_token_id,
    }


def _tokenizer_config(backbone):
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{name}_token": piece for name, piece in SPECIAL_PIECES.items()},
        "model_max_length": backbone.max_sequence_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
