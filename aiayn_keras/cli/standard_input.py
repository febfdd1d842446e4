"""Lines of standard input, answered as they come."""

CHUNK = 1 << 16  # most bytes that are translated together


def windows(stream):
    """Lines of a stream as they come: what is there is translated, nothing is waited for."""
    done, rest = 0, b""
    while chunk := stream.read1(CHUNK):
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
