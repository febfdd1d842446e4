"""Keys and values of what the hypotheses of a sentence have written, shared by all of them.

At every step each of the W hypotheses of a sentence adds one position, in its own slot. When
hypotheses branch and die, keys and values stay where they are: `visible` says which slots a
hypothesis has come through, and that is all that is reordered. Attention then is one product of W
queries with W·L keys for a sentence and head.

A search needs four things of a cache: `reorder`, `keep`, `coverage_bonus`, and
`sentences_may_leave`, whether `keep` can be called at all.
"""

from typing import Any, NamedTuple

import numpy as np
from keras import ops, tree

from aiayn_keras.backend import append_position, initial_length, take, take_in_rows
from aiayn_keras.decoding.beam_state import gather_rows


class DecoderCache(NamedTuple):
    """The memory of decoding B sentences with W hypotheses each.

    Attributes:
        memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
        memory_mask: Boolean tensor `(B, 1, S)`, True on real source tokens.
        blocks: Every layer's self-attention keys and values, `(B, H, L·W, K)` each; the slot of a
            hypothesis changes fastest.
        visible: Boolean tensor `(B, W, L·W)`, True at the slots that a hypothesis has come
            through, one at each position.
        coverage: Float32 tensor `(B, W, S)`, the attention that each source token has had from
            what a hypothesis has written; an empty tuple where nobody asks.
    """

    memory: Any
    memory_mask: Any
    blocks: Any
    visible: Any
    coverage: Any = ()

    sentences_may_leave = True
    _initial_length = staticmethod(initial_length)
    _write = staticmethod(append_position)

    @classmethod
    def empty(cls, memory, memory_mask, num_beams, length, track_coverage=False):
        """A cache before the first position.

        Args:
            memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
            memory_mask: Boolean tensor `(B, 1, S)`.
            num_beams: Number of hypotheses W.
            length: Number of positions there must be room for at the end.
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
            blocks=[(room_for(key), room_for(value)) for key, value in memory],
            visible=ops.zeros((batch_size, num_beams, length * num_beams), dtype="bool"),
            coverage=coverage,
        )

    def append_slots(self, num_beams, index):
        """Notes that each of W hypotheses writes position `index` into its own slot.

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
        old_keys, keys = self._write(old_keys, key, index)
        old_values, values = self._write(old_values, value, index)
        blocks = [*self.blocks]
        blocks[layer] = (old_keys, old_values)
        return self._replace(blocks=blocks), keys, values

    def add_coverage(self, attention):
        """Adds the attention `(B, H, W, S)` of a new position, the mean of its heads."""
        if isinstance(self.coverage, tuple):
            return self
        return self._replace(coverage=self.coverage + ops.mean(attention, axis=1))

    def reorder(self, beams):
        """The cache after hypothesis `beams[b, w]` has become hypothesis w: `beams (B, W)`."""
        cache = self._replace(visible=take_in_rows(self.visible, beams))
        if isinstance(self.coverage, tuple):
            return cache
        return cache._replace(coverage=take_in_rows(self.coverage, beams))

    def keep(self, sentences):
        """The cache of some sentences: integer tensor `(M,)`."""
        return tree.map_structure(lambda leaf: take(leaf, sentences), self)

    def coverage_bonus(self, beta):
        """`β · Σ_s log(min(coverage_s, 1))` over real source tokens (GNMT, equation 14).

        GNMT has one attention; here it is the mean of the heads of the decoder's last layer.
        Source: https://arxiv.org/abs/1609.08144.

        Returns:
            Float32 tensor `(B, W)`, 0 or less.
        """
        covered = ops.clip(self.coverage, 1e-9, 1.0)
        return beta * ops.sum(ops.where(self.memory_mask, ops.log(covered), 0.0), axis=2)


class RowCache(DecoderCache):
    """A `DecoderCache` with one hypothesis a row; its rows can be repeated and gathered.

    KerasHub's samplers need that, and every tensor to keep its shape.
    """

    __slots__ = ()

    @staticmethod
    def _write(cached, new, index):
        """Writes one slot at position `index` of axis 2, on every backend."""
        is_new = ops.equal(ops.arange(ops.shape(cached)[2]), index)
        is_new = ops.reshape(is_new, (1, 1, -1, *[1] * (cached.ndim - 3)))
        cached = ops.where(is_new, new, cached)
        return cached, cached

    @staticmethod
    def _initial_length(length, tensor):
        return length


class EnsembleCache(NamedTuple):
    """The caches of several models that search together, one for each."""

    members: tuple

    sentences_may_leave = True

    def reorder(self, beams):
        return EnsembleCache(tuple(cache.reorder(beams) for cache in self.members))

    def keep(self, sentences):
        return EnsembleCache(tuple(cache.keep(sentences) for cache in self.members))

    def coverage_bonus(self, beta):
        """The mean over the models, `(B, W)`."""
        return sum(cache.coverage_bonus(beta) for cache in self.members) / len(self.members)


class ForeignCache(NamedTuple):
    """The cache of another package's step function: nested tensors whose first axis is B·W."""

    rows: Any

    sentences_may_leave = False

    def reorder(self, beams):
        return ForeignCache(tree.map_structure(lambda leaf: gather_rows(leaf, beams), self.rows))
