"""Languages and scripts of sentences, compared with those of most others on their side."""

import collections
import functools
import math

from fontTools import unicodedata as scripts_of_characters

_MAX_SAMPLE = 2_000
"""Number of sentences from which the language and the scripts of a side are found."""
_MIN_SHARE = 0.25
"""Minimum share of sentences, which may be very short, that show the language of their side."""
_MIN_PROBABILITY = 1e-6
"""Probability that a language has at least, so that one foreign sentence does not decide."""
_MIN_LOG_RATIO = 5.0
"""Natural logarithm of how much more probable another language must be. Of 40,000 sentences of
Tatoeba, none is wrong; of 8,000 in another language of four, 86 to 100 % are found."""
_MIN_SCRIPT_SHARE = 0.1
_ALIKE = ({"no", "nb", "nn", "da"}, {"hr", "bs", "sr"}, {"id", "ms"}, {"zu", "xh"}, {"he", "hbo"})
"""Languages that sentences do not tell apart; `hbo` is Hebrew with points to py3langid."""
_USED_TOGETHER = ({"Hani", "Hira", "Kana", "Bopo"}, {"Hang", "Hani"})
_SHARED = ("Zyyy", "Zinh", "Zzzz")
"""Common, inherited and unknown: no script of its own."""


@functools.cache
def _identifier():
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _known_languages():
    """Codes of the languages that can be told apart."""
    return sorted(str(label) for label in _identifier().labels)


def _language_probabilities(text):
    """Computes the probability of each language, a dictionary from its code."""
    return dict(_identifier().rank(text.lower() if text.isupper() else text))


@functools.cache
def _script_of(character):
    return scripts_of_characters.script(character) if character.isalpha() else "Zyyy"


def _count_scripts(text):
    """Counts the letters of each script, such as `"Latn"`, in a text."""
    counts = collections.Counter(map(_script_of, text))
    for script in _SHARED:
        del counts[script]
    return counts


class SideProfile:
    """The language and the scripts of most sentences of a side.

    Args:
        texts: Sentences of the side, as many as possible; evenly spaced ones are read.
        language: Code of the language, or `None` to find it.

    Raises:
        ValueError: If the language is not one of `known_languages()`.

    Attributes:
        language: Code of the language; `None` if most sentences do not show one.
        scripts: Scripts in use, the most frequent one first.
    """

    def __init__(self, texts, language=None):
        step = -(-len(texts) // _MAX_SAMPLE) or 1
        sample = [text for text in texts[::step] if any(map(str.isalpha, text))]
        self.language = _most_probable_language(sample) if language is None else language
        if language is not None and language not in _known_languages():
            raise ValueError(
                f"A language must be one of {', '.join(_known_languages())}. "
                f"Received: {language!r}."
            )
        letters = sum(map(_count_scripts, sample), collections.Counter())
        self.scripts = tuple(
            script
            for script, count in letters.most_common()
            if count >= _MIN_SCRIPT_SHARE * letters.total()
        )
        used = set(self.scripts)
        self._allowed = used.union(*(group for group in _USED_TOGETHER if group & used))
        self._alike = {self.language}.union(*(group for group in _ALIKE if self.language in group))

    def wrong_script(self, text):
        """Says what is wrong with the script of a text, or returns None."""
        if text.isascii() and "Latn" in self._allowed:
            return None
        counts = _count_scripts(text)
        foreign = {script: n for script, n in counts.items() if script not in self._allowed}
        if not foreign:
            return None
        if 2 * sum(foreign.values()) > counts.total():
            return f"{'+'.join(foreign)} letters, not {'+'.join(self.scripts)}"
        for word in text.split():
            in_word = _count_scripts(word)
            if len(in_word) > 1 and any(script in self._allowed for script in in_word):
                mixed = [script for script in in_word if script in foreign]
                if mixed:
                    return f"letters of {' and '.join(in_word)} in {word[:30]!r}"
        return None

    def margin_of_other(self, text):
        """Finds a language that fits a text better.

        Returns:
            Tuple of its code and the logarithm of how much more probable it is; 0.0 if none is.
        """
        if self.language is None or not any(map(str.isalpha, text)):
            return self.language, 0.0
        probabilities = _language_probabilities(text)
        top = max(probabilities, key=probabilities.get)
        own = max(probabilities[language] for language in self._alike if language in probabilities)
        return top, math.log(max(probabilities[top], 1e-300) / max(own, 1e-300))


def _most_probable_language(sample):
    """The language in which all of a sample is most probable, if enough sentences show it alone."""
    votes, log_probabilities = collections.Counter(), collections.Counter()
    for text in sample:
        probabilities = _language_probabilities(text)
        votes[max(probabilities, key=probabilities.get)] += 1
        for language, probability in probabilities.items():
            log_probabilities[language] += math.log(max(probability, _MIN_PROBABILITY))
    if not votes:
        return None
    language = max(log_probabilities, key=log_probabilities.get)
    return str(language) if votes[language] >= _MIN_SHARE * len(sample) else None


def wrong_language(sides, pair):
    """Says which side of a pair is in a wrong language, or that they are swapped.

    Args:
        sides: Tuple of the `SideProfile`s of sources and targets.
        pair: Tuple of source and target.

    Returns:
        A string, or `None` if nothing is wrong.
    """
    others = [side.margin_of_other(text) for side, text in zip(sides, pair, strict=True)]
    (in_source, source_margin), (in_target, target_margin) = others
    swapped = (in_source, in_target) == (sides[1].language, sides[0].language)
    if swapped and source_margin + target_margin > _MIN_LOG_RATIO:
        return "the sides are swapped"
    for name, side, (language, margin) in zip(("source", "target"), sides, others, strict=True):
        if margin > _MIN_LOG_RATIO:
            return f"the {name} is in {language}, not {side.language}"
    return None
