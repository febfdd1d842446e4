"""The base of both clients: sends texts in batches, and gives the answers as objects."""

import abc
from dataclasses import dataclass

import numpy as np

from aiayn_keras.serving.retries import call_with_retries


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


class TranslationClient(abc.ABC):
    """A client of the signatures that `export_saved_model` writes; threads may share it.

    Args:
        model: Name by which the model is served.
        version: Number of a version; the server's newest if neither it nor `label` is given.
        label: A label of `models.config`, such as `"stable"`.
        deadline: Seconds for a request of up to `batch_size` texts, retries included.
        batch_size: Greatest number of texts in a request; a server that makes batches refuses more
            than its `max_batch_size`.
    """

    def __init__(self, model, version=None, label=None, deadline=60.0, batch_size=64):
        if version is not None and label is not None:
            raise ValueError(
                "Give `version` or `label`, not both. "
                f"Received: version={version}, label={label!r}."
            )
        if deadline <= 0 or batch_size < 1:
            raise ValueError(
                "`deadline` must be positive and `batch_size` at least 1. "
                f"Received: deadline={deadline}, batch_size={batch_size}."
            )
        self.model = model
        self.version = version
        self.label = label
        self.deadline = deadline
        self.batch_size = batch_size

    def translate(self, texts):
        """Gives the best translation of every text.

        Args:
            texts: List of strings.

        Returns:
            List of `ServedTranslation`, one for each text, in order.

        Raises:
            ServingError: See `aiayn_keras.serving.errors`.
            ValueError: If `texts` is no list of strings that can be written in UTF-8.
        """
        return [
            ServedTranslation(str(text), float(score), float(normalized))
            for answer in self._batches("serving_default", text=texts)
            for text, score, normalized in zip(
                answer["translation"], answer["score"], answer["normalized_score"], strict=True
            )
        ]

    def translate_nbest(self, texts):
        """Gives a list of `ServedTranslation` for every text, best first; see `translate`."""
        return [
            [
                ServedTranslation(str(text), float(score), float(normalized))
                for text, score, normalized in zip(*hypotheses, strict=True)
            ]
            for answer in self._batches("translate_nbest", text=texts)
            for hypotheses in zip(
                answer["translations"],
                answer["scores"],
                answer["normalized_scores"],
                strict=True,
            )
        ]

    def align(self, texts):
        """Gives a `ServedAlignment` for every text; see `translate`."""
        return [
            _alignment(*row)
            for answer in self._batches("align", text=texts)
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
            Dictionary of the signature's outputs, as nested lists or arrays.
        """
        return call_with_retries(
            lambda seconds: self._predict(signature, inputs, seconds), self.deadline
        )

    @abc.abstractmethod
    def close(self):
        """Closes the connections."""

    @abc.abstractmethod
    def _predict(self, signature, inputs, seconds):
        """Sends one request and waits for so many seconds."""

    def _batches(self, signature, **inputs):
        for name, texts in inputs.items():
            _check_texts(name, texts)
        (num_texts,) = {len(texts) for texts in inputs.values()}
        for start in range(0, num_texts, self.batch_size):
            end = start + self.batch_size
            yield self.predict(
                signature, **{name: list(texts[start:end]) for name, texts in inputs.items()}
            )


def _check_texts(name, texts):
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"`{name}` must be a list of strings. Received: {texts!r}.")
    for i, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except (AttributeError, UnicodeEncodeError) as error:
            raise ValueError(
                f"`{name}[{i}]` must be a string of Unicode characters. Received: {text!r:.60}."
            ) from error


def _alignment(text, score, source_tokens, target_tokens, weights):
    source = tuple(str(token) for token in source_tokens if token)
    target = tuple(str(token) for token in target_tokens if token)
    weights = np.asarray(weights, dtype="float32")
    weights = weights.reshape(len(target_tokens), len(source_tokens))
    return ServedAlignment(
        str(text), float(score), source, target, weights[: len(target), : len(source)]
    )
