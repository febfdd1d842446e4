"""Lines of standard input, answered as they come."""

MAX_BYTES = 1 << 16
"""Greatest number of bytes that are read, and whose lines are answered, together."""


def read_available_lines(stream):
    """Reads lines as they come: those that are there, without waiting for more.

    Args:
        stream: A buffered binary stream.

    Yields:
        Lists of lines without their ends, each list of at least one line.

    Raises:
        ValueError: For a line that is not UTF-8, with its number.
    """
    done, rest = 0, b""
    while chunk := stream.read1(MAX_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield _decode(lines, done)
            done += len(lines)
    if rest:
        yield _decode([rest], done)


def _decode(lines, lines_before):
    texts = []
    for number, line in enumerate(lines, start=lines_before + 1):
        try:
            texts.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {error.start})."
            ) from None
    return texts
