"""Batches divided among processes or accumulated over steps, as one optimizer update.

`UpdateBatches` weights every token for a mean over the whole update; `ProcessRows` then takes the
rows of one process.
"""

import dataclasses
import functools

import numpy as np

from aiayn_keras.data.pair_batches import BatchSequence


@dataclasses.dataclass(frozen=True)
class ProcessRows:
    """Selects the rows of a batch for one process; for Grain's `map`.

    Empty rows (ids, masks and weights 0) are appended until the number of rows is a multiple of the
    number of devices. Each process then gets the same number of consecutive rows. The real rows
    stay in order, so training sees the same batches with any number of devices.

    Weights are not changed. Apply `UpdateBatches` first, since it divides by the number of real
    tokens and must see the rows of all processes.

    Args:
        num_devices: Total number of devices in all processes.
        num_processes: Number of processes, a divisor of `num_devices`.
        process: Number of this process, counted from 0.

    Raises:
        ValueError: If `num_devices` is not a multiple of `num_processes`, or `process` is out of
            range.

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
        """Checks the numbers."""
        if self.num_devices % self.num_processes or not 0 <= self.process < self.num_processes:
            raise ValueError(
                "`num_devices` must be a multiple of `num_processes`, and `process` less than "
                "`num_processes`. "
                f"Received: num_devices={self.num_devices}, num_processes={self.num_processes}, "
                f"process={self.process}."
            )

    def __call__(self, batch):
        """Returns the rows of a batch `(x, y, sample_weight)` for this process."""
        x, y, sample_weight = batch
        x = {name: self._own_rows(array) for name, array in x.items()}
        return x, self._own_rows(y), self._own_rows(sample_weight)

    def _own_rows(self, array):
        own = -(-len(array) // self.num_devices) * self.num_devices // self.num_processes
        kept = array[self.process * own : (self.process + 1) * own]
        missing = own - len(kept)
        return np.pad(kept, ((0, missing), (0, 0))) if missing else kept


class UpdateBatches(BatchSequence):
    """Batches with weights that make a summed loss the mean over an update's real tokens.

    The gradient of an update should be the mean over all of its real tokens, however they are
    distributed: among batches whose gradients are accumulated (Keras gives each batch the same
    weight, regardless of its number of real tokens) and among devices (each sees only its own
    rows). So a batch must not be divided by its own number of tokens. Instead, the weight of every
    real token is `batches_per_update` divided by the number of real tokens in the update. This is
    for a loss with reduction `"sum"` and an optimizer that averages `batches_per_update` gradients.

    Args:
        batches: A `BatchSequence` of `(x, y, sample_weight)` with weights 1 and 0.
        batches_per_update: The optimizer's `gradient_accumulation_steps`, or 1.

    Attributes:
        steps_per_epoch: Number of batches (not updates) per epoch.

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
        """Returns the batches of an update with their new weights."""
        start = update * self.batches_per_update
        group = [self.batches[start + place] for place in range(self.batches_per_update)]
        real_tokens = sum(float(weight.sum()) for _, _, weight in group)
        scale = self.batches_per_update / real_tokens
        return [(x, y, weight * weight.dtype.type(scale)) for x, y, weight in group]
