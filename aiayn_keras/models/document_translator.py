"""The method of a model that translates texts of any length."""

from aiayn_keras.decoding.documents import translate_documents
from aiayn_keras.decoding.generation import longest_sequence


class DocumentTranslator:
    """A base of `TransformerSeq2SeqLM`, for what `translate` can do with a sentence."""

    def translate_documents(self, texts, *, ensemble=(), **options):
        """Translates texts of any length, sentence by sentence.

        Line breaks, blank lines, spaces and bullets stay as they are, and so does what has no
        letters. A sentence of more wordpieces than the model has positions is cut at the best
        places; nothing is left out.

        Args:
            texts: List of strings.
            ensemble: See `translate`.
            **options: The other options of `translate` but `prefixes`; `progress` is called with
                numbers of sentences.

        Returns:
            List of `DocumentTranslation`, one for a text, in order.

        Raises:
            ImportError: If TensorFlow Text, which finds the sentences, is not installed.
            ValueError: As `translate`, but for long texts.
            TypeError: As `translate`, and for `prefixes`.
        """
        if "prefixes" in options:
            raise TypeError("`prefixes` are of sentences: give them to `translate`.")
        ensemble = tuple(ensemble)
        backbones = [model.backbone for model in (self, *ensemble)]
        return translate_documents(
            texts,
            lambda sentences: self.translate(sentences, ensemble=ensemble, **options),
            self._tokenizer,
            longest_sequence(backbones),
        )
