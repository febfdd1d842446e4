"""Columns of text in Parquet files, read by row groups."""

import contextlib

from aiayn_keras.common.addresses import INSTALL, file_system
from aiayn_keras.common.text_files import CorpusError


def is_parquet(address):
    """Whether an address ends like that of a Parquet file."""
    return address.endswith(".parquet")


def row_groups(address, part_bytes):
    """Ranges of row groups that each have at least `part_bytes`, except the last one.

    Raises:
        CorpusError: If the file is not a whole Parquet file.
        ImportError: If pyarrow is not installed.
    """
    ranges, start, size = [], 0, 0
    with _opened(address) as parquet:
        groups = [parquet.metadata.row_group(n) for n in range(parquet.num_row_groups)]
    for number, group in enumerate(groups, start=1):
        size += group.total_byte_size
        if size >= part_bytes or number == len(groups):
            ranges.append((start, number))
            start, size = number, 0
    return ranges


def read_rows(address, start, stop, columns):
    """Yields the rows of a range of row groups as tuples, in the order of `columns`.

    Strings are given as bytes, which may not be valid UTF-8; other values as Python's.

    Raises:
        CorpusError: If the file lacks a column, has two of its name, or is damaged.
        ImportError: If pyarrow is not installed.
    """
    with _opened(address) as parquet:
        names = parquet.schema_arrow.names
        for column in columns:
            if names.count(column) != 1:
                number = "no" if column not in names else f"{names.count(column)} times the"
                raise CorpusError(
                    f"{address} has {number} column {column!r}. Its columns: {', '.join(names)}."
                )
        for batch in parquet.iter_batches(row_groups=range(start, stop), columns=columns):
            yield from zip(*(_values(batch.column(name)) for name in columns), strict=True)


def _values(column):
    """The values of a `pyarrow.Array`, with strings as bytes."""
    import pyarrow

    if isinstance(column, pyarrow.ExtensionArray):
        column = column.storage
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pyarrow.types.is_string_view(column.type):
        column = column.view(pyarrow.binary_view())
    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        column = column.cast(pyarrow.large_binary())
    return column.to_pylist()


@contextlib.contextmanager
def _opened(address):
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{address} cannot be read: {error}. Install it: {INSTALL}") from error
    system, path = file_system(address)
    try:
        with parquet.ParquetFile(path, filesystem=system) as file:
            yield file
    except (pyarrow.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
            raise  # from the file system; errors about damage have no number
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{address} is not a whole Parquet file: {reason}") from error
