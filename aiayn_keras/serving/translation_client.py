"""The base of both clients: sends texts in batches, retries, and returns answers as objects.

Documents are sent in parts that a server answers in time. A line break ends a sentence, so the
translation of a document is that of its lines, joined.
"""

import abc
import itertools
import logging
import math
import re
import time
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import tenacity

from aiayn_keras.serving.answers import (
    OUTPUTS,
    BadAnswerError,
    NotListeningError,
    RequestRefusedError,
    ServerUnavailableError,
    check_outputs,
)
from aiayn_keras_light.checks import check_list, check_texts, is_unicode
from aiayn_keras_light.placeables import check_placeables, translate_placeables
from aiayn_keras_light.translating import Hypothesis, as_translation

MAX_PART_CHARACTERS = 5_000
"""Maximum size of the parts in a request, unless one line is longer.

A server may join the requests of 64 clients to one batch, whose answers all come at its end. With
parts of this size, such a batch takes about half a minute on two cores.
"""

MAX_LINE_CHARACTERS = 50_000
"""Maximum size of a line: at most 200,000 bytes, which take about four seconds on two cores."""

# As in `aiayn_keras.documents.splitting`.
_BREAKS = "\n\x0b\x0c\r\x85\u2028\u2029"
_LINE = re.compile(f"[^{_BREAKS}]*(?:\r\n|[{_BREAKS}])|[^{_BREAKS}]+")
LOG = logging.getLogger(__name__)
_STABLE = "stable"
"""The label of the version that answers everybody."""
MEGABYTE = 1 << 20
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1
_MAX_DEADLINE = 86_400.0
"""Seconds in a day."""
FIRST_WAIT, MAX_WAIT = 0.1, 5.0
"""Seconds between two attempts: doubled each time, with jitter, up to the maximum."""


def document_parts(name, text):
    """Cuts a text after line breaks.

    Args:
        name: Name of the text, for the error.
        text: A string.

    Returns:
        List of strings, one at least, which joined are the text.

    Raises:
        ValueError: For a line of more than `MAX_LINE_CHARACTERS`.
    """
    parts, size = [[]], 0
    for number, line in enumerate(_LINE.findall(text), start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            raise ValueError(
                f"{name}, line {number} has {len(line):,} characters. A server would not answer in "
                f"time: a line must have at most {MAX_LINE_CHARACTERS:,}. Break it between two "
                "sentences."
            )
        if parts[-1] and size + len(line) > MAX_PART_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line)
    return ["".join(part) for part in parts]


def request_sizes(parts, max_parts):
    """Divides parts among requests.

    Args:
        parts: List of strings.
        max_parts: Maximum number of parts in a request.

    Yields:
        The number of parts in each request: of `MAX_PART_CHARACTERS` together, or one.
    """
    count = size = 0
    for part in parts:
        if count and (count == max_parts or size + len(part) > MAX_PART_CHARACTERS):
            yield count
            count = size = 0
        count += 1
        size += len(part)
    if count:
        yield count


@dataclass(frozen=True)
class ServedTranslation:
    """One translation.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        normalized_score: The score divided by the length penalty; hypotheses are ranked by it.
    """

    text: str
    score: float
    normalized_score: float


@dataclass(frozen=True)
class ServedAlignment:
    """A translation in wordpieces, with the attention of each of them to the source.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        source_tokens: The S wordpieces of the source, including its end token.
        target_tokens: The T wordpieces of the translation, including its end token; empty for a
            text without words.
        weights: Float32 array `(T, S)`; each row sums to one.
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
        text: The translation, with the line breaks and spaces of the source.
        score: Sum of the log-probabilities of its sentences, in nats.
        num_sentences: Number of sentences that the source was split into.
    """

    text: str
    score: float
    num_sentences: int


