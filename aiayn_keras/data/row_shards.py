"""Batches whose rows divide evenly over devices and processes."""

import numpy as np

from aiayn_keras.data.batch_sequence import BatchSequence


class RowShards(BatchSequence):
    """One process's rows of every batch, the rows of all processes a multiple of the devices.

    A batch gets empty rows at its end (ids, masks and weights 0) until its rows divide; then each
    process has an equal run of neighbouring rows. The real rows are those of `batches` in their
    order, so a training sees the same batches on any number of devices.

    Weights are taken as they are: what divides by a batch's real tokens, such as `UpdateBatches`,
    goes inside, where it sees the rows of all processes.

    Args:
        batches: A `BatchSequence`.
        num_devices: Devices of all processes among which rows are divided.
        num_processes: Processes; it divides `num_devices`.
        process: Number of this process, counted from 0.

    Attributes:
        steps_per_epoch: Batches per epoch, in every process.

    Raises:
        ValueError: If `num_processes` does not divide `num_devices`, or `process` is out of range.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5], [6], [7]], [[8]] * 3), tokens_per_batch=12)
    >>> x, y, sample_weight = RowShards(batches, num_devices=4, num_processes=2, process=1)[0]
    >>> x["encoder_padding_mask"].tolist(), sample_weight.tolist()
    ([[1, 1], [0, 0]], [[1.0, 1.0], [0.0, 0.0]])
    """

    def __init__(self, batches: BatchSequence, num_devices, num_processes=1, process=0):
        if num_devices % num_processes or not 0 <= process < num_processes:
            raise ValueError(
                "`num_devices` must be a multiple of `num_processes`, and `process` below it. "
                f"Received: num_devices={num_devices}, num_processes={num_processes}, "
                f"process={process}."
            )
        self.batches = batches
        self.num_devices, self.num_processes, self.process = num_devices, num_processes, process
        self.steps_per_epoch = batches.steps_per_epoch

    def batch(self, index: int):
        x, y, sample_weight = self.batches[index]
        x = {name: self._own_rows(array) for name, array in x.items()}
        return x, self._own_rows(y), self._own_rows(sample_weight)

    def _own_rows(self, array):
        rows = -(-len(array) // self.num_devices) * self.num_devices
        own = rows // self.num_processes
        kept = array[self.process * own : (self.process + 1) * own]
        return np.pad(kept, ((0, own - len(kept)), (0, 0)))
