"""Requests to the page's server: the checks they must pass, their content and their answers."""

import urllib.parse
from typing import Annotated, NamedTuple

import pydantic

from aiayn_keras_light.checks import parse

_MAX_REQUEST_BYTES = 1 << 18
"""Maximum size of a request's body; the longest texts are shorter, even as escaped JSON."""

MAX_DOCUMENT_BYTES = 1 << 22
"""Maximum size of a document."""

MAX_CHARACTERS = 10_000
"""Maximum length of a text to translate, about four pages."""

MAX_EXPLORED = 1_000
"""Maximum characters of a sentence whose attention is shown, and of its translation."""

MAX_WATCHED = 300
"""Maximum characters of a sentence whose search is shown: it is searched several times."""

MAX_HYPOTHESES = 10
"""Maximum number of translations shown for a sentence."""


_MAX_NAME = 255


class BadRequestError(Exception):
    """A request that is answered with a status and one sentence.

    Args:
        status: Number and reason, such as `"404 Not Found"`.
        message: The sentence.
        *headers: Headers to send with it, as pairs of name and value.
    """

    def __init__(self, status, message, *headers):
        super().__init__(message)
        self.status, self.headers = status, headers


_TokenIds = Annotated[list[Annotated[int, pydantic.Field(ge=0)]], pydantic.Field(max_length=2048)]


class _Request(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class TranslateRequest(_Request):
    """A text to translate, and the number of translations wanted for each sentence.

    The search has `num_beams` and the exponent `length_penalty`, or the translator's own.
    """

    text: str
    num_hypotheses: int = pydantic.Field(default=1, ge=1, le=MAX_HYPOTHESES)
    num_beams: int | None = None
    length_penalty: float | None = None


class ExploreRequest(_Request):
    """A sentence and the translation whose attention is to be shown, as text and as ids."""

    source: str
    target: str
    ids: _TokenIds | None = None


class StepsRequest(_Request):
    """A sentence whose search is to be shown step by step."""

    source: str
    num_beams: int | None = None
    length_penalty: float | None = None


class NextRequest(_Request):
    """A sentence and the beginning of a translation; `count` pieces that may follow are named."""

    source: str
    ids: _TokenIds
    count: int = pydantic.Field(default=12, ge=1, le=100)


class ScoreRequest(_Request):
    """A sentence and a translation of the reader's own, to be scored piece by piece."""

    source: str
    target: str
    length_penalty: float | None = None


class PageHypothesis(NamedTuple):
    """A translation of a sentence.

    Attributes:
        text: The translation.
        score: Its log-probability in nats.
        normalized_score: The score divided by the length penalty; hypotheses are ranked by it.
        pieces: List of its `named` pieces, the end included; None if they are not known.
    """

    text: str
    score: float
    normalized_score: float
    pieces: list[dict] | None = None


class PageSentence(NamedTuple):
    """A sentence of a text.

    Attributes:
        source: The sentence, without surrounding space.
        hypotheses: Tuple of `PageHypothesis`, best first.
        pieces: List of its `named` pieces as the encoder reads them; None if they are not known.
    """

    source: str
    hypotheses: tuple[PageHypothesis, ...]
    pieces: list[dict] | None = None


class PageTranslation(NamedTuple):
    """The answer to a `TranslateRequest`.

    Attributes:
        text: The best translation, with the line breaks, blank lines and indents of the source.
        sentences: Tuple of `PageSentence`, in order.
    """

    text: str
    sentences: tuple[PageSentence, ...]


def check_sender(environ, port):
    """Refuses requests that are addressed elsewhere or sent by a page of another site.

    A foreign site can let its own name point to 127.0.0.1 to reach this server; the name then
    appears in the `Host` header.

    Args:
        environ: WSGI environment.
        port: Port that the server listens on.
    """
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    if port == 80:
        hosts |= {"127.0.0.1", "localhost"}
    if environ.get("HTTP_HOST", "").lower() not in hosts:
        raise BadRequestError(
            "403 Forbidden", f"This server only answers to http://127.0.0.1:{port}."
        )
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        raise BadRequestError("403 Forbidden", "Pages of other sites may not use this server.")


def read_request(environ, schema):
    """Reads the body of a POST request.

    Args:
        environ: WSGI environment.
        schema: A class of this module, such as `TranslateRequest`.

    Returns:
        An object of that class.
    """
    body = _read_body(environ, "application/json", _MAX_REQUEST_BYTES, "A request")
    fields = ", ".join(f"`{name}`" for name in schema.model_fields)
    remedy = f"The fields are {fields}."
    try:
        return parse(schema, body, "the request", remedy)
    except ValueError as error:
        raise BadRequestError("400 Bad Request", str(error)) from error


def read_document(environ):
    """Reads the body of a POST request with a file, whose name is `name` in the query.

    Args:
        environ: WSGI environment.

    Returns:
        The file's name, and its bytes.
    """
    (name,) = urllib.parse.parse_qs(environ["QUERY_STRING"]).get("name") or ("",)
    if not name or not name.isprintable() or len(name) > _MAX_NAME:
        raise BadRequestError(
            "400 Bad Request",
            f"Name the file in `name`, with 1 to {_MAX_NAME} printable characters. "
            f"Received: {name[:_MAX_NAME]!r}.",
        )
    kind = "application/octet-stream"
    return name, _read_body(environ, kind, MAX_DOCUMENT_BYTES, "A document")


def _read_body(environ, content_type, maximum, subject):
    received = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if received != content_type:
        kind = "JSON" if content_type == "application/json" else "the file"
        raise BadRequestError("415 Unsupported Media Type", f"Send {kind}, as {content_type}.")
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > maximum:
        raise BadRequestError(
            "413 Content Too Large",
            f"{subject} may have at most {maximum:,} bytes. Received: {length:,} bytes.",
        )
    return environ["wsgi.input"].read(length)


def check_length(text, maximum):
    """Refuses a text that has too many characters."""
    if len(text) > maximum:
        raise BadRequestError(
            "413 Content Too Large",
            f"The text has {len(text):,} characters; this page takes at most {maximum:,} at once.",
        )
