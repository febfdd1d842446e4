"""The arrays of a file, each of which has to be used."""

import re


class TakenArrays:
    """Arrays by their names, with a note of those that were taken.

    Args:
        path: Path of the file, for errors.
        arrays: Dictionary from names to arrays.
    """

    def __init__(self, path, arrays):
        self.path = path
        self._arrays = dict(arrays)
        self._taken = set()

    def __contains__(self, name):
        return name in self._arrays

    def take(self, name, axes):
        """The array of a name, which must have so many axes; a scalar is a Python number."""
        if name not in self._arrays:
            raise ValueError(f"{self.path}: `{name}` is missing.")
        array = self._arrays[name]
        if array.ndim != axes:
            raise ValueError(
                f"{self.path}: `{name}` has the shape {array.shape}, expected {axes} axes."
            )
        self._taken.add(name)
        return array if axes else array.item()

    def find(self, names, axes, default=None):
        """The array of the first of some names that is there, or the default."""
        for name in names:
            if name in self._arrays:
                return self.take(name, axes)
        return default

    def count_layers(self, prefix):
        """Number of layers, counted from 0 on by the number that follows a prefix of names."""
        found = (re.match(rf"{re.escape(prefix)}(\d+)[/.]", name) for name in self._arrays)
        numbers = {match[1] for match in found if match}
        count = 0
        while str(count) in numbers:
            count += 1
        return count

    def left(self):
        """The arrays that nobody has taken, by their names, in order."""
        return {name: self._arrays[name] for name in sorted(self._arrays.keys() - self._taken)}
