"""A double of `translate`: words in capitals, perhaps in another order, with exact alignments."""

import re

import numpy as np

from aiayn_keras.documents.formats.document_files import Document
from aiayn_keras_light.translating import Translation


class CapitalsDouble:
    """In the place of a model's `translate`, as `translate_units` takes it.

    Args:
        order: Function of a list of words that gives them in the order of the translation.
        change: Function of a word that gives its translation.
    """

    def __init__(self, order=list, change=str.upper):
        self.order, self.change = order, change
        self.sentences = []

    def __call__(self, sentences, align):
        self.sentences += sentences
        return [self._translate(sentence, align) for sentence in sentences]

    def _translate(self, sentence, align):
        words = sentence.split()
        places = self.order(range(len(words)))
        found = [self.change(words[place]) for place in places]
        alignment = None
        if align:
            alignment = np.zeros((len(words) + 1, len(words) + 1), "float32")
            for row, place in enumerate([*places, len(words)]):
                alignment[row, place] = 1
        return Translation(
            " ".join(found),
            -1.0,
            -1.0,
            tuple(f"▁{word}" for word in found),
            alignment,
            source_tokens=(*(f"▁{word}" for word in words), "</s>") if align else None,
        )


def split_double(texts):
    """In the place of `split_strings`: lines and cells, cut behind full stops."""
    return [_split(text) for text in texts]


def _split(text):
    separators, sentences = [""], []
    for piece in re.findall(r"[\n\t|>#]+|(?:[^\n\t|>#.?!]|[.?!](?!\s))+(?:[.?!](?=\s))?|.", text):
        stripped = piece.strip(" -\xa0")
        if any(map(str.isalpha, stripped)):
            before, after = piece.split(stripped, 1)
            separators[-1] += before
            sentences.append(stripped)
            separators.append(after)
        else:
            separators[-1] += piece
    return separators, sentences


def in_capitals(data, format, columns=None, translate=None, split=split_double):
    """A document translated by a `CapitalsDouble`."""
    document = Document(data.encode() if isinstance(data, str) else data, format, columns)
    translated = document.translated(split, translate or CapitalsDouble())
    return translated.decode() if isinstance(data, str) else translated


def unchanged(word):
    return word


def without_stand_ins(word):
    """As a model would that copies neither numbers nor foreign letters."""
    return re.sub(r"\d|[ァ-ヺ]", "", word).upper() or "-"


def without_foreign_letters(word):
    """As a model would that copies numbers but no foreign letters."""
    return re.sub(r"[ァ-ヺ]", "", word).upper() or "-"
