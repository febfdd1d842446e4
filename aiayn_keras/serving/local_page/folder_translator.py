"""A model folder as the page uses it."""

import base64
import contextlib
import dataclasses

import numpy as np

from aiayn_keras.decoding.scoring import attention_maps_of_ids, next_log_probs
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import AUTO
from aiayn_keras.plotting.figures import visible
from aiayn_keras.serving.local_page.requests import (
    MAX_HYPOTHESES,
    PageHypothesis,
    PageSentence,
    PageTranslation,
)
from aiayn_keras_light.search_numbers import length_penalty as penalty_of
from aiayn_keras_light.search_numbers import max_pieces
from aiayn_keras_light.text_batches import tokenize
from aiayn_keras_light.translating import NoTranslationError

BATCH_SIZE = 16
"""Sentences translated together; the translation can be given up after each batch."""

_RECORDED_BEAMS, _MAX_RECORDED_BEAMS = (1, 2, 3, 4, 5), 8
_RECORDED_ALPHAS = (0.0, 0.6, 1.0)


class FolderTranslator:
    """Translates and explains with a Keras model.

    Args:
        model: A `TransformerSeq2SeqLM`.
        engine: As in `TransformerSeq2SeqLM.translate`. What the page shows beside translations is
            always that of Keras.
        **options: Those of `SearchOptions`, except `num_return_sequences`.

    Attributes:
        views: Names of the page's views that have something to show.
        explores_any: Whether attention can be shown for any translation of a sentence.
        takes_documents: Whether files can be translated.
        num_beams: Number of beams, unless a request has its own.
        length_penalty: Exponent α of the length penalty, unless a request has its own.
    """

    views = ("attention", "search", "next", "own")
    explores_any = takes_documents = True

    def __init__(self, model, engine=AUTO, **options):
        self._model, self._engine = model, engine
        self._options = SearchOptions(**options)
        self.num_beams = self._options.num_beams
        self.length_penalty = self._options.length_penalty

    def warm_up(self):
        """Compiles the search, so that the first text does not have to wait for it."""
        with contextlib.suppress(NoTranslationError):  # a constraint may allow none
            self.translate("a")

    def translate(self, text, report=None, num_beams=None, length_penalty=None):
        """Translates a text sentence by sentence.

        Args:
            text: A string.
            report: Function called after each batch; an exception from it ends the translation.
            num_beams: Number of beams; `None` for the translator's own.
            length_penalty: Exponent α; `None` for the translator's own.

        Returns:
            `PageTranslation` with as many hypotheses for each sentence as there are beams, at most
            `MAX_HYPOTHESES`.

        Raises:
            ValueError: If a sentence has no probabilities, see `TransformerSeq2SeqLM.translate`, or
                a number is out of range.
        """
        options = self._with(num_beams, length_penalty)
        num_hypotheses = min(options.num_beams, MAX_HYPOTHESES)
        options = dataclasses.replace(options, num_return_sequences=num_hypotheses)
        document = self._model.translate_documents(
            text,
            batch_size=BATCH_SIZE,
            engine=self._engine,
            progress=report and (lambda _: report()),
            **dataclasses.asdict(options),
        )
        sources = self._tokenize(document.sources, "text", self._tokenizer)
        sentences = [
            PageSentence(source, tuple(map(self._as_shown, each.hypotheses)), self._named(ids))
            for source, ids, each in zip(
                document.sources, sources, document.translations, strict=True
            )
        ]
        return PageTranslation(document.text, tuple(sentences))

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
        try:
            return translate_document(
                self._model,
                data,
                document_format,
                batch_size=BATCH_SIZE,
                engine=self._engine,
                progress=report and (lambda _: report()),
                **dataclasses.asdict(self._options),
            )
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def explore(self, source, target, ids=None):
        """Returns the attention of the model as it writes a translation.

        Args:
            source: A sentence.
            target: Its translation.
            ids: List of the translation's token ids, if they are known.

        Returns:
            Data of the attention explorer, see `aiayn_keras.plotting.interactive_page`.

        Raises:
            ValueError: If the sentence or its translation is too long for the model, or an id is
                not in its vocabulary.
        """
        from aiayn_keras.plotting.interactive_page import explorer_data

        title = f"{source} → {target}"
        if ids is None:
            return explorer_data(self._model.attention_maps(source, target), title)
        self._check_ids(ids)
        backbone, tokenizer = self._model.backbone, self._tokenizer
        return explorer_data(attention_maps_of_ids(backbone, tokenizer, source, ids), title)

    def steps(self, source, report=None, num_beams=None, length_penalty=None):
        """Returns the search for a sentence's translation step by step.

        It also has a few other numbers of beams and exponents than those that are asked for.

        Args:
            source: A sentence.
            report: Function called after the search with each number of beams; an exception from it
                ends the others.
            num_beams: As in `translate`.
            length_penalty: As in `translate`.

        Returns:
            Data of the page of search steps, see `aiayn_keras.plotting.interactive_page`; `chosen`
            says with which beams and exponent it opens.

        Raises:
            ValueError: As `translate`, and if the sentence is too long for the model.
        """
        from aiayn_keras.plotting.interactive_page import steps_data

        options = dataclasses.asdict(self._with(num_beams, length_penalty))
        del options["num_return_sequences"]
        beams = min(options.pop("num_beams"), _MAX_RECORDED_BEAMS)
        alpha = options.pop("length_penalty")
        record = self._model.record_search(
            source,
            sorted({*_RECORDED_BEAMS, beams}),
            sorted({*_RECORDED_ALPHAS, alpha}),
            progress=report and (lambda _: report()),
            **options,
        )
        return {**steps_data(record), "chosen": {"beams": beams, "alpha": alpha}}

    def next_pieces(self, source, ids, count):
        """Returns what may follow the beginning of a translation.

        Args:
            source: A sentence.
            ids: List of the beginning's token ids.
            count: Number of the most probable pieces to name.

        Returns:
            Dictionary of the text `written` so far; the `limit` of pieces, None until it is
            reached; `end_id`; log-probabilities of all pieces (`logits`, float32) and whether they
            `may_be_chosen` (uint8), both in base64; and the `best` that may, named.

        Raises:
            ValueError: As `explore`.
        """
        self._check_ids(ids)
        tokenizer = self._tokenizer
        log_probs = next_log_probs(self._model.backbone, tokenizer, source, ids)[-1]
        (source_ids,) = self._tokenize([source], "source", tokenizer)
        num_pieces = len(source_ids) - len(tokenizer.source_ids)
        positions = self._model.backbone.max_sequence_length - 1
        limit = min(max_pieces(num_pieces, self._options), positions)
        is_over = len(ids) >= limit
        may_be_chosen = np.full(len(log_probs), not is_over, "uint8")
        for never in (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.start_token_id):
            may_be_chosen[never] = False
        may_be_chosen[tokenizer.end_token_id] = is_over or len(ids) >= self._options.min_length
        order = np.argsort(np.where(may_be_chosen, -log_probs, np.inf), kind="stable")
        best = order[: min(count, int(may_be_chosen.sum()))]
        return {
            "written": tokenizer.of_targets().detokenize(self._without_special(ids)),
            "limit": limit if is_over else None,
            "end_id": tokenizer.end_token_id,
            "logits": _packed(log_probs.astype("<f4")),
            "may_be_chosen": _packed(may_be_chosen),
            "best": self._named(best.tolist(), is_target=True),
        }

    def score(self, source, target, length_penalty=None):
        """Returns how likely the model finds a translation, piece by piece.

        Args:
            source: A sentence.
            target: A translation of it.
            length_penalty: As in `translate`.

        Returns:
            Dictionary of `log_prob` in nats, `score`, and `pieces`, the end included: named, with
            `log_prob`, `rank` among all pieces from 1, and the `best` piece with its
            `best_log_prob`.

        Raises:
            ValueError: As `explore`.
        """
        targets = self._tokenizer.of_targets()
        (labels,) = self._tokenize([target], "target", targets)
        rows = next_log_probs(self._model.backbone, self._tokenizer, source, labels[:-1])
        log_probs = rows[np.arange(len(labels)), labels]
        best = rows.argmax(axis=1)
        pieces = [
            {
                **named,
                "log_prob": float(log_prob),
                "rank": 1 + int((row > log_prob).sum()),
                "best": visible(targets.id_to_token(int(first))),
                "best_log_prob": float(row[first]),
            }
            for named, log_prob, row, first in zip(
                self._named(labels, is_target=True), log_probs, rows, best, strict=True
            )
        ]
        total = float(log_probs.sum())
        options = self._with(None, length_penalty)
        penalty = float(penalty_of(np.float32(len(labels)), options))
        return {"log_prob": total, "score": total / penalty, "pieces": pieces}

    @property
    def _tokenizer(self):
        return self._model.preprocessor.tokenizer

    def _with(self, num_beams, length_penalty):
        """The search options with a request's own numbers."""
        own = {"num_beams": num_beams, "length_penalty": length_penalty}
        given = {name: value for name, value in own.items() if value is not None}
        return dataclasses.replace(self._options, **given)

    def _tokenize(self, texts, argument, tokenizer):
        return tokenize(texts, argument, tokenizer, self._model.backbone.max_sequence_length)

    def _check_ids(self, ids):
        size, positions = (
            self._tokenizer.vocabulary_size(),
            self._model.backbone.max_sequence_length,
        )
        if any(i >= size for i in ids) or len(ids) >= positions:
            raise ValueError(
                f"`ids` must be fewer than {positions} token ids from 0 to {size - 1}. "
                f"Received: {ids!r:.100}."
            )

    def _without_special(self, ids):
        return [i for i in ids if i not in self._tokenizer.special_token_ids]

    def _named(self, ids, is_target=False):
        """Pieces as the page shows them, `{"id", "piece"}`."""
        tokenizer = self._tokenizer.of_targets() if is_target else self._tokenizer
        return [{"id": i, "piece": visible(tokenizer.id_to_token(i))} for i in ids]

    def _as_shown(self, hypothesis):
        ids = map(self._tokenizer.of_targets().token_to_id, hypothesis.tokens)
        return PageHypothesis(
            hypothesis.text,
            hypothesis.score,
            hypothesis.normalized_score,
            self._named([*ids, self._tokenizer.end_token_id], is_target=True),
        )


def _packed(array):
    return base64.b64encode(array.tobytes()).decode("ascii")
