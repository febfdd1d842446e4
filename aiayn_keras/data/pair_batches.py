"""From token ids and their places to the arrays that the model is trained on."""

import abc
import functools
import operator
import sys
from collections.abc import Iterator

import numpy as np

from aiayn_keras.data.token_pairs import Pairs, Tokens, ragged_places


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


class BatchSequence(abc.ABC):
    """Batches by their index: `i` is step `i % steps_per_epoch` of epoch `i // steps_per_epoch`.

    A subclass gives `batch(index)`, which must not depend on what was asked before.

    Attributes:
        steps_per_epoch: Batches per epoch.
    """

    steps_per_epoch: int

    @abc.abstractmethod
    def batch(self, index: int):
        """The batch `(x, y, sample_weight)` of an index that is not negative."""

    def __len__(self) -> int:
        """Batches per epoch. An index may go beyond: the epochs follow each other without end."""
        return self.steps_per_epoch

    def __iter__(self) -> Iterator:
        """The batches of the first epoch."""
        return (self[step] for step in range(self.steps_per_epoch))

    def __getitem__(self, index: int):
        """The batch `(x, y, sample_weight)` of step `index`, counted from the first epoch on."""
        return self.batch(checked_index(index))

    def to_iter_dataset(self, start_step: int = 0, num_steps: int | None = None, prefetch: int = 2):
        """These batches as a Grain data set.

        For `model.fit(dataset, steps_per_epoch=batches.steps_per_epoch, shuffle=False)`: Keras
        warns that it cannot shuffle a Grain data set unless told not to.

        The state of its iterators (`get_state`, `set_state`) counts batches since `start_step`;
        an iterator that is given a state goes on with exactly the batches that were to come.
        `to_iter_dataset(start_step=n)` does the same without a state. On TensorFlow Keras takes the
        dimensions on which the first two batches agree to be the same for all: of `TokenBatches`
        with a shape in the majority, start at the beginning of an epoch.

        Args:
            start_step: The batch to start with, counted from the first epoch on.
            num_steps: Number of batches to give; `None` for no end.
            prefetch: Batches that a thread prepares ahead; 0 for none.

        Returns:
            A `grain.IterDataset` of `(x, y, sample_weight)`.
        """
        import grain  # with JAX, where that is installed: workers that tokenize need neither

        if start_step < 0 or prefetch < 0:
            raise ValueError(
                "`start_step` and `prefetch` must not be negative. "
                f"Received: start_step={start_step}, prefetch={prefetch}."
            )
        stop = sys.maxsize if num_steps is None else start_step + num_steps
        options = grain.ReadOptions(num_threads=1 if prefetch else 0, prefetch_buffer_size=prefetch)
        steps = grain.MapDataset.range(start_step, stop)
        return steps.map(self.batch).to_iter_dataset(options)


def checked_index(index):
    """An index as an int, if it is not negative."""
    index = operator.index(index)
    if index < 0:
        raise IndexError(f"A batch index must not be negative. Received: {index}.")
    return index


