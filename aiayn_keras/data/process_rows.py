"""One process's rows of a batch, for trainings on several devices."""

import dataclasses

import numpy as np


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