class TranslationClient(abc.ABC):
    """A client of the signatures that `export_saved_model` writes; threads may share it.

    Args:
        model: Name under which the model is served.
        version: Number of a version, instead of `label`.
        label: A label in `models.config`. Default: `"stable"`, so that a new version answers
            nobody before somebody decides so. `None` asks for the newest version that the server
            has loaded, with or without a label; a server without labels needs it.
        deadline: Seconds for a request of up to `batch_size` texts, including retries; at most a
            day.
        batch_size: Maximum number of texts in a request. A server that makes batches refuses more
            than its `max_batch_size`.
        max_answer_bytes: Maximum size of an answer, 64 MB by default; a larger one raises a
            `BadAnswerError`. Once read, an answer can take ten times its size in memory.
        connect_timeout: Seconds to go on trying while nobody listens at the address, within the
            deadline. With a larger value, requests survive a restart of the server.
    """

    def __init__(
        self,
        model,
        version=None,
        label=_STABLE,
        deadline=60.0,
        batch_size=64,
        max_answer_bytes=64 * MEGABYTE,
        connect_timeout=5.0,
    ):
        if version is not None and label not in (_STABLE, None):
            raise ValueError(
                "Give `version` or `label`, not both. "
                f"Received: version={version}, label={label!r}."
            )
        self.model = checked_name("model", model)
        self.version = (
            None if version is None else _checked_integer("version", version, 0, _INT64_MAX)
        )
        has_label = label is not None and version is None
        self.label = checked_name("label", label) if has_label else None
        self.deadline = _checked_seconds("deadline", deadline)
        self.connect_timeout = _checked_seconds("connect_timeout", connect_timeout)
        self.batch_size = _checked_integer("batch_size", batch_size, 1, _INT32_MAX)
        self.max_answer_bytes = _checked_integer(
            "max_answer_bytes", max_answer_bytes, 1, _INT32_MAX
        )

    def translate(self, texts, placeables="translate"):
        """Returns the best translation of each text.

        Args:
            texts: List or tuple of strings. Of one with more wordpieces than the kit's limit, only
                the beginning is translated, unless the kit refuses it (`long_text="error"`).
            placeables: `"keep"` leaves URLs, `{name}` and the like unchanged, as in
                `TransformerSeq2SeqLM.translate`: such texts may take several requests, and
                their scores are those of texts with letters instead of the placeables.
                `"translate"` sends the texts as they are.

        Returns:
            List of `ServedTranslation`, one for each text, in order.

        Raises:
            ServingError: See its subclasses in `aiayn_keras.serving`.
            ValueError: If `texts` is not a list of strings that can be encoded as UTF-8, or
                `placeables` is unknown.
        """
        return [best for best, *_ in self._hypotheses(self._best, texts, placeables)]

    def translate_nbest(self, texts, placeables="translate"):
        """Returns a list of `ServedTranslation` for each text, best first; see `translate`."""
        return self._hypotheses(self._nbest, texts, placeables)

    def _hypotheses(self, ask, texts, placeables):
        """The `ServedTranslation`s of each text, best first, by `_best` or `_nbest`."""
        texts = check_texts("texts", texts)
        check_placeables(placeables)
        if placeables == "translate":
            return ask(texts)

        def translate(texts, _progress):
            return [
                as_translation([Hypothesis(**vars(each), tokens=()) for each in hypotheses])
                for hypotheses in ask(texts)
            ]

        return [
            [ServedTranslation(h.text, h.score, h.normalized_score) for h in each.hypotheses]
            for each in translate_placeables(texts, translate)
        ]

    def _best(self, texts):
        return [
            [ServedTranslation(text, float(score), float(normalized))]
            for answer in self._batches("serving_default", text=texts)
            for text, score, normalized in zip(
                answer["translation"], answer["score"], answer["normalized_score"], strict=True
            )
        ]

    def _nbest(self, texts):
        return [
            [
                ServedTranslation(text, float(score), float(normalized))
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

    def translate_documents(self, texts):
        """Returns a `ServedDocument` for each text, of any length; see `translate`.

        A long text is sent in parts of whole lines, which the answer joins: it is what one request
        would give, up to the rounding of scores. The deadline is that of each request. The model
        must have been exported with `documents=True`.

        Raises:
            ValueError: For a line of more than 50,000 characters, and as `translate`.
        """
        texts = check_texts("texts", texts)
        parts = [document_parts(f"`texts[{row}]`", text) for row, text in enumerate(texts)]
        answers = iter(self._document_answers([part for of_text in parts for part in of_text]))
        return [_joined(list(itertools.islice(answers, len(of_text)))) for of_text in parts]

    def _document_answers(self, parts):
        """Yields a `ServedDocument` for each part."""
        start = 0
        for size in request_sizes(parts, self.batch_size):
            answer = self._ask("translate_document", {"text": parts[start : start + size]})
            start += size
            for text, score, sentences in zip(
                answer["translation"], answer["score"], answer["sentences"], strict=True
            ):
                yield ServedDocument(text, float(score), int(sentences))

    def align(self, texts):
        """Returns a `ServedAlignment` for each text; see `translate`."""
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
        """Computes the log-probabilities of given translations, in nats.

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
            Dictionary of arrays for a signature that translates, aligns or scores. The outputs of
            any other signature are not checked: they are nested lists or arrays, as received.
        """
        checked_name("signature", signature)
        for name, values in inputs.items():
            if signature in OUTPUTS:
                check_texts(name, values)
            inputs[name] = check_list(name, values, "strings or numbers")
            if not len(values):
                raise ValueError(
                    f"`{name}` is empty. A server that makes batches never answers a request "
                    "without rows, and keeps one of its threads for it."
                )
        return self._ask(signature, inputs)

    @abc.abstractmethod
    def close(self):
        """Closes the connections."""

    @property
    @abc.abstractmethod
    def _server(self):
        """Address and model, for error messages."""

    @abc.abstractmethod
    def _predict(self, signature, inputs, seconds):
        """Sends one request and waits up to `seconds` for the answer."""

    def _ask(self, signature, inputs):
        try:
            outputs = call_with_retries(
                lambda seconds: self._predict(signature, inputs, seconds),
                self.deadline,
                self.connect_timeout,
            )
            if signature not in OUTPUTS:
                return outputs
            num_rows = max(map(len, inputs.values()), default=0)
            return check_outputs(signature, outputs, num_rows)
        except BadAnswerError as error:
            raise BadAnswerError(f"{self._server}, signature {signature}: {error}") from error
        except RequestRefusedError as error:
            # TensorFlow Serving says this of a model that it does not have, too.
            if self.label is None or "Unrecognized servable version label" not in str(error):
                raise
            raise RequestRefusedError(
                f"{error}. No model {self.model!r} with the label {self.label!r} is loaded: the "
                "name may be different, or the server has no labels (label=None or `--version "
                "newest`)."
            ) from error

    def _batches(self, signature, **inputs):
        (num_texts,) = {len(texts) for texts in inputs.values()}
        for start in range(0, num_texts, self.batch_size):
            end = start + self.batch_size
            yield self._ask(signature, {name: texts[start:end] for name, texts in inputs.items()})


def _joined(parts):
    return ServedDocument(
        "".join(part.text for part in parts),
        sum(part.score for part in parts),
        sum(part.num_sentences for part in parts),
    )


def _alignment(text, score, source_tokens, target_tokens, weights):
    source = tuple(token for token in source_tokens if token)
    target = tuple(token for token in target_tokens if token)
    weights = weights.astype("float32")[: len(target), : len(source)]
    return ServedAlignment(text, float(score), source, target, weights)


def checked_name(name, value):
    """Returns a name that can be part of a URL, or raises `ValueError`."""
    if not is_unicode(value) or not value.strip("."):
        raise ValueError(
            f"`{name}` must be a string that is not empty or only dots. "
            f"Received: {name}={value!r:.60}."
        )
    return value


def _checked_integer(name, value, minimum, maximum):
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or not minimum <= value <= maximum:
        raise ValueError(
            f"`{name}` must be an integer from {minimum} to {maximum}. "
            f"Received: {name}={value!r:.60}."
        )
    return int(value)


def _checked_seconds(name, value):
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or math.isnan(value) or not 0 < value <= _MAX_DEADLINE:
        raise ValueError(
            f"`{name}` must be a number of seconds above 0 and at most "
            f"{_MAX_DEADLINE:g}. Received: {name}={value!r:.60}."
        )
    return float(value)


def call_with_retries(call, deadline, connect_timeout):
    """Calls a function until it no longer raises `ServerUnavailableError`.

    Args:
        call: Function of the number of seconds left.
        deadline: Seconds for all calls and the waits between them.
        connect_timeout: Seconds for which calls that raise `NotListeningError` are repeated,
            counted from the beginning or from the last sign that a server listened.

    Returns:
        The result of `call`.

    Raises:
        ServerUnavailableError: The last one, once the next wait would miss the deadline.
        ServingError: Any other error, at once.
    """
    begin = time.monotonic()
    end = begin + deadline
    heard = 0.0  # seconds after the beginning at which somebody last listened

    def allowed(state):
        nonlocal heard
        if isinstance(state.outcome.exception(), NotListeningError):
            return min(deadline, heard + connect_timeout)
        heard = time.monotonic() - begin
        return deadline

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ServerUnavailableError),
        wait=tenacity.wait_exponential(FIRST_WAIT, MAX_WAIT)
        + tenacity.wait_random(0.0, FIRST_WAIT),
        stop=lambda state: tenacity.stop_before_delay(allowed(state))(state),
        before_sleep=lambda state: _log_first_wait(state, allowed(state)),
        reraise=True,
    )
    return retrying(lambda: call(max(end - time.monotonic(), 1e-3)))


def _log_first_wait(state, deadline):
    """Logs before the first wait what happened, and how long retries may take."""
    if state.attempt_number == 1:
        seconds_left = deadline - state.seconds_since_start
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds_left))
        reason = str(state.outcome.exception()).rstrip(".")
        LOG.info("%s. Trying again until %s (%g s).", reason, end, deadline)
