"""The model of a folder, as the page asks it."""

import contextlib
import dataclasses

from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translating import NoTranslationError
from aiayn_keras.serving.local_page.sentences import (
    BATCH_SIZE,
    MAX_HYPOTHESES,
    PageSentence,
    PageTranslation,
)
from aiayn_keras.serving.translation_client import ServedTranslation

RECORDED_BEAMS, MAX_RECORDED_BEAMS = (1, 2, 3, 4, 5), 8
RECORDED_ALPHAS = (0.0, 0.6, 1.0)


class FolderTranslator:
    """Translates and explains with a model of Keras.

    Args:
        model: A `TransformerSeq2SeqLM`.
        **options: Those of `SearchOptions` but `num_return_sequences`.

    Attributes:
        most_hypotheses: Number of translations that there are of a sentence.
        explores_any: Whether attention can be shown for any translation of a sentence.
        shows_steps: Whether the search can be shown step by step.
    """

    explores_any = shows_steps = True

    def __init__(self, model, **options):
        num_beams = options.get("num_beams", SearchOptions.num_beams)
        self.most_hypotheses = min(num_beams, MAX_HYPOTHESES)
        self._model = model
        self._options = SearchOptions(num_return_sequences=self.most_hypotheses, **options)

    def warm_up(self):
        """Compiles the search, so that the first text need not wait for it."""
        with contextlib.suppress(NoTranslationError):  # a constraint may leave none
            self.translate("a")

    def translate(self, text, report=None):
        """Translates a text, sentence by sentence.

        Args:
            text: A string.
            report: Function called after each batch; what it raises ends the translation.

        Returns:
            `PageTranslation`, each sentence of it with `most_hypotheses` hypotheses.

        Raises:
            ValueError: If a sentence has no probabilities, see `TransformerSeq2SeqLM.translate`.
        """
        (document,) = self._model.translate_documents(
            [text],
            batch_size=BATCH_SIZE,
            progress=report and (lambda _: report()),
            **dataclasses.asdict(self._options),
        )
        hypotheses = [tuple(map(_shown, each.hypotheses)) for each in document.translations]
        return PageTranslation(
            document.text, tuple(map(PageSentence, document.sources, hypotheses))
        )

    def explore(self, source, target):
        """The attention of the model when it writes a translation.

        Args:
            source: A sentence.
            target: Its translation.

        Returns:
            `AttentionExplorer`.

        Raises:
            ValueError: For a sentence that is too long for the model.
        """
        from aiayn_keras.plotting import attention_explorer

        return attention_explorer(self._model.attention_maps(source, target))

    def steps(self, source):
        """The search for a sentence's translation, step by step.

        Beside the model's own numbers of beams and exponent, a few others are recorded.

        Args:
            source: A sentence.

        Returns:
            `DecodingSteps`.

        Raises:
            ValueError: For a sentence that is too long for the model.
        """
        from aiayn_keras.plotting import decoding_steps

        options = dataclasses.asdict(self._options)
        del options["num_return_sequences"]
        own = options.pop("num_beams"), options.pop("length_penalty")
        beams = sorted({*RECORDED_BEAMS, min(own[0], MAX_RECORDED_BEAMS)})
        alphas = sorted({*RECORDED_ALPHAS, own[1]})
        return decoding_steps(self._model.record_search(source, beams, alphas, **options))


def _shown(hypothesis):
    return ServedTranslation(hypothesis.text, hypothesis.score, hypothesis.normalized_score)
