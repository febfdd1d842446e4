"""A file that is larger than memory, a window of its lines at a time."""

MAX_ROWS = 10_000
MAX_CHARACTERS = 10_000_000


def windows(rows, max_rows=MAX_ROWS, max_characters=MAX_CHARACTERS):
    """Cuts an iterable of rows into lists.

    Args:
        rows: Iterable of tuples of strings.
        max_rows: Greatest number of rows of a list.
        max_characters: Number of characters at which a list ends.

    Yields:
        Lists of at least one row, in order.

    Example:
    >>> list(windows([("a",), ("b",), ("c",)], max_rows=2))
    [[('a',), ('b',)], [('c',)]]
    """
    window, characters = [], 0
    for row in rows:
        window.append(row)
        characters += sum(map(len, row))
        if len(window) == max_rows or characters >= max_characters:
            yield window
            window, characters = [], 0
    if window:
        yield window
