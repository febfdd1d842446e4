"""Keys and values of what the hypotheses of a sentence have written, shared by all of them.

At every step each of the W hypotheses of a sentence adds one position, in its own slot. When
hypotheses branch and die, keys and values stay where they are: `visible` says which slots a
hypothesis has come through, and that is all that is reordered. Attention then is one product of W
queries with W·L keys for a sentence and head.

A cache must have `reorder`, `coverage_bonus`, and `sentences_may_leave`, which tells a search
whether it may also call `keep`, `with_room` and `usual_length`.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from keras import tree

from aiayn_keras.backend import (
    append_keys,
    append_position,
    attends_by_rows,
    initial_length,
    lay_out_keys,
    take,
    take_in_rows,
)
from aiayn_keras.backend import lean_ops as ops
from aiayn_keras.decoding.frozen_decoder import freeze_decoder, own_parts
from aiayn_keras.layers import attention_weights, decoder_layer, scaled_dot_product_attention


class DecoderCache(NamedTuple):
    """The memory of decoding B sentences with W hypotheses each.

    Attributes:
        memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
        memory_mask: Boolean tensor `(B, 1, S)`, True on real source tokens.
        blocks: Every layer's self-attention keys and values, `(B, H, L·W, K)` each, the keys as
            `lay_out_keys` orders them; the slot of a hypothesis changes fastest.
        visible: Boolean tensor `(B, W, L·W)`, True at the slots that a hypothesis has come
            through, one at each position.
        coverage: Float32 tensor `(B, W, S)`, the attention that each source token has received
            from the tokens of a hypothesis; an empty tuple if it is not tracked.
    """

    memory: Any
    memory_mask: Any
    blocks: Any
    visible: Any
    coverage: Any = ()

    sentences_may_leave = True
    _initial_length = staticmethod(initial_length)
    _lay_out_keys = staticmethod(lay_out_keys)
    _write_keys = staticmethod(append_keys)
    _write = staticmethod(append_position)

    @classmethod
    def empty(cls, memory, memory_mask, num_beams, length, track_coverage=False):
        """A cache before the first position.

        Args:
            memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
            memory_mask: Boolean tensor `(B, 1, S)`.
            num_beams: Number of hypotheses W.
            length: Number of positions for which there must be room at the end.
            track_coverage: Whether to sum up attention.
        """
        length = cls._initial_length(length, ops.cast(memory_mask, "int32"))
        batch_size = ops.shape(memory_mask)[0]

        def room_for(x):
            shape = (batch_size, x.shape[1], length * num_beams, x.shape[3])
            return ops.zeros(shape, dtype=x.dtype)

        coverage = ()
        if track_coverage:
            coverage = ops.zeros_like(memory_mask, dtype="float32") + ops.zeros((num_beams, 1))
        return cls(
            memory=memory,
            memory_mask=memory_mask,
            blocks=[(cls._lay_out_keys(room_for(key)), room_for(value)) for key, value in memory],
            visible=ops.zeros((batch_size, num_beams, length * num_beams), dtype="bool"),
            coverage=coverage,
        )

    def append_slots(self, num_beams, index):
        """Marks the slot that each of W hypotheses writes at position `index`.

        Returns:
            The cache, and the boolean mask `(B, W, L·W)` of the slots that each hypothesis has
            come through.
        """
        own = np.eye(num_beams, dtype="bool")
        own = ops.logical_or(ops.zeros_like(self.memory_mask[:, :, :1]), own)  # --> (B, W, W)
        visible, mask = self._write(self.visible, own, index)
        return self._replace(visible=visible), mask

    def append(self, layer, key, value, index):
        """Writes keys `(B, H, W, K)` and values `(B, H, W, K_v)` of position `index`.

        Returns:
            The cache, and the layer's keys and values of all positions.
        """
        old_keys, old_values = self.blocks[layer]
        old_keys, keys = self._write_keys(old_keys, key, index)
        old_values, values = self._write(old_values, value, index)
        blocks = [*self.blocks]
        blocks[layer] = (old_keys, old_values)
        return self._replace(blocks=blocks), keys, values

    def add_coverage(self, attention):
        """Adds the attention `(N, H, Q, S)` of a new position, the mean of its heads."""
        if isinstance(self.coverage, tuple):
            return self
        # Loops know the shape of `coverage`, even where that of the attention is not known.
        attention = ops.reshape(ops.mean(attention, axis=1), ops.shape(self.coverage))
        return self._replace(coverage=self.coverage + attention)

    def reorder(self, beams):
        """The cache after hypothesis `beams[b, w]` has become hypothesis w: `beams (B, W)`."""
        cache = self._replace(visible=take_in_rows(self.visible, beams))
        if isinstance(self.coverage, tuple):
            return cache
        return cache._replace(coverage=take_in_rows(self.coverage, beams))

    def keep(self, sentences):
        """The cache of some sentences: integer tensor `(M,)`."""
        return tree.map_structure(lambda leaf: take(leaf, sentences), self)

    def with_room(self, length):
        """The cache with room for `length` positions, where shapes are fixed.

        Positions after those must not have been written yet.
        """
        num_slots = length * self.visible.shape[1]

        def with_slots(x):
            x = x[:, :, :num_slots]
            padding = [(0, 0)] * x.ndim
            padding[2] = (0, num_slots - x.shape[2])
            return ops.pad(x, padding)

        blocks = [
            (self._lay_out_keys(with_slots(self._lay_out_keys(keys))), with_slots(values))
            for keys, values in self.blocks
        ]
        return self._replace(blocks=blocks, visible=with_slots(self.visible))

    @property
    def usual_length(self):
        """Number of positions that most translations need, an integer."""
        num_tokens = self.memory_mask.shape[2]
        return num_tokens + num_tokens // 4 + 8

    def coverage_bonus(self, beta):
        """`β · Σ_s log(min(coverage_s, 1))` over real source tokens (GNMT, equation 14).

        GNMT has one attention; here it is the mean of the heads of the decoder's last layer.
        Source: https://arxiv.org/abs/1609.08144.

        Returns:
            Float32 tensor `(B, W)`, 0 or less.
        """
        covered = ops.clip(self.coverage, 1e-9, 1.0)
        return beta * ops.sum(ops.where(self.memory_mask, ops.log(covered), 0.0), axis=2)


class _RowCache(DecoderCache):
    """A `DecoderCache` with one hypothesis per row; its rows can be repeated and gathered.

    KerasHub's samplers need that, and every tensor to keep its shape.
    """

    __slots__ = ()

    @staticmethod
    def _lay_out_keys(cached):
        return cached

    @staticmethod
    def _write(cached, new, index):
        """Writes one slot at position `index` of axis 2, on every backend."""
        is_new = ops.equal(ops.arange(ops.shape(cached)[2]), index)
        is_new = ops.reshape(is_new, (1, 1, -1, *[1] * (cached.ndim - 3)))
        cached = ops.where(is_new, new, cached)
        return cached, cached

    _write_keys = _write

    @staticmethod
    def _initial_length(length, tensor):
        return length


class _EnsembleCache(NamedTuple):
    """The caches of several models that search together, one for each."""

    members: tuple

    sentences_may_leave = True

    def reorder(self, beams):
        return _EnsembleCache(tuple(cache.reorder(beams) for cache in self.members))

    def keep(self, sentences):
        return _EnsembleCache(tuple(cache.keep(sentences) for cache in self.members))

    def with_room(self, length):
        return _EnsembleCache(tuple(cache.with_room(length) for cache in self.members))

    @property
    def usual_length(self):
        return max(cache.usual_length for cache in self.members)

    def coverage_bonus(self, beta):
        """The mean over the models, `(B, W)`."""
        return sum(cache.coverage_bonus(beta) for cache in self.members) / len(self.members)


class ForeignCache(NamedTuple):
    """The cache of another package's step function: nested tensors whose first axis is B·W."""

    rows: Any

    sentences_may_leave = False

    def reorder(self, beams):
        return ForeignCache(tree.map_structure(lambda leaf: _gather_rows(leaf, beams), self.rows))


