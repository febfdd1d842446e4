"""Scripts of the world, as far as texts in them need to be treated differently."""

import re

UNSPACED_LETTERS = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""The same as `UNSPACED_LETTER`, as ranges in a class of a regular expression."""
UNSPACED_LETTER = re.compile(f"[{UNSPACED_LETTERS}]")
"""A letter of a script without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese
or Chinese."""
