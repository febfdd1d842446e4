"""The one line by which the command says what went wrong."""

FORESEEN = (ValueError, OSError, ImportError, RuntimeError)
UNFORESEEN = (RecursionError, NotImplementedError)
"""Kinds of RuntimeError that no message of this package is about."""
MAX_CHARACTERS = 1_000


def error_line(error):
    """Describes an exception in one printable line.

    The message of a kind of exception that is not foreseen seldom says enough, so its type comes
    first, and a hint at `--debug`.

    Args:
        error: An `Exception`.
    """
    text = one_line(str(error))
    if isinstance(error, FORESEEN) and not isinstance(error, UNFORESEEN) and text:
        return text
    kind = type(error).__name__
    reason = f"{kind}: {text.rstrip('.')}" if text else kind
    return f"unexpected {reason}. Run with --debug, as in `aiayn-keras --debug info`, to see where."


def one_line(message):
    """Brings a message into one line of bounded length.

    Control characters, such as those that colour a terminal, are written out.
    """
    line = " ".join(message[: 2 * MAX_CHARACTERS].split())
    printable = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in line
    )
    is_short = len(message) <= 2 * MAX_CHARACTERS and len(printable) <= MAX_CHARACTERS
    return printable if is_short else f"{printable[:MAX_CHARACTERS]} …"
