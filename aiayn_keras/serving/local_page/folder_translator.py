"""The model of a folder, as the page asks it."""

from aiayn_keras.serving.local_page.sentences import (
    BATCH_SIZE,
    MOST_HYPOTHESES,
    PageHypothesis,
    translate_lines,
)


class FolderTranslator:
    """Translates and explains with a model of Keras.

    Args:
        model: A `TransformerSeq2SeqLM`.
        **options: Those of `SearchOptions` but `num_return_sequences`.

    Attributes:
        most_hypotheses: Number of translations that there are of a sentence.
        explores_any: Whether attention can be shown for any translation of a sentence.
    """

    explores_any = True

    def __init__(self, model, **options):
        from aiayn_keras.decoding.search_options import SearchOptions

        num_beams = options.get("num_beams", SearchOptions.num_beams)
        self.most_hypotheses = min(num_beams, MOST_HYPOTHESES)
        self._model = model
        self._options = SearchOptions(num_return_sequences=self.most_hypotheses, **options)

    def translate(self, text, report=None):
        """Translates a text.

        Args:
            text: A string.
            report: Function called after each batch; what it raises ends the translation.

        Returns:
            `PageTranslation`, each sentence of it with `most_hypotheses` hypotheses.

        Raises:
            ValueError: For a sentence that is too long for the model.
        """
        return translate_lines(text, lambda sources: self._translate(sources, report))

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

    def _translate(self, sources, report):
        import dataclasses

        from aiayn_keras.decoding.text_batches import TextTooLongError

        try:
            translations = self._model.translate(
                sources,
                batch_size=BATCH_SIZE,
                progress=report and (lambda _: report()),
                **dataclasses.asdict(self._options),
            )
        except TextTooLongError as error:
            raise ValueError(f"Sentence {error.index + 1}: {error.reason}") from error
        return [tuple(map(self._scored, each.hypotheses)) for each in translations]

    def _scored(self, hypothesis):
        from aiayn_keras.decoding.length_penalty import length_penalty

        penalty = float(length_penalty(len(hypothesis.tokens) + 1, self._options.length_penalty))
        return PageHypothesis(hypothesis.text, hypothesis.score, hypothesis.score / penalty)
