"""A sequence of batches that goes on for ever, as a Grain data set."""

import abc
import operator
import sys
from collections.abc import Iterator


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
