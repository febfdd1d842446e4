"""Paragraphs of a generated page."""

import re
import textwrap

WIDTH = 110
JOINT = "\N{NO-BREAK SPACE}"


def paragraph(text):
    """Rewraps text into lines of `WIDTH` characters; longer words and code stay whole."""
    words = " ".join(text.split())
    words = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", JOINT), words)
    lines = textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)
    return lines.replace(JOINT, " ")
