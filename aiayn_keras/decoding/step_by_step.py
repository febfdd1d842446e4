"""The model one token after the other: sources encoded once, then a step function and its cache."""

import math

from keras import ops

from aiayn_keras.backend import append_position, initial_length
from aiayn_keras.decoding.decoder_cache import (
    add_attention,
    add_position,
    empty_cache,
    write_position,
)
from aiayn_keras.decoding.decoder_step import decoder_step, decoder_weights, project_memory


def prepare_search(
    backbone,
    encoder_token_ids,
    encoder_padding_mask,
    length,
    num_beams=None,
    track_coverage=False,
):
    """Encodes sources once and returns what a sampler needs: a step function and a cache.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`.
        encoder_padding_mask: Integer tensor `(B, S)`.
        length: Greatest length of a target, start and end included.
        num_beams: Number of beams W of a sampler that reorders the cache by
            `reorder_hypotheses`. If not given, the cache is for one hypothesis a row, and a sampler
            may repeat and gather its rows.
        track_coverage: Whether the cache sums up the attention of every source token.

    Returns:
        Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states
        (B·W, D), cache)`, and an empty cache.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    memory_mask = ops.expand_dims(ops.not_equal(encoder_padding_mask, 0), axis=1)
    weights = decoder_weights(backbone)
    if num_beams is None:
        num_beams, append = 1, write_position
    else:
        length, append = initial_length(length, encoder_token_ids), append_position
    cache = empty_cache(
        project_memory(backbone, memory), memory_mask, num_beams, length, track_coverage
    )

    def next_token(token_ids, cache, index):
        last_ids = ops.take(token_ids, ops.reshape(index - 1, (1,)), axis=1)
        last_ids = ops.reshape(last_ids, (-1, num_beams))
        ancestors, mask = add_position(cache.ancestors, last_ids, append, index - 1)
        hidden_states, blocks, attention = decoder_step(
            backbone,
            weights,
            last_ids,
            index - 1,
            cache.memory,
            cache.memory_mask,
            cache.blocks,
            lambda cached, new: append(cached, new, index - 1),
            mask,
        )
        cache = cache._replace(
            blocks=blocks,
            ancestors=ancestors,
            coverage=add_attention(cache.coverage, attention),
        )
        return weights.output(hidden_states), hidden_states, cache

    return next_token, cache


def prepare_ensemble_search(backbones, *args, **kwargs):
    """`prepare_search` for several models of one vocabulary, whose probabilities are averaged."""
    if len(backbones) == 1:
        return prepare_search(backbones[0], *args, **kwargs)
    next_tokens, caches = zip(
        *(prepare_search(backbone, *args, **kwargs) for backbone in backbones), strict=True
    )

    def next_token(token_ids, caches, index):
        results = [
            member(token_ids, cache, index)
            for member, cache in zip(next_tokens, caches, strict=True)
        ]
        log_probs = [ops.log_softmax(ops.cast(logits, "float32")) for logits, _, _ in results]
        mean = ops.logsumexp(ops.stack(log_probs), axis=0) - math.log(len(results))
        return mean, results[0][1], tuple(cache for _, _, cache in results)

    return next_token, caches
