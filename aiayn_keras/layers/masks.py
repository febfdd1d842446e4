"""Boolean masks, True where attention is allowed (paper 3.2.3).

A padding mask is an integer tensor: 0 marks padding, and 1, 2, 3 … number the sentences packed
into a row. A mask of ones is the ordinary case of one sentence per row. Layers also take Keras'
own padding masks, which are boolean and True on real positions.
"""

import keras
from keras import ops


def make_attention_mask(query_padding_mask, key_padding_mask):
    """Allows attention from each position to the real positions of its own sentence.

    Args:
        query_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        key_padding_mask: Integer tensor `(B, S)`, of the same kind.

    Returns:
        Boolean tensor `(B, T, S)`, True where the numbers agree and are not 0.

    Raises:
        ValueError: For a mask that does not have rank 2.
    """
    query_padding_mask = _with_two_axes("query_padding_mask", query_padding_mask)
    key_padding_mask = _with_two_axes("key_padding_mask", key_padding_mask)
    query_padding_mask = ops.expand_dims(query_padding_mask, axis=2)  # (B, T, 1)
    key_padding_mask = ops.expand_dims(key_padding_mask, axis=1)  # (B, 1, S)
    same_sentence = ops.equal(query_padding_mask, key_padding_mask)
    return ops.logical_and(same_sentence, ops.not_equal(key_padding_mask, 0))


def make_causal_mask(query_padding_mask, key_padding_mask=None):
    """Hides the future: position t looks at positions up to and including t.

    Args:
        query_padding_mask: Integer tensor `(B, T)`; only its shape is read.
        key_padding_mask: Integer tensor `(B, S)`, of the same kind; the same mask in
            self-attention.

    Returns:
        Boolean tensor `(B, T, S)`, True on and below the diagonal.

    Raises:
        ValueError: For a mask that does not have rank 2.
    """
    query_positions = key_positions = _positions("query_padding_mask", query_padding_mask)
    if key_padding_mask is not None:
        key_positions = _positions("key_padding_mask", key_padding_mask)
    return ops.greater_equal(
        ops.expand_dims(query_positions, axis=2), ops.expand_dims(key_positions, axis=1)
    )


def _positions(name, padding_mask):
    # A running sum, since `arange` needs a length and a symbolic tensor has none.
    ones = ops.ones_like(_with_two_axes(name, padding_mask), dtype="int32")
    return ops.cumsum(ones, axis=1)


def _with_two_axes(name, padding_mask):
    padding_mask = _as_array(padding_mask)
    shape = tuple(padding_mask.shape)
    if len(shape) != 2:
        raise ValueError(
            f"`{name}` must have rank 2, a row for each of the B sentences. Received: rank "
            f"{len(shape)}, shape={shape}. The mask of one sentence of T tokens without padding "
            "is `np.ones((1, T))`."
        )
    return padding_mask


def combine_masks(*masks):
    """Allows only what every mask allows; shapes broadcast."""
    combined = masks[0]
    for mask in masks[1:]:
        combined = ops.logical_and(combined, mask)
    return combined


def make_decoder_masks(decoder_padding_mask, encoder_padding_mask):
    """Masks of the decoder's two attentions: to the past of a sentence, and to its source.

    Args:
        decoder_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        encoder_padding_mask: Integer tensor `(B, S)`, of the same kind.

    Returns:
        Two boolean tensors, `(B, T, T)` and `(B, T, S)`, True where attention is allowed.
    """
    self_mask = combine_masks(
        make_attention_mask(decoder_padding_mask, decoder_padding_mask),
        make_causal_mask(decoder_padding_mask),
    )
    return self_mask, make_attention_mask(decoder_padding_mask, encoder_padding_mask)


def sentence_positions(padding_mask):
    """Counts positions in a packed row, from 0 again in every sentence.

    Args:
        padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.

    Returns:
        Integer tensor `(B, T)`: how many earlier positions carry the same number; 0 on padding,
        which may be longer than any sentence.
    """
    same_sentence = make_attention_mask(padding_mask, padding_mask)
    earlier_or_self = combine_masks(same_sentence, make_causal_mask(padding_mask))
    return ops.maximum(ops.sum(ops.cast(earlier_or_self, "int32"), axis=2) - 1, 0)


def join_masks(
    query, memory, attention_mask=None, query_mask=None, memory_mask=None, use_causal_mask=False
):
    """Makes one mask from those that a layer is called with.

    Args:
        query: Float tensor `(B, T, D)`.
        memory: Float tensor `(B, S, D)`.
        attention_mask: Boolean tensor from `check_attention_mask`, or None.
        query_mask: Boolean or integer tensor `(B, T)` from `check_padding_mask`, or None.
        memory_mask: Boolean or integer tensor `(B, S)`, of the same kind. If one of the two has
            integers, they number sentences, and a position sees only its own sentence; a boolean or
            missing mask is sentence 1. Otherwise every query sees the real positions of the memory,
            and without `memory_mask` all of it.
        use_causal_mask: Whether to hide from position t the positions of the memory after t.

    Returns:
        Boolean tensor that broadcasts to `(B, T, S)`, True where attention is allowed; None if
        everything is.
    """
    masks = []
    if attention_mask is not None:
        masks.append(attention_mask)
    if memory_mask is not None:
        masks.append(_hide_padding(query_mask, memory_mask))
    if use_causal_mask:
        keys = () if memory is query else (memory[:1, :, 0],)
        masks.append(make_causal_mask(query[:1, :, 0], *keys))
    return combine_masks(*masks) if masks else None


