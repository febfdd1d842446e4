"""Files cut into parts, each of which one process works on, and whose results are written at once.

As in Hadoop and Spark, a plain text file is cut at bytes, and a line belongs to the part in which
it begins; a compressed file is one part, since it can be read from its beginning only; a Parquet
file is cut between its row groups.
"""

from dataclasses import dataclass

from aiayn_keras.scale.addresses import file_system, find_files

PART_BYTES = 1_000_000
"""Size of a part of plain text: some 10,000 sentences."""
PARQUET = ".parquet"


@dataclass(frozen=True)
class Part:
    """A piece of a file.

    Attributes:
        number: Its place among all parts.
        address: The file.
        start: Where it begins: a byte, or a row group of Parquet.
        stop: Where the next one begins; `None` for the rest of the file.
    """

    number: int
    address: str
    start: int
    stop: int | None


def plan_parts(pattern, part_bytes=PART_BYTES):
    """Cuts all files of a pattern into parts.

    Args:
        pattern: As in `find_files`.
        part_bytes: Size of a part of plain text, and the least of a part of Parquet.

    Returns:
        The list of `FoundFile`s, and the list of `Part`s in their order.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: For a file that says it is Parquet and is not.
    """
    files, parts = find_files(pattern), []
    for file in files:
        for start, stop in _ranges(file, part_bytes):
            parts.append(Part(len(parts), file.address, start, stop))
    return files, parts


def _ranges(file, part_bytes):
    if file.address.endswith(".gz"):
        return [(0, None)]
    if file.address.endswith(PARQUET):
        return _row_groups(file.address, part_bytes)
    starts = range(0, max(file.bytes, 1), part_bytes)
    return [(start, min(start + part_bytes, file.bytes)) for start in starts]


def _row_groups(address, part_bytes):
    """Ranges of row groups that together have at least so many bytes, but for the last one."""
    ranges, start, size = [], 0, 0
    with open_parquet(address) as parquet:
        groups = [parquet.metadata.row_group(n) for n in range(parquet.num_row_groups)]
    for number, group in enumerate(groups, start=1):
        size += group.total_byte_size
        if size >= part_bytes or number == len(groups):
            ranges.append((start, number))
            start, size = number, 0
    return ranges


def open_parquet(address):
    """Opens a `pyarrow.parquet.ParquetFile`, to be closed.

    Raises:
        ValueError: If it is none.
    """
    import pyarrow
    from pyarrow import parquet

    system, path = file_system(address)
    try:
        return parquet.ParquetFile(path, filesystem=system)
    except pyarrow.ArrowInvalid as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{address} is no Parquet file: {reason}") from error
