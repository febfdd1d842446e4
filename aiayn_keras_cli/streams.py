"""Standard input and output, and texts too long for memory, read a piece at a time."""

import sys

import click

_MAX_READ_BYTES = 1 << 16
"""Maximum number of bytes that are read, and whose lines are answered, together."""
_MAX_LINE_BYTES = 1_000_000
"""Maximum size of a line, as for files."""

DOCUMENT = click.option(
    "--document",
    is_flag=True,
    help="Treat the input as one text: find its sentences, and keep its layout.",
)


def check_standard_output():
    """Raises an `OSError` if the process was started without standard output."""
    if sys.stdout is None:
        raise OSError("standard output is closed, so the results would be lost.")


def open_standard_input():
    """Gives the bytes of standard input as a buffered stream.

    Raises:
        OSError: If the process was started without standard input.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed. Give it lines to translate, or use --input.")
    return sys.stdin.buffer


def read_available_lines(stream, max_line_bytes=_MAX_LINE_BYTES):
    """Reads lines as they arrive, without waiting for more than one.

    Args:
        stream: A buffered binary stream.
        max_line_bytes: Maximum size of a line without its end.

    Yields:
        Lists of lines without their ends, each list of at least one line.

    Raises:
        ValueError: For a line that is not UTF-8 or too long, with its number.
        OSError: If the stream cannot be read, for instance because it is a directory.
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


def read_whole_lines(stream, max_line_bytes=_MAX_LINE_BYTES):
    """Reads lines with their ends; for arguments and errors see `read_available_lines`."""
    number = 0
    while line := _read_line(stream, max_line_bytes + 2):
        number += 1
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        _check_length(text, number, max_line_bytes)
        yield _decode([text], number - 1, max_line_bytes)[0] + line[len(text) :].decode("ascii")


def read_document(input_file, max_characters=200_000):
    """Reads a text in pieces of whole lines.

    A line break ends a sentence, so each piece can be translated alone.

    Args:
        input_file: `pathlib.Path`, or None for standard input.
        max_characters: Number of characters at which a piece ends, after the line that reaches it.

    Yields:
        Strings that, joined, are the text.
    """
    from aiayn_keras_light.text_files import chunk_rows, stream_lines

    if input_file is None:
        lines = read_whole_lines(open_standard_input())
    else:
        lines = stream_lines(input_file, keep_ends=True)
    for chunk in chunk_rows(((line,) for line in lines), max_characters=max_characters):
        yield "".join(line for (line,) in chunk)


def _read_line(stream, max_bytes):
    try:
        return stream.readline(max_bytes)
    except OSError as error:
        raise OSError(f"standard input cannot be read: {error.strerror}.") from error


def _read_available(stream):
    try:
        return stream.read1(_MAX_READ_BYTES)
    except OSError as error:
        raise OSError(f"standard input cannot be read: {error.strerror}.") from error


def _check_length(line, number, max_line_bytes):
    if len(line) > max_line_bytes:
        raise ValueError(
            f"standard input, line {number}: a line must have at most {max_line_bytes:,} bytes. "
            "Write one sentence per line, or split the text."
        )


def _decode(lines, lines_before, max_line_bytes):
    from aiayn_keras_light.text_files import check_is_text

    texts = []
    for number, line in enumerate(lines, start=lines_before + 1):
        _check_length(line, number, max_line_bytes)
        check_is_text(line, number == 1, "standard input", f"standard input, line {number}")
        try:
            # Without a byte order mark, as files are read.
            texts.append(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {error.start})."
            ) from None
    return texts