class PairBatches(BatchSequence):
    """Training batches of token pairs, each epoch in an order of its own.

    Every batch is `(x, y, sample_weight)` as `keras.Model.fit` takes it. The encoder reads the
    source pieces and the end id; the decoder reads the start id and the target pieces; the labels
    `y` are the target pieces and the end id. Padding has mask 0 and weight 0.

    Each epoch holds every pair exactly once, in an order that depends on `(seed, epoch)` alone.

    A subclass plans the shapes once (`_plan`), lays out each epoch (`_lay_out`) and finds a batch
    in that layout (`_locate`).

    Args:
        pairs: `TokenPairs`, `TokenShards` or `SampledPairs`.
        tokens_per_batch: Largest number of positions of a batch per side, padding included:
            `B * max(S, T) <= tokens_per_batch`. The paper uses about 25,000.
        seed: Seed of the order, not negative.
        start_id: Id that starts the decoder input.
        end_id: Id that ends the encoder input and the labels.
        pad_id: Id at padded positions.
        source_end: Whether the encoder reads the end id.
        shuffle: Whether each epoch has an order of its own. Without, all epochs are alike.

    Attributes:
        shapes: Tuple of the `(B, S, T)` in use, short ones first.
        steps_per_epoch: Batches per epoch.
        padding_share: Share of encoder and decoder positions that are padding, in [0, 1).
        real_source_tokens: Encoder tokens per epoch that are not padding.
        real_target_tokens: Labels per epoch that are not padding, end ids included.

    Raises:
        ValueError: If a pair (with its end id) is longer than `tokens_per_batch`, or an argument is
            out of range.
    """

    def __init__(
        self,
        pairs: Pairs,
        *,
        tokens_per_batch: int,
        seed: int = 0,
        start_id: int = 2,
        end_id: int = 3,
        pad_id: int = 0,
        source_end: bool = True,
        shuffle: bool = True,
    ):
        if seed < 0:
            raise ValueError(f"`seed` must not be negative. Received: seed={seed}.")
        self.pairs, self.seed, self.shuffle = pairs, seed, shuffle
        self._options = {"start_id": start_id, "end_id": end_id, "pad_id": pad_id}
        self._options["source_end"] = source_end
        # With the end id.
        lengths = [
            np.asarray(pairs.source_lengths, dtype=np.int32) + int(source_end),
            np.asarray(pairs.target_lengths, dtype=np.int32) + 1,
        ]
        _check_lengths(*lengths, tokens_per_batch)
        self.shapes, steps = self._plan(*lengths, tokens_per_batch)
        self.steps_per_epoch = sum(steps)
        self.real_source_tokens, self.real_target_tokens = (int(side.sum()) for side in lengths)
        positions = sum(n * B * (S + T) for n, (B, S, T) in zip(steps, self.shapes, strict=True))
        self.padding_share = 1 - (self.real_source_tokens + self.real_target_tokens) / positions
        # Prefetching reaches one epoch ahead: two are enough.
        self._epoch = functools.lru_cache(maxsize=2)(self._lay_out)

    @abc.abstractmethod
    def _plan(self, source_lengths, target_lengths, tokens_per_batch):
        """The shapes `(B, S, T)`, and how many batches of an epoch have each, as ints."""

    @abc.abstractmethod
    def _lay_out(self, epoch):
        """The order of an epoch, in any form that `_locate` understands."""

    @abc.abstractmethod
    def _locate(self, layout, step):
        """The shape number of a batch, its pair numbers, and the row of each pair."""

    def batch(self, index: int):
        shape, numbers, rows = self._find(index)
        sides = self.pairs.read(numbers, index // self.steps_per_epoch)
        return make_batch(self.shapes[shape], sides, rows, **self._options)

    def pair_numbers(self, index: int) -> np.ndarray:
        """Numbers of the pairs in batch `index`, row by row."""
        return self._find(checked_index(index))[1]

    def _find(self, index):
        epoch, step = divmod(index, self.steps_per_epoch)
        return self._locate(self._epoch(epoch if self.shuffle else 0), step)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(pairs={len(self.pairs.source_lengths):,}, "
            f"shapes={self.shapes}, steps_per_epoch={self.steps_per_epoch:,}, "
            f"padding_share={self.padding_share:.3f})"
        )


def _check_lengths(source_lengths, target_lengths, tokens_per_batch):
    """Refuses a pair that alone, end ids included, is more than a batch."""
    longest = np.maximum(source_lengths, target_lengths)
    if longest.max() > tokens_per_batch:
        pair = int((longest > tokens_per_batch).argmax())
        raise ValueError(
            "`tokens_per_batch` must hold every pair. "
            f"Received: tokens_per_batch={tokens_per_batch}, but pair {pair} (counted from 0) has "
            f"{source_lengths[pair]} source and {target_lengths[pair]} target tokens, end ids "
            "included. Raise `tokens_per_batch`, or drop long pairs: with `filter_pairs`, or by "
            "`batches.max_length` of a recipe."
        )
