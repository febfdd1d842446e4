"""The part of every batch that one of several hosts trains on."""

import numpy as np

from aiayn_keras.data.batch_sequence import BatchSequence


class HostBatches(BatchSequence):
    """Rows of the same batches for each host, so that all together are one training.

    Every host goes through the same batches in the same order, without a word between them, and
    takes its rows of each. Where the hosts do not divide the rows, empty ones are added. Put
    `UpdateBatches` inside: it must see whole batches to count their real tokens.

    Args:
        batches: A `BatchSequence`, alike on all hosts.
        host: Number of this host, from 0.
        hosts: Number of hosts.

    Attributes:
        steps_per_epoch: As that of `batches`.

    Raises:
        ValueError: If there is no such host.

    Example:
    >>> from aiayn_keras.data import TokenBatches, TokenPairs
    >>> batches = TokenBatches(TokenPairs([[5], [6], [7]], [[8]] * 3), tokens_per_batch=6)
    >>> [HostBatches(batches, host, 2)[0][1].shape for host in (0, 1)]
    [(2, 2), (2, 2)]
    """

    def __init__(self, batches: BatchSequence, host: int, hosts: int):
        if not 0 <= host < hosts:
            raise ValueError(
                f"`host` must be from 0 to `hosts` - 1. Received: host={host}, hosts={hosts}."
            )
        self.batches, self.host, self.hosts = batches, host, hosts
        self.steps_per_epoch = batches.steps_per_epoch

    def batch(self, index: int):
        x, labels, weights = self.batches.batch(index)
        x = {name: self._rows(array) for name, array in x.items()}
        return x, self._rows(labels), self._rows(weights)

    def _rows(self, array):
        rows = -(-len(array) // self.hosts)
        mine = array[self.host * rows : (self.host + 1) * rows]
        return np.pad(mine, ((0, rows - len(mine)), (0, 0)))
