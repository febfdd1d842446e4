"""Our whole model beside `torch.nn.Transformer`: embeddings, both stacks, logits, loss."""

import math
from functools import partial

import numpy as np

from tests.fidelity.against_torch_layers import (
    BOUND,
    EPSILON,
    decoder_pairs,
    encoder_pairs,
    hidden,
)
from tests.fidelity.cases import PAD, F, build_model, draw_batch, run_model
from tests.fidelity.differences import SEED, Comparison, differences
from tests.fidelity.torch_weights import Pair, copy_weights, norm_pairs, randomize, run_torch
from tests.helpers import D, H, T

BASE = {"num_layers": 6, "num_heads": 8, "hidden_dim": 512, "intermediate_dim": 2048}
SMALL = {"num_layers": 2, "num_heads": H, "hidden_dim": D, "intermediate_dim": F}
BASE_SIZE = "torch.nn.Transformer, base size"

LABEL_SMOOTHING = 0.1


def build_theirs(
    vocabulary_size, num_layers, num_heads, hidden_dim, intermediate_dim, pre_norm, epsilon
):
    """`nn.Transformer`, and the embedding it leaves to its users."""
    from torch import nn

    def norm():
        # By default `nn.Transformer` normalizes once more at the end, post-norm or not.
        return nn.LayerNorm(hidden_dim, eps=epsilon) if pre_norm else None

    options = {
        "dropout": 0.0,
        "batch_first": True,
        "norm_first": pre_norm,
        "layer_norm_eps": epsilon,
    }
    encoder_layer, decoder_layer = (
        layer(hidden_dim, num_heads, intermediate_dim, **options)
        for layer in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    )
    transformer = nn.Transformer(
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, num_layers, norm(), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, num_layers, norm()),
        d_model=hidden_dim,
        nhead=num_heads,
        batch_first=True,
    )
    embedding = nn.Embedding(vocabulary_size, hidden_dim)
    return nn.ModuleDict({"embedding": embedding, "transformer": transformer})


def their_positions(length, hidden_dim):
    """PyTorch's tutorial on `nn.Transformer` makes them so."""
    import torch

    position = torch.arange(length).double().unsqueeze(1)
    div_term = torch.exp(torch.arange(0, hidden_dim, 2) * (-math.log(10000.0) / hidden_dim))
    encoding = torch.zeros(length, hidden_dim)
    encoding[:, 0::2] = torch.sin(position * div_term)
    encoding[:, 1::2] = torch.cos(position * div_term)
    return encoding


def their_logits(theirs, batch):
    import torch

    embedding = theirs["embedding"]

    def embed(token_ids):
        x = embedding(torch.from_numpy(token_ids))
        return x * math.sqrt(x.shape[-1]) + their_positions(*x.shape[1:])

    source_padding = hidden(batch["encoder_padding_mask"])
    hidden_states = theirs["transformer"](
        embed(batch["encoder_token_ids"]),
        embed(batch["decoder_token_ids"]),
        tgt_mask=hidden(np.tri(T)),
        src_key_padding_mask=source_padding,
        tgt_key_padding_mask=hidden(batch["decoder_padding_mask"]),
        memory_key_padding_mask=source_padding,
    )
    return torch.nn.functional.linear(hidden_states, embedding.weight)


def avoid_kinks(rectified, forward, margin=1e-4):
    """Moves biases until no rectifier's input is so near 0 that rounding decides on its gradient.

    Among the 300,000 inputs of a base-size model some would be.

    Args:
        rectified: The `Linear` modules before the rectifiers.
        forward: Function of nothing that runs them.
        margin: Least magnitude of an input.
    """
    import torch

    def move_bias(linear, inputs, output):
        while (near := output.abs().amin(dim=(0, 1)) < margin).any():
            linear.bias += near * 3 * margin
            output = torch.nn.functional.linear(*inputs, linear.weight, linear.bias)
        return output

    hooks = [module.register_forward_hook(move_bias) for module in rectified]
    with torch.no_grad():
        forward()
    for hook in hooks:
        hook.remove()


def model_pairs(ours, theirs):
    backbone, transformer = ours.backbone, theirs["transformer"]
    yield Pair(backbone.token_embedding.embeddings, theirs["embedding"].weight, lambda x: x)
    for block, layer in zip(backbone.encoder_blocks, transformer.encoder.layers, strict=True):
        yield from encoder_pairs(block, layer)
    for block, layer in zip(backbone.decoder_blocks, transformer.decoder.layers, strict=True):
        yield from decoder_pairs(block, layer)
    if backbone.normalize_first:
        yield from norm_pairs(backbone.encoder_norm, transformer.encoder.norm)
        yield from norm_pairs(backbone.decoder_norm, transformer.decoder.norm)


def compare_model(size, vocabulary_size, pre_norm, epsilon):
    import torch

    random = np.random.default_rng(SEED)
    batch, labels = draw_batch(random, vocabulary_size)
    theirs = build_theirs(vocabulary_size, **size, pre_norm=pre_norm, epsilon=epsilon)
    randomize(theirs, random)
    rectified = [part for name, part in theirs.named_modules() if name.endswith("linear1")]
    avoid_kinks(rectified, lambda: their_logits(theirs, batch))
    ours = build_model(
        vocabulary_size=vocabulary_size,
        normalize_first=pre_norm,
        layer_norm_epsilon=epsilon,
        **size,
    )
    pairs = list(model_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)

    def their_loss_and_logits():
        logits = their_logits(theirs, batch)
        loss = torch.nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=LABEL_SMOOTHING)
        return loss(logits.flatten(0, 1), torch.from_numpy(labels).flatten()), logits

    return differences(
        run_model(ours, batch, labels, LABEL_SMOOTHING),
        run_torch(their_loss_and_logits, pairs),
        at=labels != PAD,
    )


def comparisons():
    base = partial(compare_model, BASE, vocabulary_size=1009, pre_norm=False, epsilon=1e-5)
    small = partial(compare_model, SMALL, vocabulary_size=19, pre_norm=True, epsilon=EPSILON)
    return [
        Comparison("torch.nn.Transformer, small, pre-norm", BOUND, small, "torch"),
        Comparison(BASE_SIZE, 1e-4, base, "torch"),
    ]
