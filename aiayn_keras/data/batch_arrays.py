"""From token ids and their places to the arrays that the model is trained on."""

import numpy as np

from aiayn_keras.data.token_pairs import Tokens, ragged_places


def make_batch(shape, sides, rows, *, start_id, end_id, pad_id, source_end=True):
    """Arranges pairs in rows: one pair in a row, or several one after the other.

    The encoder reads the source ids and the end id; the decoder reads the start id and the target
    ids; the labels are the target ids and the end id. Masks number the pairs of a row from 1.

    Args:
        shape: Tuple `(B, S, T)`.
        sides: Source and target `Tokens` of the pairs.
        rows: Integer array `(pairs,)`, ascending: the row of each pair.
        start_id: Id that starts every decoder input.
        end_id: Id that ends every source and all labels.
        pad_id: Id at padded positions.
        source_end: Whether the encoder reads the end id.

    Returns:
        A tuple `(x, y, sample_weight)`: the dictionary of the model's four inputs, labels `(B, T)`,
        all int32, and float32 weights `(B, T)`, 1 on labels and 0 on padding.
    """
    B, S, T = shape
    source = _with_end(sides[0], end_id) if source_end else sides[0]
    target = _with_end(sides[1], end_id)
    first = np.searchsorted(rows, rows)  # the first pair of the pair's row
    numbers = np.arange(len(rows)) - first + 1
    encoder_ids, encoder_mask, _ = _scatter(source, rows, first, numbers, (B, S), pad_id)
    labels, decoder_mask, places = _scatter(target, rows, first, numbers, (B, T), pad_id)
    # The decoder reads the labels one position later, from the start id on.
    decoder_ids = np.full_like(labels, pad_id)
    begins = np.cumsum(target.lengths) - target.lengths
    shifted = np.roll(target.ids, 1)
    shifted[begins] = start_id
    decoder_ids.flat[places] = shifted
    x = {
        "encoder_token_ids": encoder_ids,
        "encoder_padding_mask": encoder_mask,
        "decoder_token_ids": decoder_ids,
        "decoder_padding_mask": decoder_mask,
    }
    return x, labels, (decoder_mask > 0).astype(np.float32)


def _with_end(tokens, end_id):
    """The sequences, each with the end id."""
    lengths = tokens.lengths.astype(np.int64) + 1
    ends = np.cumsum(lengths) - 1
    ids = np.full(lengths.sum(), end_id, dtype=np.int32)
    is_piece = np.ones(len(ids), dtype=bool)
    is_piece[ends] = False
    ids[is_piece] = tokens.ids
    return Tokens(ids, lengths)


def _scatter(tokens, rows, first, numbers, shape, pad_id):
    """Ids and mask of `shape` with the tokens in their rows, and the flat places of the tokens."""
    before = np.cumsum(tokens.lengths) - tokens.lengths
    columns = before - before[first]
    places = ragged_places(rows * shape[1] + columns, tokens.lengths)
    ids = np.full(shape, pad_id, dtype=np.int32)
    mask = np.zeros(shape, dtype=np.int32)
    ids.flat[places] = tokens.ids
    mask.flat[places] = np.repeat(numbers, tokens.lengths)
    return ids, mask, places
