"""A model folder as the page uses it."""

import contextlib
import dataclasses

from aiayn_keras.decoding.engines import AUTO
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.serving.local_page.requests import (
    MAX_HYPOTHESES,
    PageSentence,
    PageTranslation,
)
from aiayn_keras.serving.translation_client import ServedTranslation
from aiayn_keras_light.translating import NoTranslationError

BATCH_SIZE = 16
"""Sentences translated together; the translation can be given up after each batch."""

_RECORDED_BEAMS, _MAX_RECORDED_BEAMS = (1, 2, 3, 4, 5), 8
_RECORDED_ALPHAS = (0.0, 0.6, 1.0)


class FolderTranslator:
    """Translates and explains with a Keras model.

    Args:
        model: A `TransformerSeq2SeqLM`.
        engine: As in `TransformerSeq2SeqLM.translate`. Attention and the steps of a search are
            always those of Keras.
        **options: Those of `SearchOptions`, except `num_return_sequences`.

    Attributes:
        max_hypotheses: Number of translations available for each sentence.
        explores_any: Whether attention can be shown for any translation of a sentence.
        shows_steps: Whether the search can be shown step by step.
        takes_documents: Whether files can be translated.
    """

    explores_any = shows_steps = takes_documents = True

    def __init__(self, model, engine=AUTO, **options):
        num_beams = options.get("num_beams", SearchOptions.num_beams)
        self.max_hypotheses = min(num_beams, MAX_HYPOTHESES)
        self._model, self._engine = model, engine
        self._options = SearchOptions(num_return_sequences=self.max_hypotheses, **options)

    def warm_up(self):
        """Compiles the search, so that the first text does not have to wait for it."""
        with contextlib.suppress(NoTranslationError):  # a constraint may allow none
            self.translate("a")

    def translate(self, text, report=None):
        """Translates a text sentence by sentence.

        Args:
            text: A string.
            report: Function called after each batch; an exception from it ends the translation.

        Returns:
            `PageTranslation` with `max_hypotheses` hypotheses for each sentence.

        Raises:
            ValueError: If a sentence has no probabilities, see `TransformerSeq2SeqLM.translate`.
        """
        (document,) = self._model.translate_documents(
            [text],
            batch_size=BATCH_SIZE,
            engine=self._engine,
            progress=report and (lambda _: report()),
            **dataclasses.asdict(self._options),
        )
        hypotheses = [tuple(map(_as_served, each.hypotheses)) for each in document.translations]
        return PageTranslation(
            document.text, tuple(map(PageSentence, document.sources, hypotheses))
        )

    def translate_document(self, name, data, report=None):
        """Translates a file, see `aiayn_keras.documents.formats`.

        Args:
            name: Its name; the ending says its format.
            data: Its bytes.
            report: As in `translate`.

        Returns:
            Bytes of the translated file.

        Raises:
            ValueError: For a format that is not supported, or a file that is not of its format.
            ImportError: If the library for the format is not installed.
        """
        from aiayn_keras.documents.formats.document_files import translate_document
        from aiayn_keras_light.document_formats import FORMATS, format_of

        document_format = format_of(name)
        if document_format is None:
            endings = ", ".join(end for each in FORMATS.values() for end in each.endings)
            raise ValueError(f"{name}: files may end in {endings}.")
        options = {**dataclasses.asdict(self._options), "num_return_sequences": 1}
        try:
            return translate_document(
                self._model,
                data,
                document_format,
                batch_size=BATCH_SIZE,
                engine=self._engine,
                progress=report and (lambda _: report()),
                **options,
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def explore(self, source, target):
        """Returns a page that shows the attention of the model as it writes a translation.

        Args:
            source: A sentence.
            target: Its translation.

        Returns:
            `AttentionExplorer`.

        Raises:
            ValueError: If the sentence is too long for the model.
        """
        from aiayn_keras.plotting import attention_explorer

        return attention_explorer(self._model.attention_maps(source, target))

    def steps(self, source, report=None):
        """Returns a page that shows the search for a sentence's translation step by step.

        It also shows a few other numbers of beams and exponents than the model's own.

        Args:
            source: A sentence.
            report: Function called after each step; an exception from it ends the search.

        Returns:
            `DecodingSteps`.

        Raises:
            ValueError: If the sentence is too long for the model.
        """
        from aiayn_keras.plotting import decoding_steps

        options = dataclasses.asdict(self._options)
        del options["num_return_sequences"]
        own = options.pop("num_beams"), options.pop("length_penalty")
        beams = sorted({*_RECORDED_BEAMS, min(own[0], _MAX_RECORDED_BEAMS)})
        alphas = sorted({*_RECORDED_ALPHAS, own[1]})
        progress = report and (lambda _: report())
        record = self._model.record_search(source, beams, alphas, progress=progress, **options)
        return decoding_steps(record)


def _as_served(hypothesis):
    return ServedTranslation(hypothesis.text, hypothesis.score, hypothesis.normalized_score)
