"""The model one token after the other: sources encoded once, then a step function and its cache."""

import functools
import math

from keras import ops

from aiayn_keras.backend import take
from aiayn_keras.decoding.cache import DecoderCache, EnsembleCache, RowCache
from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.layers import attention_weights, decoder_layer, scaled_dot_product_attention


def start_decoding(
    backbone,
    encoder_token_ids,
    encoder_padding_mask,
    length,
    num_beams=None,
    track_coverage=False,
    decoder=None,
):
    """Encodes sources once and returns a step function and its empty cache.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`.
        encoder_padding_mask: Integer tensor `(B, S)`.
        length: Greatest length of a target, start and end included.
        num_beams: Number of beams W that share a `DecoderCache`. If not given, the cache is a
            `RowCache`, for KerasHub's samplers.
        track_coverage: Whether the cache sums up the attention of every source token.
        decoder: The backbone's `FrozenDecoder`, where it is made already.

    Returns:
        Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states
        (B·W, D), cache)` in KerasHub's convention: the distribution of the token at `index`, given
        those before. Logits and hidden states are float32.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    memory_mask = ops.expand_dims(ops.not_equal(encoder_padding_mask, 0), axis=1)
    decoder = decoder or freeze_decoder(backbone)
    cache_type, num_beams = (RowCache, 1) if num_beams is None else (DecoderCache, num_beams)
    cache = cache_type.empty(
        _project_memory(backbone, memory), memory_mask, num_beams, length, track_coverage
    )

    def next_token(token_ids, cache, index):
        last_ids = ops.reshape(take(token_ids, index - 1, axis=1), (-1, num_beams))
        hidden_states, cache = decoder_step(decoder, last_ids, cache, index - 1)
        return decoder.logits(hidden_states), hidden_states, cache

    return next_token, cache


def start_decoding_together(backbones, *args, decoders=None, **kwargs):
    """`start_decoding` for several models of one vocabulary, whose probabilities are averaged."""
    decoders = decoders or (None,) * len(backbones)
    if len(backbones) == 1:
        return start_decoding(backbones[0], *args, decoder=decoders[0], **kwargs)
    parts = zip(backbones, decoders, strict=True)
    steps, caches = zip(
        *(
            start_decoding(backbone, *args, decoder=decoder, **kwargs)
            for backbone, decoder in parts
        ),
        strict=True,
    )

    def next_token(token_ids, cache, index):
        results = [
            step(token_ids, member, index)
            for step, member in zip(steps, cache.members, strict=True)
        ]
        log_probs = [ops.log_softmax(logits) for logits, _, _ in results]
        mean = ops.logsumexp(ops.stack(log_probs), axis=0) - math.log(len(results))
        return mean, results[0][1], EnsembleCache(tuple(member for _, _, member in results))

    return next_token, EnsembleCache(caches)


def decoder_step(decoder, token_ids, cache, index):
    """Runs the decoder for one new position of every hypothesis.

    The same as running the layers over all positions at once, to which the tests hold it.

    Args:
        decoder: A `FrozenDecoder`.
        token_ids: Integer tensor `(B, W)`, the tokens at position `index`.
        cache: A `DecoderCache`.
        index: Integer scalar, a position from 0.

    Returns:
        Float32 hidden states `(B·W, D)`, and the cache with this position.
    """
    x = decoder.embed(token_ids, index)
    position = _Position(cache, token_ids.shape[1], index)
    for layer, block in enumerate(decoder.blocks):
        x = decoder_layer(
            block,
            x,
            functools.partial(position.attend_to_self, block.self_attention, layer),
            functools.partial(position.attend_to_memory, block.cross_attention, layer),
        )
    if decoder.norm is not None:
        x = decoder.norm(x)
    return x, position.cache.add_coverage(position.attention)


class _Position:
    """A new position of every hypothesis on its way through the layers.

    Attributes:
        cache: The `DecoderCache`, with this position's keys and values of the layers passed.
        attention: The last layer's attention to the memory, float32 `(B, H, W, S)`.
    """

    def __init__(self, cache, num_beams, index):
        self.cache, mask = cache.append_slots(num_beams, index)
        self.attention = None
        self._index, self._num_beams = index, num_beams
        self._mask = ops.expand_dims(mask, axis=1)  # (B, 1, W, L·W)
        self._memory_mask = ops.expand_dims(cache.memory_mask, axis=1)  # (B, 1, 1, S)

    def attend_to_self(self, attention, layer, x):
        """Attends from rows `(B·W, D)` to what their hypotheses have written."""
        query, key, value = attention.query_key_value(x, self._num_beams)
        self.cache, keys, values = self.cache.append(layer, key, value, self._index)
        x = scaled_dot_product_attention(query, keys, values, self._mask)
        return attention.project_output(x)

    def attend_to_memory(self, attention, layer, x):
        """Attends from rows `(B·W, D)` to the encoder's output."""
        key, value = self.cache.memory[layer]
        query = attention.query(x, self._num_beams)
        self.attention = attention_weights(query, key, self._memory_mask)
        return attention.project_output(ops.matmul(ops.cast(self.attention, value.dtype), value))


def _project_memory(backbone, memory):
    """Every decoder layer's keys `(B, H, S, K)` and values `(B, H, S, K_v)` of a memory."""
    return [
        tuple(map(_contiguous, block.cross_attention.project_memory(memory)))
        for block in backbone.decoder_blocks
    ]


def _contiguous(x):
    """A contiguous copy; otherwise PyTorch copies at every step."""
    *_, num_heads, length, width = ops.shape(x)
    return ops.reshape(ops.reshape(x, (-1, length, width)), (-1, num_heads, length, width))
