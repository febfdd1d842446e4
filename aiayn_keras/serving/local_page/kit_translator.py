"""A serving kit, as the page asks it; without a server, and without Keras."""

import itertools
import unicodedata
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import check_checksums, read_bytes
from aiayn_keras.serving.answers import check_outputs
from aiayn_keras.serving.local_page.sentences import (
    BATCH_SIZE,
    MAX_HYPOTHESES,
    PageSentence,
    PageTranslation,
)
from aiayn_keras.serving.translation_client import ServedTranslation

NOTES = "assets.extra/export.json"
MAX_NOTES_BYTES = 1 << 26
SIGNATURES = ("align", "translate_nbest")
ALIGNMENT_TITLE = "Attention of the decoder's last layer, the mean of its heads"


class _Options(pydantic.BaseModel):
    max_input_length: Annotated[int, pydantic.Field(ge=1)]


class KitNotes(pydantic.BaseModel):
    """The notes that the export keeps with a version, as far as the page shows them.

    Attributes:
        options: The options of the graph.
        source_end: Whether the encoder reads an end token behind a source.
        card: Facts of the model card.
    """

    options: _Options
    source_end: bool = True
    card: dict[str, str]


def find_version(folder):
    """The newest version of a kit, or the folder itself if it is a version.

    Args:
        folder: `pathlib.Path`.

    Returns:
        `pathlib.Path` of a folder with a `saved_model.pb`, or None if there is none.
    """
    if (folder / "saved_model.pb").is_file():
        return folder
    numbered = [path for path in folder.glob("[0-9]*") if path.name.isdecimal()]
    versions = [path for path in numbered if (path / "saved_model.pb").is_file()]
    return max(versions, key=lambda path: int(path.name), default=None)


class KitTranslator:
    """Translates with the SavedModel of a kit.

    Args:
        version: `pathlib.Path` of a version's folder.

    Attributes:
        notes: `KitNotes`.
        most_hypotheses: Number of translations that there are of a sentence.
        explores_any: Whether attention can be shown for any translation of a sentence; a kit shows
            that of the best one.
        shows_steps: Whether the search can be shown step by step; the graph of a kit does not tell.

    Raises:
        OSError: If a file is missing.
        ValueError: If it is no SavedModel of this package, or a file of it is damaged.
        ImportError: If TensorFlow or TensorFlow Text is not installed.
    """

    explores_any = shows_steps = False

    def __init__(self, version):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - the graph has its ops

        check_checksums(version)
        path = version / NOTES
        remedy = "Export the model anew."
        self.notes = parse(KitNotes, read_bytes(path, MAX_NOTES_BYTES), path, remedy)
        self._module = tf.saved_model.load(str(version))
        missing = [name for name in SIGNATURES if name not in self._module.signatures]
        if missing:
            raise ValueError(
                f"{version} is no SavedModel of this package: it lacks {', '.join(missing)}. "
                "`aiayn-keras export saved-model` writes one."
            )
        (hypotheses,) = self._find_hypotheses(["."])
        self.most_hypotheses = len(hypotheses)

    def translate(self, text, report=None):
        """Translates a text, see `FolderTranslator.translate`."""
        separators, sources = self._split(text)
        hypotheses = []
        for start in range(0, len(sources), BATCH_SIZE):
            hypotheses += self._find_hypotheses(sources[start : start + BATCH_SIZE])
            if report is not None:
                report()
        best = [*(each[0].text for each in hypotheses), ""]
        parts = itertools.chain.from_iterable(zip(separators, best, strict=True))
        return PageTranslation("".join(parts), tuple(map(PageSentence, sources, hypotheses)))

    def explore(self, source, target):
        """The attention of the model when it writes its best translation.

        Args:
            source: A sentence.
            target: Its best translation.

        Returns:
            `AttentionExplorer` of one matrix.

        Raises:
            ValueError: For another translation, or a sentence without words.
        """
        from aiayn_keras.plotting import attention_explorer

        aligned = self._align(source)
        if aligned["translation"] != target:
            raise ValueError("A kit shows the attention of a sentence's best translation only.")
        if not aligned["target_tokens"]:
            raise ValueError("There is no attention to show for a text without words.")
        maps = SimpleNamespace(
            source_tokens=aligned["source_tokens"],
            target_tokens=["<s>", *aligned["target_tokens"][:-1]],  # as the decoder reads them
            encoder=None,
            decoder=None,
            cross=aligned["alignment"][np.newaxis, np.newaxis],
        )
        return attention_explorer(maps, ALIGNMENT_TITLE)

    def _split(self, text):
        """Separators and sentences, as the model itself splits the text."""
        import tensorflow as tf

        from aiayn_keras.documents.splitting import split_texts

        def count(sentences):
            return tf.constant([*map(self._count, sentences.numpy())], tf.int64)

        limit = self.notes.options.max_input_length
        split = split_texts(tf.constant([text]), count, limit)
        return (_decoded(part[0].numpy()).tolist() for part in split)

    def _count(self, sentence):
        """A number that is above the limit if the wordpieces of a sentence, UTF-8, are.

        A kit has no signature that counts them. A sentence that may have more than the limit is
        aligned, which shows its wordpieces up to the limit; one that reaches the limit counts as
        longer.
        """
        limit = self.notes.options.max_input_length
        if (most := most_pieces(sentence)) <= limit:
            return most
        try:
            tokens = self._align(sentence)["source_tokens"]
            num_pieces = len(tokens) - int(self.notes.source_end)
        except ValueError:  # the kit refuses longer text
            return limit + 1
        return limit + 1 if num_pieces >= limit else num_pieces

    def _find_hypotheses(self, sources):
        """A list of tuples of hypotheses, one for a sentence."""
        answer = self._run("translate_nbest", sources)
        rows = zip(
            answer["translations"], answer["scores"], answer["normalized_scores"], strict=True
        )
        return [
            tuple(
                ServedTranslation(text, float(score), float(normalized))
                for text, score, normalized in zip(*row, strict=True)
            )[:MAX_HYPOTHESES]
            for row in rows
        ]

    def _align(self, source):
        """The outputs of the signature `align` for one sentence, without padding."""
        answer = {name: rows[0] for name, rows in self._run("align", [source]).items()}
        for side in ("source_tokens", "target_tokens"):
            answer[side] = [token for token in answer[side] if token]
        return answer

    def _run(self, signature, texts):
        import tensorflow as tf

        try:
            outputs = self._module.signatures[signature](text=tf.constant(texts, tf.string))
        except tf.errors.InvalidArgumentError as error:
            raise ValueError(f"The kit refuses the text: {error.message:.300}") from error
        arrays = {name: _decoded(output.numpy()) for name, output in outputs.items()}
        return check_outputs(signature, arrays, len(texts))


def most_pieces(sentence):
    """A bound of the wordpieces of a sentence, UTF-8: a piece has a byte at least.

    SentencePiece's normalization, NFKC with or without case folding, may make it longer, and puts a
    space before it.
    """
    text = sentence.decode("utf-8", errors="replace")
    normalized = unicodedata.normalize("NFKC", text).casefold()
    return max(len(sentence), len(normalized.encode())) + 1


def _decoded(array):
    """An array whose bytes are strings."""
    if array.dtype != object:
        return array
    texts = [text.decode("utf-8", errors="replace") for text in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape)
