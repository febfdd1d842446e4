"""Hugging Face's Marian on the same weights."""

import json
from pathlib import Path

import numpy as np

from benchmarks.speed.batches import map_by_length
from benchmarks.speed.decode_systems import EXTRA_LENGTH, NUM_BEAMS, Translator

PAD, UNKNOWN, START, END = range(4)


def load_marian(task):
    """Hugging Face's `MarianMTModel` and its `generate`."""
    import sentencepiece
    import torch

    model = build_marian(task.artifact).to(getattr(torch, task.precision)).eval()
    pieces = sentencepiece.SentencePieceProcessor(f"{task.artifact}/sentencepiece.model")
    options = {}
    if task.forced_length is not None:
        options = {
            "min_new_tokens": task.forced_length,
            "max_new_tokens": task.forced_length,
            "suppress_tokens": [PAD, UNKNOWN, START],
        }

    def translate_batch(sources):
        length = max(map(len, sources))
        token_ids = torch.full((len(sources), length), PAD)
        for row, source in zip(token_ids, sources, strict=True):
            row[: len(source)] = torch.tensor(source)
        limits = {"max_new_tokens": length - 1 + EXTRA_LENGTH, **options}
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=token_ids,
                attention_mask=(token_ids != PAD).long(),
                num_beams=NUM_BEAMS,
                do_sample=False,
                length_penalty=0.0,
                early_stopping=False,  # go on while a better translation is possible
                **limits,
            )
        rows = outputs.tolist()
        return pieces.decode([[i for i in row if i > END] for row in rows])

    def translate(texts):
        sources = [[*ids, END] for ids in pieces.encode(texts)]
        return map_by_length(translate_batch, sources, list(map(len, sources)), task.batch_size)

    return Translator(translate)


def build_marian(folder):
    """The model that `write_marian` wrote, in float32."""
    import torch
    import transformers

    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text())
    epsilon = config.pop("layer_norm_epsilon")
    model = transformers.MarianMTModel(transformers.MarianConfig(**config)).eval()
    with np.load(folder / "weights.npz") as arrays:
        weights = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = {
        "final_logits_bias",  # zeros
        "lm_head.weight",
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
    }
    if unexpected or not set(missing) <= tied:
        raise ValueError(f"Marian's weights differ: missing {missing}, unexpected {unexpected}.")
    model.tie_weights()
    for module in model.modules():  # its configuration has no field for it
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = epsilon
    return model


def write_marian(model, folder):
    """Writes the weights of a `TransformerSeq2SeqLM` under Marian's names.

    Raises:
        ValueError: For an architecture that Marian has no place for.
    """
    import keras

    backbone = model.backbone
    head_dim = backbone.hidden_dim // backbone.num_heads
    if backbone.normalize_first or {backbone.key_dim, backbone.value_dim} != {head_dim}:
        raise ValueError("Marian needs post-norm and heads of width hidden_dim / num_heads.")
    folder = Path(folder)
    folder.mkdir()
    config = {
        "vocab_size": backbone.vocabulary_size,
        "d_model": backbone.hidden_dim,
        "max_position_embeddings": backbone.max_sequence_length,
        "activation_function": keras.activations.serialize(backbone.activation),
        "scale_embedding": True,
        "tie_word_embeddings": True,
        "pad_token_id": PAD,
        "decoder_start_token_id": START,
        "eos_token_id": END,
        "forced_eos_token_id": None,
        "layer_norm_epsilon": backbone.layer_norm_epsilon,
    }
    for side in ("encoder", "decoder"):
        config[f"{side}_layers"] = backbone.num_layers
        config[f"{side}_attention_heads"] = backbone.num_heads
        config[f"{side}_ffn_dim"] = backbone.intermediate_dim
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentencepiece.model").write_bytes(model.preprocessor.tokenizer.proto)
    np.savez(folder / "weights.npz", **_marian_weights(backbone))


def _marian_weights(backbone):
    weights = {"model.shared.weight": _array(backbone.token_embedding.embeddings)}
    for side in ("encoder", "decoder"):
        table = getattr(backbone, f"{side}_embedding").table
        weights[f"model.{side}.embed_positions.weight"] = _array(table)
        for i, block in enumerate(getattr(backbone, f"{side}_blocks")):
            attentions = {"self_attn": block.self_attention}
            norms = {
                "self_attn_layer_norm": block.self_attention_add_norm,
                "final_layer_norm": block.feed_forward_add_norm,
            }
            dense = {
                "fc1": block.feed_forward.hidden_dense,
                "fc2": block.feed_forward.output_dense,
            }
            if side == "decoder":
                attentions["encoder_attn"] = block.cross_attention
                norms["encoder_attn_layer_norm"] = block.cross_attention_add_norm
            for name, attention in attentions.items():
                dense[f"{name}.q_proj"] = attention.query_dense
                dense[f"{name}.k_proj"] = attention.key_dense
                dense[f"{name}.v_proj"] = attention.value_dense
                dense[f"{name}.out_proj"] = attention.output_dense
            prefix = f"model.{side}.layers.{i}"
            for name, layer in dense.items():
                weights[f"{prefix}.{name}.weight"] = _array(layer.kernel).T
                bias = _array(layer.bias) if layer.use_bias else np.zeros(layer.units, "float32")
                weights[f"{prefix}.{name}.bias"] = bias
            for name, norm in norms.items():
                weights[f"{prefix}.{name}.weight"] = _array(norm.layer_norm.gamma)
                weights[f"{prefix}.{name}.bias"] = _array(norm.layer_norm.beta)
    return weights


def _array(tensor):
    from keras import ops

    return ops.convert_to_numpy(tensor).astype("float32")
