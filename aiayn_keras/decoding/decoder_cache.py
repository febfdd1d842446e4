"""Keys and values of what the hypotheses of a sentence have written, shared by all of them.

At every step each of the W hypotheses of a sentence adds one position, in its own slot. When
hypotheses branch and die, keys and values stay where they are: `ancestors` says which slot a
hypothesis has come through at each position, and that is all that is reordered. Attention then is
one product of W queries with W·L keys for a sentence and head.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from aiayn_keras.decoding.beam_state import gather_beams


class DecoderCache(NamedTuple):
    """What decoding B sentences with W hypotheses each remembers.

    Attributes:
        memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
        memory_mask: Boolean tensor `(B, 1, S)`, True on real source tokens.
        blocks: Every layer's self-attention keys and values, `(B, H, L·W, K)` each; the slot of a
            hypothesis changes fastest.
        ancestors: Integer tensor `(B, W, L)`, the slot of a hypothesis at each position; -1 where
            nothing is written yet.
        coverage: Float32 tensor `(B, W, S)`, the attention that each source token has had from
            what a hypothesis has written; an empty tuple where nobody asks.
    """

    memory: Any
    memory_mask: Any
    blocks: Any
    ancestors: Any
    coverage: Any = ()


def empty_cache(memory, memory_mask, num_beams, length, track_coverage=False):
    """A cache before the first position.

    Args:
        memory: Every layer's keys and values of the encoder's output, `(B, H, S, K)` each.
        memory_mask: Boolean tensor `(B, 1, S)`.
        num_beams: Number of hypotheses W.
        length: Number of positions there is room for.
        track_coverage: Whether to sum up attention.
    """
    batch_size = ops.shape(memory_mask)[0]

    def room_for(x):
        shape = (batch_size, x.shape[1], length * num_beams, x.shape[3])
        return ops.zeros(shape, dtype=x.dtype)

    return DecoderCache(
        memory=memory,
        memory_mask=memory_mask,
        blocks=[(room_for(key), room_for(value)) for key, value in memory],
        ancestors=ops.zeros((batch_size, num_beams, length), dtype="int32") - 1,
        coverage=(
            ops.zeros_like(memory_mask, dtype="float32") + ops.zeros((num_beams, 1))
            if track_coverage
            else ()
        ),
    )


def add_position(ancestors, token_ids, append, index):
    """Notes that every hypothesis writes its token `(B, W)` at `index` into its own slot.

    Returns:
        Ancestors to keep, and the boolean mask `(B, W, L·W)` of what each hypothesis has written.
    """
    num_beams = token_ids.shape[1]
    slots = ops.arange(num_beams, dtype="int32")
    own = ops.expand_dims(ops.zeros_like(token_ids) + slots, axis=2)
    ancestors, visible = append(ancestors, own, index)
    mask = ops.equal(visible[:, :, :, None], slots)
    return ancestors, ops.reshape(mask, (-1, num_beams, ops.shape(visible)[2] * num_beams))


def reorder_hypotheses(cache, beams):
    """The cache after hypothesis `beams[b, w]` has become hypothesis w: `beams (B, W)`."""
    cache = cache._replace(ancestors=gather_beams(cache.ancestors, beams))
    if isinstance(cache.coverage, tuple):
        return cache
    return cache._replace(coverage=gather_beams(cache.coverage, beams))


def keep_sentences(cache, sentences):
    """The cache of some sentences: integer tensor `(M,)`."""
    return tree.map_structure(lambda leaf: ops.take(leaf, sentences, axis=0), cache)


def add_attention(coverage, attention):
    """Adds the attention `(B, H, W, S)` of a new position, mean of its heads, to a coverage."""
    return coverage if isinstance(coverage, tuple) else coverage + ops.mean(attention, axis=1)


def coverage_bonus(cache, beta):
    """`β · Σ_s log(min(coverage_s, 1))` over real source tokens (GNMT, equation 14).

    GNMT has one attention; here it is the mean of the heads of the decoder's last layer. Source:
    https://arxiv.org/abs/1609.08144.

    Returns:
        Float32 tensor `(B, W)`, 0 or less.
    """
    covered = ops.clip(cache.coverage, 1e-9, 1.0)
    return beta * ops.sum(ops.where(cache.memory_mask, ops.log(covered), 0.0), axis=2)


def write_position(cached, new, index):
    """Writes one slot at position `index` of axis 2, whatever the backend; shapes stay.

    Returns:
        What to keep, and what to attend to.
    """
    is_new = ops.equal(ops.arange(ops.shape(cached)[2]), index)
    is_new = ops.reshape(is_new, (1, 1, -1, *[1] * (cached.ndim - 3)))
    cached = ops.where(is_new, new, cached)
    return cached, cached