def _hide_padding(query_mask, memory_mask):
    if all(mask is None or _dtype(mask) == "bool" for mask in (query_mask, memory_mask)):
        return ops.expand_dims(memory_mask, axis=1)
    if query_mask is None:
        query_mask = ops.ones_like(memory_mask[:, :1])
    return make_attention_mask(ops.cast(query_mask, "int32"), ops.cast(memory_mask, "int32"))


def detach_mask(x, mask):
    """`x` without the mask that Keras may have attached to it, for the layers inside a block.

    The caller may have given the block a different mask, which replaces the attached one. The
    layers inside would follow both.

    Args:
        x: Float tensor `(B, T, D)`.
        mask: The mask of `x` that the block follows; None if there is neither.
    """
    return x if mask is None else ops.copy(x)


def check_attention_mask(name, mask, query, memory_length):
    """Refuses an argument that is not a mask of pairs of positions.

    Args:
        name: Name of the caller's argument.
        mask: The argument; None is allowed.
        query: Float tensor `(B, T, D)`.
        memory_length: Number S of positions of the memory; None if it is not known.

    Returns:
        The mask as a boolean tensor, or None.

    Raises:
        ValueError: Unless it has rank 3 and is boolean or of integers, with a shape that fits; the
            first and second axes may be 1.
    """
    if mask is None:
        return None
    sizes = query.shape[0], query.shape[1], memory_length
    advice = {
        2: "Give a padding mask, with one value per position, as a plain mask (`mask`, "
        "`query_mask` and the like); a mask of pairs that is the same for all rows needs a first "
        "axis of size 1.",
        4: "All heads share one mask: leave their axis out.",
    }
    mask = _as_array(mask)
    _check_shape(name, mask, "(B, T, S)", sizes, advice, may_be_one=(0, 1))
    return mask if _dtype(mask) == "bool" else ops.not_equal(mask, 0)


def check_padding_mask(name, mask, x):
    """Refuses an argument that is not a mask of positions.

    Args:
        name: Name of the caller's argument.
        mask: The argument; None is allowed.
        x: Float tensor `(B, T, D)`, whose positions are masked.

    Returns:
        The mask, boolean or of integers, or None.

    Raises:
        ValueError: Unless it has rank 2 and is boolean or of integers, with a shape that fits; the
            first axis may be 1.
    """
    if mask is not None:
        mask = _as_array(mask)
        advice = {3: "Give a mask of pairs of positions as an attention mask (`..attention_mask`)."}
        _check_shape(name, mask, "(B, T)", tuple(x.shape[:2]), advice, may_be_one=(0,))
    return mask


def _check_shape(name, mask, letters, sizes, advice, may_be_one):
    dtype, shape = _dtype(mask), tuple(mask.shape)
    if dtype.startswith(("float", "bfloat")):
        raise ValueError(
            f"`{name}` must be boolean, True where attention is allowed. Received: dtype={dtype}. "
            f"Pass `{name}=mask == 0` if it is a mask that is added to scores, `{name}=mask != 0` "
            "if 1 stands for True."
        )
    if len(shape) != len(sizes):
        raise ValueError(
            f"`{name}` must have rank {len(sizes)}, {letters}. Received: rank {len(shape)}, "
            f"shape={shape}. {advice.get(len(shape), '')}".rstrip()
        )
    for axis, (received, wanted) in enumerate(zip(shape, sizes, strict=True)):
        fits = None in (received, wanted) or received == wanted
        if not fits and not (received == 1 and axis in may_be_one):
            raise ValueError(
                f"`{name}` must have rank {len(sizes)} and shape {letters} = {tuple(sizes)}. "
                f"Received: rank {len(shape)}, shape={shape}."
            )


def _as_array(mask):
    """The mask itself, or as a tensor if it is a list of lists."""
    return mask if hasattr(mask, "dtype") else ops.convert_to_tensor(mask)


def _dtype(mask):
    return keras.backend.standardize_dtype(mask.dtype)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class AttentionMask(keras.layers.Layer):
    """The mask of an attention as a layer, so that summaries and plots of a model show it by name.

    Args:
        causal: Whether to hide the future as well (paper 3.2.3).

    Call arguments:
        query_padding_mask: Integer tensor `(B, T)`, sentence numbers, 0 for padding.
        key_padding_mask: Integer tensor `(B, S)`, of the same kind; with `causal`, the same mask.

    Returns:
        Boolean tensor `(B, T, S)`, True where attention is allowed.
    """

    def __init__(self, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.causal = causal

    def call(self, query_padding_mask, key_padding_mask):
        mask = make_attention_mask(query_padding_mask, key_padding_mask)
        return combine_masks(mask, make_causal_mask(query_padding_mask)) if self.causal else mask

    def compute_output_shape(self, query_padding_mask_shape, key_padding_mask_shape):
        return (*query_padding_mask_shape, key_padding_mask_shape[1])

    def compute_output_spec(self, query_padding_mask, key_padding_mask):
        shape = self.compute_output_shape(query_padding_mask.shape, key_padding_mask.shape)
        return keras.KerasTensor(shape, dtype="bool")

    def get_config(self):
        config = super().get_config()
        config.update({"causal": self.causal})
        return config
