"""Evenly spaced pairs of parts, from which a vocabulary is learned."""

from aiayn_keras.common.text_files import CorpusError
from aiayn_keras.scale.part_lines import BadLine, read_pairs


class EvenSample:
    """Evenly spaced items of a stream whose length is not known.

    Every `step`-th item is kept; when there are twice as many as wanted, every second one is
    dropped and the step doubles.

    Args:
        wanted: Number of items that are kept at least, if there are as many.

    Attributes:
        items: The kept items, in order.

    Example:
    >>> sample = EvenSample(2)
    >>> for item in range(10):
    ...     sample.add(item)
    >>> sample.items
    [0, 4, 8]
    """

    def __init__(self, wanted):
        self._wanted, self._step, self._seen = wanted, 1, 0
        self.items = []

    def add(self, item):
        """Takes the next item of the stream."""
        if self._seen % self._step == 0:
            self.items.append(item)
            if len(self.items) >= 2 * self._wanted:
                self.items, self._step = self.items[::2], 2 * self._step
        self._seen += 1


class SampleWork:
    """Draws evenly spaced pairs of parts.

    Args:
        output: Not used.
        wanted: Number of pairs of a part.
    """

    def __init__(self, output, wanted):
        del output
        self._wanted = wanted

    def __call__(self, part):
        """The number of a `Part`, and a list of its pairs, or a `CorpusError` if it is damaged."""
        sample = EvenSample(self._wanted)
        try:
            for pair in read_pairs(part):
                if not isinstance(pair, BadLine):
                    sample.add(pair)
        except CorpusError as error:
            return part.number, error
        return part.number, sample.items
