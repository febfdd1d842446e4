"""Errors between a client and a server."""


class ServingError(RuntimeError):
    """A request got no answer."""


class ServerUnavailableError(ServingError):
    """No server listens, it is loading or overloaded, or the connection broke."""


class DeadlineExceededError(ServingError):
    """The answer did not come in time."""


class RequestRefusedError(ServingError):
    """The server refuses the request, now and later: unknown model, text too long, and so on."""


class BadAnswerError(ServingError):
    """The answer is too large, malformed, or has other rows, types or values than it must have."""


def one_line(text, longest=300):
    """Makes words of a server fit for a message: one line, no control characters, cut to a length.

    Args:
        text: String, or bytes of one.
        longest: Greatest number of characters.
    """
    if isinstance(text, bytes):
        text = text[: 4 * longest].decode("utf-8", errors="replace")
    words = "".join(c if c.isprintable() else " " for c in text[: 2 * longest]).split()
    line = " ".join(words)
    return line if len(line) <= longest else line[: longest - 1] + "…"
