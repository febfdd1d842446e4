"""A serving kit as the page uses it, without a server."""

import unicodedata
from types import SimpleNamespace
from typing import Annotated

import numpy as np
import pydantic

from aiayn_keras.common.kit_files import check_kit_graph
from aiayn_keras.documents.splitting import join_strings
from aiayn_keras.serving.answers import check_outputs
from aiayn_keras.serving.local_page.folder_translator import BATCH_SIZE
from aiayn_keras.serving.local_page.requests import (
    MAX_HYPOTHESES,
    PageHypothesis,
    PageSentence,
    PageTranslation,
)
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import check_checksums, check_is_utf8, read_bytes

NOTES = "assets.extra/export.json"
MAX_NOTES_BYTES = 1 << 26
SIGNATURES = ("align", "translate_nbest")
_ALIGNMENT_TITLE = "Attention of the decoder's last layer, the mean of its heads"


class _Options(pydantic.BaseModel):
    max_input_length: Annotated[int, pydantic.Field(ge=1)]


class _KitNotes(pydantic.BaseModel):
    """The part of a version's notes, written by the export, that the page shows.

    Attributes:
        options: Options of the graph.
        source_end: Whether the encoder reads an end token after the source.
        card: Facts from the model card.
    """

    options: _Options
    source_end: bool = True
    card: dict[str, str]


def find_version(folder):
    """Finds the newest version of a kit; returns the folder itself if it is a version.

    Args:
        folder: `pathlib.Path`.

    Returns:
        `pathlib.Path` of a folder with a `saved_model.pb`, or None.
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
        trust: Whether to load a graph that may do more than those of this package's exports. It may
            do anything with the user's rights.

    Attributes:
        notes: `_KitNotes`.
        views: Names of the page's views that have something to show.
        explores_any: Whether attention can be shown for any translation of a sentence. A kit only
            shows that of the best one.
        num_beams: None, as the graph has its own numbers.
        length_penalty: None.
        takes_documents: Whether files can be translated. A kit takes text alone.

    Raises:
        OSError: If a file is missing.
        UntrustedGraphError: If its graph has operations that no export of this package has.
        ValueError: If it is not a SavedModel of this package, or one of its files is damaged.
        ImportError: If TensorFlow or TensorFlow Text is not installed.
    """

    views = ("attention",)
    explores_any = takes_documents = False
    num_beams = length_penalty = None

    def __init__(self, version, trust=False):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - the graph has its ops

        check_is_utf8(version)
        check_checksums(version)
        path = version / NOTES
        remedy = "Export the model again."
        self.notes = parse(_KitNotes, read_bytes(path, MAX_NOTES_BYTES), path, remedy)
        if not trust:
            check_kit_graph(version)
        self._module = tf.saved_model.load(str(version))
        missing = [name for name in SIGNATURES if name not in self._module.signatures]
        if missing:
            raise ValueError(
                f"{version} is not a SavedModel of this package: it lacks {', '.join(missing)}. "
                "`aiayn-keras export saved-model` writes one."
            )

    def warm_up(self):
        """Runs both signatures once, so that the first text does not have to wait for it."""
        self._find_hypotheses(["."])
        self._align(".")

    def translate(self, text, report=None, num_beams=None, length_penalty=None):
        """Translates a text with the graph's own search; see `FolderTranslator.translate`."""
        separators, sources = self._split(text)
        hypotheses = []
        for start in range(0, len(sources), BATCH_SIZE):
            hypotheses += self._find_hypotheses(sources[start : start + BATCH_SIZE])
            if report is not None:
                report()
        text = join_strings(separators, sources, [each[0].text for each in hypotheses])
        return PageTranslation(text, tuple(map(PageSentence, sources, hypotheses)))

    def translate_lines(self, sources, report=None):
        """Translates lines, each as one text, as a server with this kit does.

        Args:
            sources: List of strings.
            report: Function of a number of lines, called after each batch.

        Returns:
            List of strings.

        Raises:
            ValueError: If the kit refuses a text.
        """
        texts = []
        for start in range(0, len(sources), BATCH_SIZE):
            batch = sources[start : start + BATCH_SIZE]
            texts += [each[0].text if each else "" for each in self._find_hypotheses(batch)]
            if report is not None:
                report(len(batch))
        return texts

    def explore(self, source, target, ids=None):
        """Returns the attention of the model as it writes its best translation.

        Args:
            source: A sentence.
            target: Its best translation.
            ids: Not used: a kit names no token ids.

        Returns:
            Data of the attention explorer, of one matrix.

        Raises:
            ValueError: If the translation is not the best one, or the sentence has no words.
        """
        from aiayn_keras.plotting.interactive_page import explorer_data

        aligned = self._align(source)
        if aligned["translation"] != target:
            raise ValueError("A kit only shows the attention of a sentence's best translation.")
        if not aligned["target_tokens"]:
            raise ValueError("A text without words has no attention to show.")
        maps = SimpleNamespace(
            source_tokens=aligned["source_tokens"],
            target_tokens=["<s>", *aligned["target_tokens"][:-1]],  # as the decoder reads them
            encoder=None,
            decoder=None,
            cross=aligned["alignment"][np.newaxis, np.newaxis],
        )
        return explorer_data(maps, _ALIGNMENT_TITLE)

    def _split(self, text):
        """Returns separators and sentences, split as by the model itself."""
        import tensorflow as tf

        from aiayn_keras.documents.splitting import split_texts

        def count(sentences):
            return tf.constant([*map(self._count, sentences.numpy())], tf.int64)

        limit = self.notes.options.max_input_length
        split = split_texts(tf.constant([text]), count, limit)
        return (_decoded(part[0].numpy()).tolist() for part in split)

    def _count(self, sentence):
        """Counts the wordpieces of a sentence in UTF-8, exactly enough to compare with the limit.

        A kit has no signature that counts them. A sentence that may exceed the limit is aligned,
        which returns its wordpieces up to the limit; if it reaches the limit, it counts as longer.
        """
        limit = self.notes.options.max_input_length
        if (maximum := bound_wordpieces(sentence)) <= limit:
            return maximum
        try:
            tokens = self._align(sentence)["source_tokens"]
            num_pieces = len(tokens) - int(self.notes.source_end)
        except ValueError:  # the kit refuses longer text
            return limit + 1
        return limit + 1 if num_pieces >= limit else num_pieces

    def _find_hypotheses(self, sources):
        """Returns a list with a tuple of hypotheses for each sentence."""
        answer = self._run("translate_nbest", sources)
        rows = zip(
            answer["translations"], answer["scores"], answer["normalized_scores"], strict=True
        )
        return [
            tuple(
                PageHypothesis(text, float(score), float(normalized))
                for text, score, normalized in zip(*row, strict=True)
            )[:MAX_HYPOTHESES]
            for row in rows
        ]

    def _align(self, source):
        """Returns the outputs of the signature `align` for one sentence, without padding."""
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


def bound_wordpieces(sentence):
    """Returns an upper bound for the wordpieces of a sentence in UTF-8, one for each byte.

    SentencePiece's normalization, NFKC with or without case folding, may make the sentence longer,
    and puts a space before it.
    """
    text = sentence.decode("utf-8", errors="replace")
    normalized = unicodedata.normalize("NFKC", text).casefold()
    return max(len(sentence), len(normalized.encode())) + 1


def _decoded(array):
    """Returns the array with its bytes decoded to strings."""
    if array.dtype != object:
        return array
    texts = [text.decode("utf-8", errors="replace") for text in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape)
