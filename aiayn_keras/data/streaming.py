"""Parallel text read line by line, for corpora that are larger than memory."""

import itertools
import unicodedata
from collections.abc import Iterator

from aiayn_keras.data.text_lines import CorpusError, stream_columns, stream_lines


def stream_parallel(source_path, target_path=None, *, normalization="NFC") -> Iterator:
    """Gives the pairs that `read_parallel` reads, one by one.

    Args:
        source_path: File with one source sentence per line, plain or `.gz`; without `target_path`
            a file of tab-separated columns.
        target_path: File with the translations, line by line, or `None`.
        normalization: Unicode normal form of both sides.

    Yields:
        Tuples of source and target sentence.

    Raises:
        FileNotFoundError: If a file is missing.
        CorpusError: As `read_parallel`, when the line is reached.
    """
    if target_path is None:
        pairs = stream_columns(source_path)
    else:
        pairs = itertools.zip_longest(stream_lines(source_path), stream_lines(target_path))
    for number, (source, target) in enumerate(pairs, start=1):
        if source is None or target is None:
            longer, shorter = (source_path, target_path)[:: -1 if source is None else 1]
            raise CorpusError(
                "Parallel files must have the same number of lines. "
                f"Received: {number - 1} lines in {shorter}, more in {longer}."
            )
        yield tuple(unicodedata.normalize(normalization, side) for side in (source, target))
