"""The base of both clients: sends texts in batches, and gives the answers as objects."""

import abc
from dataclasses import dataclass

import numpy as np

from aiayn_keras.common.checks import check_list, check_texts
from aiayn_keras.serving.answers import OUTPUTS, check_outputs
from aiayn_keras.serving.arguments import (
    checked_deadline,
    checked_integer,
    checked_name,
)
from aiayn_keras.serving.errors import BadAnswerError
from aiayn_keras.serving.retries import call_with_retries

MEGABYTE = 1 << 20
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True)
class ServedTranslation:
    """One translation.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        normalized_score: The score over the length penalty, by which hypotheses are ranked.
    """

    text: str
    score: float
    normalized_score: float


@dataclass(frozen=True)
class ServedAlignment:
    """A translation in wordpieces, with the attention of each to the source.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        source_tokens: The source's S wordpieces, with its end token.
        target_tokens: The translation's T wordpieces, with its end token; none for a text without
            words.
        weights: Float32 array `(T, S)` whose rows sum to one.
    """

    text: str
    score: float
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: np.ndarray


@dataclass(frozen=True)
class ServedDocument:
    """The translation of a text of any length.

    Attributes:
        text: The translation, with line breaks and spaces as in the source.
        score: Sum of the log-probabilities of its sentences in nats.
        num_sentences: Number of sentences that the source was split into.
    """

    text: str
    score: float
    num_sentences: int


class TranslationClient(abc.ABC):
    """A client of the signatures that `export_saved_model` writes; threads may share it.

    Args:
        model: Name by which the model is served.
        version: Number of a version; the server's newest if neither it nor `label` is given.
        label: A label of `models.config`, such as `"stable"`.
        deadline: Seconds for a request of up to `batch_size` texts, retries included; at most a
            day.
        batch_size: Greatest number of texts in a request; a server that makes batches refuses more
            than its `max_batch_size`.
        max_answer_bytes: Greatest size of an answer to a request, 64 MB if not given; a larger one
            is a `BadAnswerError`. Once read, it can take about ten times as much memory.
    """

    def __init__(
        self,
        model,
        version=None,
        label=None,
        deadline=60.0,
        batch_size=64,
        max_answer_bytes=64 * MEGABYTE,
    ):
        if version is not None and label is not None:
            raise ValueError(
                "Give `version` or `label`, not both. "
                f"Received: version={version}, label={label!r}."
            )
        self.model = checked_name("model", model)
        self.version = (
            None if version is None else checked_integer("version", version, 0, INT64_MAX)
        )
        self.label = None if label is None else checked_name("label", label)
        self.deadline = checked_deadline(deadline)
        self.batch_size = checked_integer("batch_size", batch_size, 1, INT32_MAX)
        self.max_answer_bytes = checked_integer("max_answer_bytes", max_answer_bytes, 1, INT32_MAX)

    def translate(self, texts):
        """Gives the best translation of every text.

        Args:
            texts: List or tuple of strings.

        Returns:
            List of `ServedTranslation`, one for each text, in order.

        Raises:
            ServingError: See `aiayn_keras.serving.errors`.
            ValueError: If `texts` is no list of strings that can be written in UTF-8.
        """
        return [
            ServedTranslation(text, float(score), float(normalized))
            for answer in self._batches("serving_default", text=check_texts("texts", texts))
            for text, score, normalized in zip(
                answer["translation"], answer["score"], answer["normalized_score"], strict=True
            )
        ]

    def translate_nbest(self, texts):
        """Gives a list of `ServedTranslation` for every text, best first; see `translate`."""
        return [
            [
                ServedTranslation(text, float(score), float(normalized))
                for text, score, normalized in zip(*hypotheses, strict=True)
            ]
            for answer in self._batches("translate_nbest", text=check_texts("texts", texts))
            for hypotheses in zip(
                answer["translations"],
                answer["scores"],
                answer["normalized_scores"],
                strict=True,
            )
        ]

    def translate_documents(self, texts):
        """Gives a `ServedDocument` for every text, of any length; see `translate`.

        The model must have been exported with `documents=True`.
        """
        return [
            ServedDocument(text, float(score), int(sentences))
            for answer in self._batches("translate_document", text=check_texts("texts", texts))
            for text, score, sentences in zip(
                answer["translation"], answer["score"], answer["sentences"], strict=True
            )
        ]

    def align(self, texts):
        """Gives a `ServedAlignment` for every text; see `translate`."""
        return [
            _alignment(*row)
            for answer in self._batches("align", text=check_texts("texts", texts))
            for row in zip(
                answer["translation"],
                answer["score"],
                answer["source_tokens"],
                answer["target_tokens"],
                answer["alignment"],
                strict=True,
            )
        ]

    def score(self, sources, targets):
        """Computes log-probabilities, in nats, of given translations.

        Args:
            sources: List of strings.
            targets: List of strings, one for each source.

        Returns:
            List of floats, one for each pair.
        """
        sources = check_texts("sources", sources)
        targets = check_texts("targets", targets)
        if len(sources) != len(targets):
            raise ValueError(
                "`sources` and `targets` must be of equal length. "
                f"Received: {len(sources)} sources, {len(targets)} targets."
            )
        return [
            float(log_prob)
            for answer in self._batches("score", source=sources, target=targets)
            for log_prob in answer["log_probability"]
        ]

    def predict(self, signature, **inputs):
        """Sends one request, with retries.

        Args:
            signature: Name of a signature.
            **inputs: Lists of strings, or nested lists of integers.

        Returns:
            Dictionary of arrays for a signature that translates, aligns or scores. Of any other
            signature nothing is known: its outputs are as they came, in nested lists or arrays.
        """
        checked_name("signature", signature)
        for name, values in inputs.items():
            if signature in OUTPUTS:
                check_texts(name, values)
            inputs[name] = check_list(name, values, "strings or numbers")
        return self._ask(signature, inputs)

    @abc.abstractmethod
    def close(self):
        """Closes the connections."""

    @property
    @abc.abstractmethod
    def _server(self):
        """Address and model, for errors."""

    @abc.abstractmethod
    def _predict(self, signature, inputs, seconds):
        """Sends one request and waits for so many seconds."""

    def _ask(self, signature, inputs):
        try:
            outputs = call_with_retries(
                lambda seconds: self._predict(signature, inputs, seconds), self.deadline
            )
            if signature not in OUTPUTS:
                return outputs
            num_rows = max(map(len, inputs.values()), default=0)
            return check_outputs(signature, outputs, num_rows)
        except BadAnswerError as error:
            raise BadAnswerError(f"{self._server}, signature {signature}: {error}") from error

    def _batches(self, signature, **inputs):
        (num_texts,) = {len(texts) for texts in inputs.values()}
        for start in range(0, num_texts, self.batch_size):
            end = start + self.batch_size
            yield self._ask(signature, {name: texts[start:end] for name, texts in inputs.items()})


def _alignment(text, score, source_tokens, target_tokens, weights):
    source = tuple(token for token in source_tokens if token)
    target = tuple(token for token in target_tokens if token)
    weights = weights.astype("float32")[: len(target), : len(source)]
    return ServedAlignment(text, float(score), source, target, weights)
