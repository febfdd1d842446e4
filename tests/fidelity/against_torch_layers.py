"""Our layers beside those of `torch.nn`, one at a time."""

from functools import partial

import numpy as np

from aiayn_keras.layers import (
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    combine_masks,
    make_attention_mask,
    make_causal_mask,
)
from tests.fidelity import gradients
from tests.fidelity.cases import MASK, SOURCE_MASK, TARGET_MASK, F, normal
from tests.fidelity.differences import SEED, Comparison, differences
from tests.fidelity.torch_weights import (
    Pair,
    copy_weights,
    dense_pairs,
    norm_pairs,
    randomize,
    run_torch,
    weighted_sum,
)
from tests.helpers import B, D, H, K, S, T

BOUND = 1e-5

EPSILON = 0.1
"""Beside a variance near 1, the usual 1e-5 could be forgotten unseen."""


def attention_pairs(ours, theirs):
    """Of `nn.MultiheadAttention`, which stacks the projections of queries, keys and values."""
    for i, dense in enumerate((ours.query_dense, ours.key_dense, ours.value_dense)):
        part = slice(i * theirs.embed_dim, (i + 1) * theirs.embed_dim)
        yield Pair(dense.kernel, theirs.in_proj_weight, lambda weight, part=part: weight[part].T)
        if dense.use_bias:
            yield Pair(dense.bias, theirs.in_proj_bias, lambda bias, part=part: bias[part])
    yield from dense_pairs(ours.output_dense, theirs.out_proj)


def encoder_pairs(ours, theirs):
    yield from attention_pairs(ours.self_attention, theirs.self_attn)
    yield from norm_pairs(ours.self_attention_add_norm.layer_norm, theirs.norm1)
    yield from dense_pairs(ours.feed_forward.hidden_dense, theirs.linear1)
    yield from dense_pairs(ours.feed_forward.output_dense, theirs.linear2)
    yield from norm_pairs(ours.feed_forward_add_norm.layer_norm, theirs.norm2)


def decoder_pairs(ours, theirs):
    yield from attention_pairs(ours.self_attention, theirs.self_attn)
    yield from norm_pairs(ours.self_attention_add_norm.layer_norm, theirs.norm1)
    yield from attention_pairs(ours.cross_attention, theirs.multihead_attn)
    yield from norm_pairs(ours.cross_attention_add_norm.layer_norm, theirs.norm2)
    yield from dense_pairs(ours.feed_forward.hidden_dense, theirs.linear1)
    yield from dense_pairs(ours.feed_forward.output_dense, theirs.linear2)
    yield from norm_pairs(ours.feed_forward_add_norm.layer_norm, theirs.norm3)


def hidden(mask):
    """PyTorch's masks are True where attention is not allowed."""
    import torch

    return torch.from_numpy(np.logical_not(mask))


def compare_attention(use_bias):
    import torch

    random = np.random.default_rng(SEED)
    theirs = torch.nn.MultiheadAttention(D, H, bias=use_bias, batch_first=True)
    randomize(theirs, random)
    ours = MultiHeadAttention(H, K, use_bias=use_bias)
    ours.build((B, T, D), (B, S, D))
    pairs = list(attention_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)

    inputs = {"query": normal(random, B, T, D), "memory": normal(random, B, S, D)}
    weights = normal(random, B, T, D)

    def our_output(query, memory):
        return gradients.weighted_sum(ours(query, memory, MASK), weights)

    def their_output(query, memory):
        mask = hidden(MASK.repeat(H, axis=0))  # (B·H, T, S)
        return weighted_sum(theirs(query, memory, memory, attn_mask=mask)[0], weights)

    return differences(
        gradients.run_keras(our_output, ours.trainable_variables, **inputs),
        run_torch(their_output, pairs, **inputs),
    )


def layer_options(normalize_first):
    """The same layer twice: options of ours, options of theirs."""
    return {
        "num_heads": H,
        "key_dim": K,
        "intermediate_dim": F,
        "dropout": 0.0,
        "attention_bias": True,
        "normalize_first": normalize_first,
        "layer_norm_epsilon": EPSILON,
    }, {
        "d_model": D,
        "nhead": H,
        "dim_feedforward": F,
        "dropout": 0.0,
        "norm_first": normalize_first,
        "layer_norm_eps": EPSILON,
        "batch_first": True,
    }


def compare_encoder_layer(normalize_first):
    import torch

    random = np.random.default_rng(SEED)
    our_options, their_options = layer_options(normalize_first)
    theirs = randomize(torch.nn.TransformerEncoderLayer(**their_options), random)
    ours = EncoderBlock(**our_options)
    ours.build((B, S, D))
    pairs = list(encoder_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)

    real = SOURCE_MASK != 0
    weights = normal(random, B, S, D) * real[..., np.newaxis]

    def our_output(x):
        mask = make_attention_mask(SOURCE_MASK, SOURCE_MASK)
        return gradients.weighted_sum(ours(x, mask), weights)

    def their_output(x):
        return weighted_sum(theirs(x, src_key_padding_mask=hidden(real)), weights)

    x = normal(random, B, S, D)
    return differences(
        gradients.run_keras(our_output, ours.trainable_variables, x=x),
        run_torch(their_output, pairs, x=x),
        at=real,
    )


def compare_decoder_layer(normalize_first):
    import torch

    random = np.random.default_rng(SEED)
    our_options, their_options = layer_options(normalize_first)
    theirs = randomize(torch.nn.TransformerDecoderLayer(**their_options), random)
    ours = DecoderBlock(**our_options)
    ours.build((B, T, D), (B, S, D))
    pairs = list(decoder_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)

    real = TARGET_MASK != 0
    weights = normal(random, B, T, D) * real[..., np.newaxis]

    def our_output(x, memory):
        self_mask = combine_masks(
            make_attention_mask(TARGET_MASK, TARGET_MASK), make_causal_mask(TARGET_MASK)
        )
        memory_mask = make_attention_mask(TARGET_MASK, SOURCE_MASK)
        return gradients.weighted_sum(ours(x, memory, self_mask, memory_mask), weights)

    def their_output(x, memory):
        output = theirs(
            x,
            memory,
            tgt_mask=hidden(np.tri(T)),
            tgt_key_padding_mask=hidden(TARGET_MASK),
            memory_key_padding_mask=hidden(SOURCE_MASK),
        )
        return weighted_sum(output, weights)

    inputs = {"x": normal(random, B, T, D), "memory": normal(random, B, S, D)}
    return differences(
        gradients.run_keras(our_output, ours.trainable_variables, **inputs),
        run_torch(their_output, pairs, **inputs),
        at=real,
    )


def comparisons():
    compared = {
        "MultiheadAttention": partial(compare_attention, use_bias=True),
        "MultiheadAttention, no biases": partial(compare_attention, use_bias=False),
        "TransformerEncoderLayer": partial(compare_encoder_layer, normalize_first=False),
        "TransformerEncoderLayer, pre-norm": partial(compare_encoder_layer, normalize_first=True),
        "TransformerDecoderLayer": partial(compare_decoder_layer, normalize_first=False),
        "TransformerDecoderLayer, pre-norm": partial(compare_decoder_layer, normalize_first=True),
    }
    return [Comparison(f"torch.nn.{name}", BOUND, run, "torch") for name, run in compared.items()]
