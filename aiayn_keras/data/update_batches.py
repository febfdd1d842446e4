"""Weights by which the gradients of an update are a mean over its real tokens."""

import functools

from aiayn_keras.data.batch_sequence import BatchSequence


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