class LayersCache(NamedTuple):
    """The sources of B·W hypotheses, for a decoder that is run over all positions at every step.

    Attributes:
        memory: Float tensor `(B·W, S, D)`, the encoder's output for each hypothesis.
        padding_mask: Integer tensor `(B·W, S)`, 0 on padding.
    """

    memory: Any
    padding_mask: Any

    sentences_may_leave = False

    def reorder(self, beams):
        """The hypotheses of a sentence have one source, so nothing moves."""
        return self


def _gather_rows(x, beams):
    """Picks beams of a tensor whose first axis is B·W: indices `(B, W)` give `(B·W, ...)`."""
    first_rows = ops.arange(ops.shape(beams)[0], dtype=beams.dtype) * beams.shape[1]
    return take(x, ops.reshape(ops.expand_dims(first_rows, axis=1) + beams, (-1,)))


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
        length: Maximum length of a target, start and end included.
        num_beams: Number of beams W that share a `DecoderCache`. If not given, the cache is a
            `_RowCache`, for KerasHub's samplers.
        track_coverage: Whether the cache sums up the attention of every source token.
        decoder: The backbone's `FrozenDecoder`, if it has been made already.

    Returns:
        Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states
        (B·W, D), cache)` in KerasHub's convention: the distribution of the token at `index`, given
        those before. Logits and hidden states are float32.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    names = [] if decoder is not None else own_parts(backbone)
    if names:
        if track_coverage:
            raise ValueError(
                f"`coverage_penalty` needs to know the decoder, which has parts of your own: "
                f"{', '.join(names)}. Leave it out."
            )
        return _start_layers(backbone, memory, encoder_padding_mask, num_beams or 1)
    memory_mask = ops.expand_dims(ops.not_equal(encoder_padding_mask, 0), axis=1)
    decoder = decoder or freeze_decoder(backbone)
    cache_type, num_beams = (_RowCache, 1) if num_beams is None else (DecoderCache, num_beams)
    cache = cache_type.empty(
        _project_memory(backbone, memory), memory_mask, num_beams, length, track_coverage
    )

    def next_token(token_ids, cache, index):
        last_ids = ops.reshape(take(token_ids, index - 1, axis=1), (-1, num_beams))
        hidden_states, cache = decoder_step(decoder, last_ids, cache, index - 1)
        return decoder.logits(hidden_states), hidden_states, cache

    return next_token, cache


def _start_layers(backbone, memory, padding_mask, num_beams):
    """`start_decoding` by the backbone's own layers, over all positions and without a cache."""
    rows = (ops.repeat(x, num_beams, axis=0) for x in (memory, padding_mask))

    def next_token(token_ids, cache, index):
        is_written = ops.arange(ops.shape(token_ids)[1], dtype=token_ids.dtype) < index
        decoder_mask = ops.zeros_like(token_ids) + ops.cast(is_written, token_ids.dtype)
        hidden_states = backbone.decode(
            cache.memory,
            encoder_padding_mask=cache.padding_mask,
            decoder_token_ids=token_ids,
            decoder_padding_mask=decoder_mask,
            training=False,
        )
        hidden_states = take(hidden_states, index - 1, axis=1)
        logits = backbone.token_embedding(hidden_states, reverse=True)
        return ops.cast(logits, "float32"), ops.cast(hidden_states, "float32"), cache

    return next_token, LayersCache(*rows)


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
        return mean, results[0][1], _EnsembleCache(tuple(member for _, _, member in results))

    return next_token, _EnsembleCache(caches)


def decoder_step(decoder, token_ids, cache, index):
    """Runs the decoder for one new position of every hypothesis.

    Gives the same as running the layers over all positions at once, as the tests check.

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
        attention: The last layer's attention to the memory, float32 `(N, H, Q, S)`, where N·Q is
            B·W, and Q is W, or 1 if every hypothesis attends on its own.
    """

    def __init__(self, cache, num_beams, index):
        self.cache, mask = cache.append_slots(num_beams, index)
        self.attention = None
        self._index, self._num_beams, self._num_queries = index, num_beams, num_beams
        self._mask = ops.expand_dims(mask, axis=1)  # (B, 1, W, L·W)
        self._memory_mask = ops.expand_dims(cache.memory_mask, axis=1)  # (B, 1, 1, S)
        if attends_by_rows(cache.memory_mask.shape[0]):
            self._num_queries = 1
            self._mask = ops.reshape(mask, (num_beams, 1, 1, -1))

    def attend_to_self(self, attention, layer, x):
        """Attends from rows `(B·W, D)` to what their hypotheses have written."""
        query, key, value = attention.query_key_value(x, self._num_beams, self._num_queries)
        self.cache, keys, values = self.cache.append(layer, key, value, self._index)
        x = scaled_dot_product_attention(query, keys, values, self._mask)
        return attention.project_output(x)

    def attend_to_memory(self, attention, layer, x):
        """Attends from rows `(B·W, D)` to the encoder's output."""
        key, value = self.cache.memory[layer]
        query = attention.query(x, self._num_queries)
        self.attention = attention_weights(query, key, self._memory_mask)
        return attention.project_output(ops.matmul(ops.cast(self.attention, value.dtype), value))


def _project_memory(backbone, memory):
    """Every decoder layer's keys `(B, H, S, K)` and values `(B, H, S, K_v)` of a memory."""
    dtype = backbone.compute_dtype  # Keras multiplies float64 in float32 on PyTorch
    return [
        tuple(_contiguous(ops.cast(x, dtype)) for x in block.cross_attention.project_memory(memory))
        for block in backbone.decoder_blocks
    ]


def _contiguous(x):
    """A contiguous copy; otherwise PyTorch copies at every step."""
    *_, num_heads, length, width = ops.shape(x)
    return ops.reshape(ops.reshape(x, (-1, length, width)), (-1, num_heads, length, width))
