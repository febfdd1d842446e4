"""Lines of standard input, answered as they come."""

import sys

MAX_BYTES = 1 << 16
"""Greatest number of bytes that are read, and whose lines are answered, together."""
MAX_LINE_BYTES = 1_000_000
"""Greatest size of a line, as for files."""


def open_standard_input():
    """Gives the bytes of standard input as a buffered stream.

    Raises:
        OSError: If the process was started without one.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed. Give it lines to translate, or use --input.")
    return sys.stdin.buffer


def read_available_lines(stream, max_line_bytes=MAX_LINE_BYTES):
    """Reads lines as they come: those that are there, without waiting for more.

    Args:
        stream: A buffered binary stream.
        max_line_bytes: Greatest size of a line, without its end.

    Yields:
        Lists of lines without their ends, each list of at least one line.

    Raises:
        ValueError: For a line that is not UTF-8 or too long, with its number.
        OSError: If the stream cannot be read, such as a directory.
    """
    done, rest = 0, bytearray()
    while chunk := _read_available(stream):
        rest += chunk
        end = rest.rfind(b"\n", len(rest) - len(chunk))
        if end >= 0:
            lines = [line.removesuffix(b"\r") for line in rest[:end].split(b"\n")]
            del rest[: end + 1]
            yield _decode(lines, done, max_line_bytes)
            done += len(lines)
        _check_length(rest.removesuffix(b"\r"), done + 1, max_line_bytes)
    if rest:
        yield _decode([rest.removesuffix(b"\r")], done, max_line_bytes)


def read_whole_lines(stream, max_line_bytes=MAX_LINE_BYTES):
    """Reads lines with their ends; for arguments and errors see `read_available_lines`."""
    number = 0
    while line := _read_line(stream, max_line_bytes + 2):
        number += 1
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        _check_length(text, number, max_line_bytes)
        yield _decode([text], number - 1, max_line_bytes)[0] + line[len(text) :].decode("ascii")


def _read_line(stream, max_bytes):
    try:
        return stream.readline(max_bytes)
    except OSError as error:
        raise OSError(f"standard input cannot be read: {error.strerror}.") from error


def _read_available(stream):
    try:
        return stream.read1(MAX_BYTES)
    except OSError as error:
        raise OSError(f"standard input cannot be read: {error.strerror}.") from error


def _check_length(line, number, max_line_bytes):
    if len(line) > max_line_bytes:
        raise ValueError(
            f"standard input, line {number}: a line must have at most {max_line_bytes:,} bytes. "
            "Write one sentence a line, or split the text."
        )


def _decode(lines, lines_before, max_line_bytes):
    texts = []
    for number, line in enumerate(lines, start=lines_before + 1):
        _check_length(line, number, max_line_bytes)
        try:
            encoding = "utf-8-sig" if number == 1 else "utf-8"  # as of a file, without its mark
            texts.append(line.decode(encoding))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {error.start})."
            ) from None
    return texts
