"""Our whole model beside Hugging Face's `MarianMTModel`, the form most translators are found in."""

from functools import partial

import numpy as np

from tests.fidelity.cases import PAD, F, build_model, draw_batch, run_model
from tests.fidelity.differences import SEED, Comparison, differences
from tests.fidelity.torch_weights import (
    Pair,
    copy_weights,
    dense_pairs,
    norm_pairs,
    randomize,
    run_torch,
)
from tests.helpers import D, H

V, N = 19, 2

ORDER = np.arange(D).reshape(2, D // 2).T.ravel()
"""Our dim j is their dim ORDER[j]: they have the sines first, then the cosines; the paper, and we,
have them in turn. To a model whose every weight is in the same order it is all one."""


def build_theirs(activation):
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=V,
        max_position_embeddings=16,
        encoder_layers=N,
        encoder_attention_heads=H,
        encoder_ffn_dim=F,
        decoder_layers=N,
        decoder_attention_heads=H,
        decoder_ffn_dim=F,
        d_model=D,
        activation_function=activation,
        dropout=0.0,
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=1,
        forced_eos_token_id=1,
        decoder_start_token_id=PAD,
    )
    return MarianMTModel(config)


def attention_pairs(ours, theirs):
    yield from dense_pairs(ours.query_dense, theirs.q_proj, rows=ORDER)
    yield from dense_pairs(ours.key_dense, theirs.k_proj, rows=ORDER)
    yield from dense_pairs(ours.value_dense, theirs.v_proj, rows=ORDER)
    yield from dense_pairs(ours.output_dense, theirs.out_proj, columns=ORDER)


def block_pairs(ours, theirs):
    """The weights that encoder and decoder layers share."""
    yield from attention_pairs(ours.self_attention, theirs.self_attn)
    yield from norm_pairs(
        ours.self_attention_add_norm.layer_norm, theirs.self_attn_layer_norm, ORDER
    )
    yield from dense_pairs(ours.feed_forward.hidden_dense, theirs.fc1, rows=ORDER)
    yield from dense_pairs(ours.feed_forward.output_dense, theirs.fc2, columns=ORDER)
    yield from norm_pairs(ours.feed_forward_add_norm.layer_norm, theirs.final_layer_norm, ORDER)


def model_pairs(ours, theirs):
    backbone = ours.backbone
    yield Pair(
        backbone.token_embedding.embeddings, theirs.model.shared.weight, lambda x: x[:, ORDER]
    )
    for block, layer in zip(backbone.encoder_blocks, theirs.model.encoder.layers, strict=True):
        yield from block_pairs(block, layer)
    for block, layer in zip(backbone.decoder_blocks, theirs.model.decoder.layers, strict=True):
        yield from block_pairs(block, layer)
        yield from attention_pairs(block.cross_attention, layer.encoder_attn)
        yield from norm_pairs(
            block.cross_attention_add_norm.layer_norm, layer.encoder_attn_layer_norm, ORDER
        )


def compare_model(activation):
    import torch

    random = np.random.default_rng(SEED)
    batch, labels = draw_batch(random, V)
    theirs = randomize(build_theirs(activation), random)
    ours = build_model(
        vocabulary_size=V,
        num_layers=N,
        num_heads=H,
        hidden_dim=D,
        intermediate_dim=F,
        activation=activation,
        layer_norm_epsilon=1e-5,
    )
    pairs = list(model_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)

    def their_loss_and_logits():
        output = theirs(
            input_ids=torch.from_numpy(batch["encoder_token_ids"]),
            attention_mask=torch.from_numpy(batch["encoder_padding_mask"]),
            decoder_input_ids=torch.from_numpy(batch["decoder_token_ids"]),
            decoder_attention_mask=torch.from_numpy(batch["decoder_padding_mask"]),
            labels=torch.from_numpy(np.where(labels == PAD, -100, labels)),
        )
        return output.loss, output.logits

    return differences(
        run_model(ours, batch, labels, label_smoothing=0.0),
        run_torch(their_loss_and_logits, pairs),
        at=labels != PAD,
    )


def comparisons():
    return [
        Comparison(
            f"transformers.MarianMTModel, {activation}",
            1e-5,
            partial(compare_model, activation),
            "transformers",
        )
        for activation in ("relu", "swish")
    ]
