"""Texts as fields of a line of output."""

import re


def without_breaks(text):
    """A text with a space in place of each tab and line break: others would take it for two."""
    return re.sub(r"[\t\n\v\f\r]", " ", text)
