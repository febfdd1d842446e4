"""Batches for one update of several processes or steps."""

import dataclasses
import functools

import numpy as np

from aiayn_keras.data.pair_batches import BatchSequence


@dataclasses.dataclass(frozen=True)
class ProcessRows:
    """Takes one process's rows of a batch, the rows of all processes a multiple of the devices.

    For Grain's `map`. A batch gets empty rows at its end (ids, masks and weights 0) until its rows
    divide; then each process has an equal run of neighbouring rows. The real rows stay in their
    order, so a training sees the same batches on any number of devices.

    Weights are taken as they are. `UpdateBatches`, which divides by a batch's real tokens, comes
    first, since it must see the rows of all processes.

    Args:
        num_devices: Devices of all processes among which rows are divided.
        num_processes: Processes; it divides `num_devices`.
        process: Number of this process, counted from 0.

    Raises:
        ValueError: If `num_processes` does not divide `num_devices`, or `process` is out of range.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5], [6], [7]], [[8]] * 3), tokens_per_batch=12)
    >>> rows = ProcessRows(num_devices=4, num_processes=2, process=1)
    >>> x, y, sample_weight = next(iter(batches.to_iter_dataset().map(rows)))
    >>> x["encoder_padding_mask"].tolist(), sample_weight.tolist()
    ([[1, 1], [0, 0]], [[1.0, 1.0], [0.0, 0.0]])
    """

    num_devices: int
    num_processes: int = 1
    process: int = 0

    def __post_init__(self):
        """Compare the numbers."""
        if self.num_devices % self.num_processes or not 0 <= self.process < self.num_processes:
            raise ValueError(
                "`num_devices` must be a multiple of `num_processes`, and `process` below it. "
                f"Received: num_devices={self.num_devices}, num_processes={self.num_processes}, "
                f"process={self.process}."
            )

    def __call__(self, batch):
        """The process's rows of a batch `(x, y, sample_weight)`."""
        x, y, sample_weight = batch
        x = {name: self._own_rows(array) for name, array in x.items()}
        return x, self._own_rows(y), self._own_rows(sample_weight)

    def _own_rows(self, array):
        own = -(-len(array) // self.num_devices) * self.num_devices // self.num_processes
        kept = array[self.process * own : (self.process + 1) * own]
        missing = own - len(kept)
        return np.pad(kept, ((0, missing), (0, 0))) if missing else kept


class UpdateBatches(BatchSequence):
    """The same batches, weighted for a loss that sums.

    An update's gradient shall be the mean over all real tokens of its batches, however they are
    spread: over batches whose gradients an optimizer accumulates (Keras gives each batch the same
    weight, real tokens or not) and over devices (each sees only its rows). So no batch may divide
    by its own tokens. Here every real token has the weight `batches_per_update` over the update's
    real tokens, for a loss whose reduction is `"sum"` and an optimizer that averages over
    `batches_per_update` gradients.

    Args:
        batches: A `BatchSequence` of `(x, y, sample_weight)`, weights 1 and 0.
        batches_per_update: The optimizer's `gradient_accumulation_steps`, or 1.

    Attributes:
        steps_per_epoch: Batches, not updates, per epoch.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5]], [[8, 8, 8]]), tokens_per_batch=12)
    >>> UpdateBatches(batches)[0][2].tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    def __init__(self, batches: BatchSequence, batches_per_update: int = 1):
        if batches_per_update < 1:
            raise ValueError(
                "`batches_per_update` must be at least 1. "
                f"Received: batches_per_update={batches_per_update}."
            )
        self.batches = batches
        self.batches_per_update = batches_per_update
        self.steps_per_epoch = batches.steps_per_epoch
        self._last_update = functools.lru_cache(maxsize=1)(self._weighted)

    def batch(self, index: int):
        update, place = divmod(index, self.batches_per_update)
        return self._last_update(update)[place]

    def _weighted(self, update):
        """The batches of an update with their new weights."""
        start = update * self.batches_per_update
        group = [self.batches[start + place] for place in range(self.batches_per_update)]
        real_tokens = sum(float(weight.sum()) for _, _, weight in group)
        scale = self.batches_per_update / real_tokens
        return [(x, y, weight * weight.dtype.type(scale)) for x, y, weight in group]
