"""Tokenizers of converted models: of words, or of the SentencePiece models that came with them."""

import dataclasses

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras.convert.joint_vocabulary import NONE, NUM_SPECIALS, UNKNOWN
from aiayn_keras.convert.sentencepiece_order import SPECIAL, pieces_of, read_model, reorder
from aiayn_keras.models import TransformerTokenizer

SPACE = "▁"
"""SentencePiece's sign for a space."""

SOURCE_FILES = ("sentencepiece.model", "source.spm")
TARGET_FILES = ("target_sentencepiece.model", "target.spm")
"""Names of SentencePiece models in a folder: those of our exports, and those of OPUS-MT."""


def read_sentencepiece_models(folder):
    """The SentencePiece models of a folder, of sources and of translations; or None and None.

    Raises:
        ValueError: If one is damaged.
    """
    found = []
    for names in (SOURCE_FILES, TARGET_FILES):
        paths = [folder / name for name in names if (folder / name).exists()]
        found.append(read_model(paths[0]) if paths else None)
        if paths and not found[-1].pieces:
            raise ValueError(f"{paths[0]} holds no SentencePiece model: it is empty.")
    return found[0], found[0] if found[1] is None else found[1]


def add_pieces(vocabulary, source_model, target_model):
    """Adds a row for every piece that texts are split into and that is no token of the model.

    Its row is that of unknown tokens, and it is never written.

    Args:
        vocabulary: A `JointVocabulary`.
        source_model: The SentencePiece model of sources, a `ModelProto`.
        target_model: That of translations; may be the same object.

    Returns:
        A longer `JointVocabulary`.
    """
    of_source = _missing(source_model, vocabulary.source_words)
    of_target = _missing(target_model, vocabulary.target_words)
    if vocabulary.is_shared and source_model is target_model:
        source_words = target_words = [*vocabulary.source_words, *of_source]
    else:
        source_words = [*vocabulary.source_words, *of_source, *[None] * len(of_target)]
        target_words = [*vocabulary.target_words, *[None] * len(of_source), *of_target]
    added = len(source_words) - len(vocabulary.source_words)
    unknown = vocabulary.source_rows[UNKNOWN]
    return dataclasses.replace(
        vocabulary,
        source_rows=np.append(vocabulary.source_rows, np.full(added, unknown)),
        target_rows=np.append(vocabulary.target_rows, np.full(added, NONE)),
        output_rows=np.append(vocabulary.output_rows, np.full(added, NONE)),
        source_words=source_words,
        target_words=target_words,
    )


def build_tokenizer(vocabulary, source_model, target_model, origin, source_end=True):
    """Makes a `TransformerTokenizer` of the ids of a `JointVocabulary`.

    Without SentencePiece models text is words with spaces between them. A word of both languages
    has two ids: in sources the source's, in translations the target's.

    Args:
        vocabulary: The `JointVocabulary`.
        source_model: The SentencePiece model of sources, whose pieces are all in it, or None.
        target_model: That of translations.
        origin: Path of the vocabulary, for the error.
        source_end: Whether the model reads an end token behind a source.

    Raises:
        ValueError: If the tokens are pieces of a SentencePiece model that is not there.
    """
    models = []
    for words, model in (
        (vocabulary.source_words, source_model),
        (vocabulary.target_words, target_model),
    ):
        if model is None:
            _check_words(words, origin)
            models.append(build_word_model(words))
        else:
            models.append(reorder(model, _distinct(words)))
    target = None if models[0] == models[1] else models[1]
    return TransformerTokenizer(models[0], target, source_end=source_end)


def build_word_model(words):
    """Makes a SentencePiece model that splits at spaces, knows whole words and changes no letter.

    Args:
        words: List of V strings, the word of each id; None for an id that no text has, which the
            first four are.

    Returns:
        Bytes of the model.
    """
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = model.trainer_spec.WORD
    model.normalizer_spec.name = "identity"
    pieces = []
    for i, word in enumerate(words[NUM_SPECIALS:], start=NUM_SPECIALS):
        pieces.append(_unreachable(i, ()) if word is None else SPACE + word)
        if word is not None:
            model.pieces.add(piece=pieces[-1], score=0.0)
    return reorder(model, pieces)


def _missing(model, words):
    known = {*words, *SPECIAL}
    return [piece for piece in pieces_of(model) if piece not in known]


def _distinct(words):
    """Names of the pieces from 4 on; what is no word of the language cannot be found in text."""
    taken = set(words)
    return [
        _unreachable(i, taken) if word is None or word in SPECIAL else word
        for i, word in enumerate(words[NUM_SPECIALS:], start=NUM_SPECIALS)
    ]


def _unreachable(i, taken):
    """A name that is not taken, with a space, for which text has the sign."""
    name = f"row {i}"
    while name in taken:  # by a model that was converted and exported before
        name += " "
    return name


def _check_words(words, origin):
    for word in words:
        if word is not None and word.startswith(SPACE) and len(word) > 1:
            raise ValueError(
                f"{origin}: its tokens are wordpieces, such as {word!r:.60}: put the SentencePiece "
                f"model that splits text into them into the folder, as `{SOURCE_FILES[0]}`; if "
                f"translations have another, as `{TARGET_FILES[0]}`."
            )
