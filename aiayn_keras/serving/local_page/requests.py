"""Requests to the page's server: who may send them, how large they are, and what they hold."""

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.serving.local_page.sentences import MAX_HYPOTHESES

MAX_BYTES = 1 << 18
"""Bound on the body of a request; the longest texts take less, even as escaped JSON."""
MAX_CHARACTERS = 10_000
"""Bound on a text to translate, about four pages."""
MAX_EXPLORED = 1_000
"""Bound on a sentence whose attention is shown, and on its translation."""
MAX_WATCHED = 300
"""Bound on a sentence whose search is shown: it is searched several times, step by step."""


class RefusedError(Exception):
    """A request that gets a status and one sentence instead of an answer.

    Args:
        status: Number and reason, such as `"404 Not Found"`.
        message: The sentence.
        *headers: Pairs of name and value to send with it.
    """

    def __init__(self, status, message, *headers):
        super().__init__(message)
        self.status, self.headers = status, headers


class _Request(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class TranslateRequest(_Request):
    """A text, and how many translations of each sentence are wanted."""

    text: str
    num_hypotheses: int = pydantic.Field(default=1, ge=1, le=MAX_HYPOTHESES)


class ExploreRequest(_Request):
    """A sentence, and the translation that the attention is shown for."""

    source: str
    target: str


class StepsRequest(_Request):
    """A sentence, and the search for its translation is shown step by step."""

    source: str


def check_sender(environ, port):
    """Refuses a request that is not for this machine, or that another site's page sends.

    A foreign page reaches a loopback server by a name of its own that it lets point to 127.0.0.1;
    its name then stands in `Host`.

    Args:
        environ: Of WSGI.
        port: Number of the port that the server listens to.
    """
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
    if port == 80:
        hosts |= {"127.0.0.1", "localhost"}
    if environ.get("HTTP_HOST", "").lower() not in hosts:
        raise RefusedError("403 Forbidden", f"This server answers to http://127.0.0.1:{port} only.")
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
        raise RefusedError("403 Forbidden", "Pages of other sites may not ask this server.")


def read_request(environ, schema):
    """Reads the body of a POST as an object of a schema.

    Args:
        environ: Of WSGI.
        schema: A class of this module, such as `TranslateRequest`.
    """
    content_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise RefusedError("415 Unsupported Media Type", "Send JSON, as application/json.")
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > MAX_BYTES:
        raise RefusedError(
            "413 Content Too Large", f"A request has at most {MAX_BYTES:,} bytes, not {length:,}."
        )
    fields = ", ".join(f"`{name}`" for name in schema.model_fields)
    remedy = f"The fields are {fields}."
    try:
        return parse(schema, environ["wsgi.input"].read(length), "the request", remedy)
    except ValueError as error:
        raise RefusedError("400 Bad Request", str(error)) from error


def check_length(text, most):
    """Refuses a text of more than so many characters."""
    if len(text) > most:
        raise RefusedError(
            "413 Content Too Large",
            f"The text has {len(text):,} characters; this page takes at most {most:,} at once.",
        )
