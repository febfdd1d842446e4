"""Documents in parts that a server answers in time, for `TranslationClient.translate_documents`.

A line break ends a sentence, so the translation of a document is that of its lines, joined.
"""

import re

MAX_PART_CHARACTERS = 5_000
"""Maximum size of the parts in a request, unless one line is longer.

A server may join the requests of 64 clients to one batch, in which all wait for all: at this size
it takes about half a minute on two cores.
"""

MAX_LINE_CHARACTERS = 50_000
"""Maximum size of a line: about four seconds on two cores, and 200,000 bytes at most."""

# As in `aiayn_keras.documents.splitting`.
_BREAKS = "\n\x0b\x0c\r\x85\u2028\u2029"
_LINE = re.compile(f"[^{_BREAKS}]*(?:\r\n|[{_BREAKS}])|[^{_BREAKS}]+")


def document_parts(name, text):
    """Cuts a text after line breaks.

    Args:
        name: Name of the text, for the error.
        text: A string.

    Returns:
        List of strings, one at least, which joined are the text.

    Raises:
        ValueError: For a line of more than `MAX_LINE_CHARACTERS`.
    """
    parts, size = [[]], 0
    for number, line in enumerate(_LINE.findall(text), start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            raise ValueError(
                f"{name}, line {number} has {len(line):,} characters. A server would not answer in "
                f"time: a line must have at most {MAX_LINE_CHARACTERS:,}. Break it between two "
                "sentences."
            )
        if parts[-1] and size + len(line) > MAX_PART_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line)
    return ["".join(part) for part in parts]


def request_sizes(parts, max_parts):
    """Divides parts among requests.

    Args:
        parts: List of strings.
        max_parts: Maximum number of parts in a request.

    Yields:
        The number of parts in each request: of `MAX_PART_CHARACTERS` together, or one.
    """
    count = size = 0
    for part in parts:
        if count and (count == max_parts or size + len(part) > MAX_PART_CHARACTERS):
            yield count
            count = size = 0
        count += 1
        size += len(part)
    if count:
        yield count
