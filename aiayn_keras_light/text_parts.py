"""Parts of a text that are translated alone, and joined again with what was between them."""

from aiayn_keras_light.scripts import UNSPACED_LETTER
from aiayn_keras_light.translating import Hypothesis, as_translation


def begin_alike(source, text):
    """Gives a translated part of a sentence a small first letter if the source has one."""
    if source[:1].islower() and text[:1].isupper() and not text[1:2].isupper():
        first = "i" if text[0] == "İ" else text[0].lower()  # not i and a second dot
        return first + text[1:]
    return text


def joined(parts, translations):
    """Joins the translations of the parts of a text.

    Args:
        parts: List of what is kept and what is translated, in turn: kept, words, kept, ….
        translations: The `Translation` of each of the words.

    Returns:
        A `Translation` with one hypothesis, of the best of each part.
    """
    whole = parts[0]
    for words, kept, each in zip(parts[1::2], parts[2::2], translations, strict=True):
        text = begin_alike(words, each.text)
        if words[0].isupper() and not any(map(str.isalpha, whole)):
            text = text[:1].upper() + text[1:]
        # Beside Chinese words there was nothing; other words need a space.
        before = UNSPACED_LETTER.match(words[0]) and _need_space(whole, text)
        after = UNSPACED_LETTER.match(words[-1]) and _need_space(text, kept)
        whole += f"{' ' * bool(before)}{text}{' ' * bool(after)}{kept}"
    return as_translation(
        [
            Hypothesis(
                whole,
                sum(each.score for each in translations),
                sum(each.normalized_score for each in translations),
                tuple(token for each in translations for token in each.tokens),
            )
        ]
    )


def _need_space(left, right):
    """True if a string ends, and the next begins, with a letter or digit of a spaced script."""
    sides = left[-1:], right[:1]
    return all(each.isalnum() and not UNSPACED_LETTER.match(each) for each in sides)
