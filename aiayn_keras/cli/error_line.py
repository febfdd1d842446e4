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
    text = _printable(" ".join(str(error).split()))
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]} …"
    if isinstance(error, FORESEEN) and not isinstance(error, UNFORESEEN) and text:
        return text
    kind = type(error).__name__
    reason = f"{kind}: {text.rstrip('.')}" if text else kind
    return f"unexpected {reason}. Run with --debug, as in `aiayn-keras --debug info`, to see where."


def _printable(text):
    """The text with control characters, such as those that colour a terminal, written out."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )
