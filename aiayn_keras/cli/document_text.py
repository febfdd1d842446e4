"""The input as one text, of which only a window of whole lines is in memory."""

import click

from aiayn_keras.cli.standard_input import open_standard_input, read_whole_lines
from aiayn_keras.quiet_start import quiet_start
from aiayn_keras.windows import MAX_ROWS, windows

DOCUMENT = click.option(
    "--document",
    is_flag=True,
    help="Take the input as one text: find its sentences, and keep its layout.",
)
MAX_CHARACTERS = 200_000


def document_windows(input_file, max_characters=MAX_CHARACTERS):
    """Reads a text in windows; line breaks separate sentences, so windows can be translated alone.

    Args:
        input_file: `pathlib.Path`, or None for standard input.
        max_characters: Number of characters at which a window ends.

    Yields:
        Strings; joined, they are the text.
    """
    if input_file is None:
        lines = read_whole_lines(open_standard_input())
    else:
        with quiet_start():
            from aiayn_keras.data import stream_lines

        lines = stream_lines(input_file, keep_ends=True)
    for window in windows(((line,) for line in lines), MAX_ROWS, max_characters):
        yield "".join(line for (line,) in window)
