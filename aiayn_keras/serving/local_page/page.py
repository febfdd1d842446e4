"""The page as a WSGI application: its files, its routes, and errors as one sentence of JSON.

Its files, which the book copies, are in `serving/play_page`; those of its folder `onnx` run a model
in the browser, and only the book needs them.
"""

import json
import logging
import time
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import PurePosixPath
from string import Template
from typing import NamedTuple

from aiayn_keras.plotting.interactive_page import read_page, read_style
from aiayn_keras.serving.local_page import requests
from aiayn_keras.serving.local_page.requests import BadRequestError
from aiayn_keras.serving.local_page.server import BusyError, GoneError, Turns

VIEWS = ("attention", "search", "next", "own", "change", "folder")
"""Names of the page's views, in the order of their tabs."""

FRAMES = ("explorer", "decoding_steps")
"""Pages of `plotting/pages` that the page shows in frames, with the data of a sentence."""

_DATA = "@data@"
"""Placeholder for the data of a page in a frame, see `play_page/frame.js`."""
LOG = logging.getLogger(__name__)
_SECONDS_UNTIL_RETRY = 1
_BYTES = "application/octet-stream"
_NO_CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}


@dataclass(frozen=True)
class PageFacts:
    """Facts about the model that the page shows.

    Attributes:
        engine: What answers the page: `"python"`, or `"onnx"`, a worker in the browser.
        name: The model's name; None for the book's, which has a title of its own.
        languages: Language codes of source and target, or None if unknown.
        deploy: The command or file that leads to a production server, if any.
        views: Names of the views that have something to show, some of `VIEWS`.
        explores_any: Whether attention can be shown for all translations of a sentence, or only for
            the best one.
        takes_documents: Whether files can be translated.
        num_beams: Number of beams that the page begins with; None if it cannot be changed.
        length_penalty: Exponent α that it begins with; None if it cannot be changed.
        max_characters: Maximum length of a text.
        max_explored: Maximum characters of a sentence, and of a translation, that is looked into.
        max_watched: Maximum characters of a sentence whose search is shown.
        max_document_bytes: Maximum size of a file.
    """

    engine: str
    name: str | None
    languages: tuple[str, str] | None
    deploy: str | None
    views: tuple[str, ...]
    explores_any: bool = True
    takes_documents: bool = False
    num_beams: int | None = None
    length_penalty: float | None = None
    max_characters: int = requests.MAX_CHARACTERS
    max_explored: int = requests.MAX_EXPLORED
    max_watched: int = requests.MAX_WATCHED
    max_document_bytes: int = requests.MAX_DOCUMENT_BYTES


def page_files(facts):
    """Makes the files that both engines need.

    Args:
        facts: `PageFacts`.

    Returns:
        Dictionary from file names to texts, and the Content-Security-Policy that the page states.
    """
    texts = {path.name: path.read_text("utf-8") for path in _folder().iterdir() if path.is_file()}
    pages = [read_page(name) for name in FRAMES]
    for name, page in zip(FRAMES, pages, strict=True):
        texts[f"{name}.txt"] = page.filled(_DATA, policy=_frame_policy(page))
    texts["shared.css"] = read_style()
    policy = _policy(pages, facts.engine)
    # Only "<" could begin a comment or a tag that ends the script element.
    data = json.dumps(asdict(facts)).replace("<", r"\u003c")
    texts["index.html"] = Template(texts["index.html"]).substitute(policy=policy, facts=data)
    return texts, policy


def onnx_files():
    """Reads the files of the engine in the browser, a dictionary from paths to texts."""
    folder = _folder() / "onnx"
    return {f"onnx/{path.name}": path.read_text("utf-8") for path in folder.iterdir()}


def _folder():
    return resources.files("aiayn_keras.serving") / "play_page"


def _policy(pages, engine):
    """Policy of the page; its frames inherit it in addition to their own."""
    scripts = " ".join(page.script_source for page in pages)
    styles = " ".join(page.style_source for page in pages)
    own, worker = "'self'", ""
    if engine == "onnx":
        own, worker = "'self' 'wasm-unsafe-eval'", "worker-src 'self'; "
    return (
        f"default-src 'none'; connect-src 'self'; img-src data:; {worker}frame-src 'self'; "
        f"script-src {own} {scripts}; style-src 'self' {styles}; "
        "base-uri 'none'; form-action 'none'"
    )


def _frame_policy(page):
    return (
        f"default-src 'none'; img-src data:; script-src {page.script_source}; "
        f"style-src {page.style_source}; base-uri 'none'; form-action 'none'"
    )


class _Answer(NamedTuple):
    status: str
    content_type: str
    body: str | bytes
    headers: tuple[tuple[str, str], ...] = ()


class Application:
    """Answers the page's requests with a translator.

    Args:
        translator: A `FolderTranslator` or `KitTranslator`; one thread at a time uses it.
        facts: `PageFacts`.
        port: Number of the port, which requests must name.
    """

    def __init__(self, translator, facts, port):
        self._translator, self._port = translator, port
        self._files, policy = page_files(facts)
        self._policy = f"{policy}; frame-ancestors 'none'"
        self._turns = Turns()
        self._routes = {
            ("GET", "/"): self._show,
            **{("GET", f"/{name}"): self._show for name in self._files},
            ("POST", "/translate"): self._translate,
        }
        for view, path, answer in (
            ("attention", "/explore", self._explore),
            ("search", "/steps", self._steps),
            ("next", "/next", self._next),
            ("own", "/score", self._score),
        ):
            if view in facts.views:
                self._routes["POST", path] = answer
        if facts.takes_documents:
            self._routes["POST", "/document"] = self._document

    def __call__(self, environ, start_response):
        answer = self._answer(environ)
        is_text = isinstance(answer.body, str)
        body = answer.body.encode() if is_text else answer.body
        headers = {
            "Content-Type": f"{answer.content_type}; charset=utf-8" if is_text else _BYTES,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": _NO_CONTENT_POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            **dict(answer.headers),
        }
        start_response(answer.status, list(headers.items()))
        return [body]  # Waitress leaves it out for HEAD

    def _answer(self, environ):
        try:
            requests.check_sender(environ, self._port)
            return self._handler(environ)(environ)
        except BadRequestError as error:
            return _problem(error.status, str(error), *error.headers)
        except ValueError as error:
            return _problem("422 Unprocessable Content", str(error))
        except (BusyError, GoneError):
            retry = ("Retry-After", str(_SECONDS_UNTIL_RETRY))
            return _problem(
                "503 Service Unavailable", "Too many requests are waiting already.", retry
            )
        except Exception:
            LOG.exception("A request from the page failed.")
            reason = "The model failed; see the terminal that runs the page."
            return _problem("500 Internal Server Error", reason)

    def _handler(self, environ):
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        method = "GET" if method == "HEAD" else method
        allowed = [known for known, route in self._routes if route == path]
        if not allowed:
            raise BadRequestError("404 Not Found", "This page does not exist.")
        if method not in allowed:
            allow = ("Allow", ", ".join(allowed))
            raise BadRequestError("405 Method Not Allowed", f"Use {allow[1]}.", allow)
        return self._routes[method, path]

    def _show(self, environ):
        name = environ["PATH_INFO"].removeprefix("/") or "index.html"
        policy = ("Content-Security-Policy", self._policy)
        headers = (policy,) if name == "index.html" else ()
        return _Answer("200 OK", _TYPES[PurePosixPath(name).suffix], self._files[name], headers)

    def _translate(self, environ):
        request = requests.read_request(environ, requests.TranslateRequest)
        requests.check_length(request.text, requests.MAX_CHARACTERS)
        with self._turns.turn(_is_gone(environ)) as check_wanted:
            start = time.perf_counter()
            translation = self._translator.translate(
                request.text, check_wanted, request.num_beams, request.length_penalty
            )
            seconds = time.perf_counter() - start
        sentences = [
            {
                "source": sentence.source,
                "pieces": sentence.pieces,
                "hypotheses": [
                    hypothesis._asdict()
                    for hypothesis in sentence.hypotheses[: request.num_hypotheses]
                ],
            }
            for sentence in translation.sentences
        ]
        return _json({"translation": translation.text, "sentences": sentences, "seconds": seconds})

    def _explore(self, environ):
        request = requests.read_request(environ, requests.ExploreRequest)
        requests.check_length(request.source, requests.MAX_EXPLORED)
        requests.check_length(request.target, requests.MAX_EXPLORED)
        with self._turns.turn(_is_gone(environ)):
            return _json(self._translator.explore(request.source, request.target, request.ids))

    def _steps(self, environ):
        request = requests.read_request(environ, requests.StepsRequest)
        requests.check_length(request.source, requests.MAX_WATCHED)
        with self._turns.turn(_is_gone(environ)) as check_wanted:
            steps = self._translator.steps(
                request.source, check_wanted, request.num_beams, request.length_penalty
            )
        return _json(steps)

    def _next(self, environ):
        request = requests.read_request(environ, requests.NextRequest)
        requests.check_length(request.source, requests.MAX_EXPLORED)
        with self._turns.turn(_is_gone(environ)):
            found = self._translator.next_pieces(request.source, request.ids, request.count)
        return _json(found)

    def _score(self, environ):
        request = requests.read_request(environ, requests.ScoreRequest)
        requests.check_length(request.source, requests.MAX_EXPLORED)
        requests.check_length(request.target, requests.MAX_EXPLORED)
        with self._turns.turn(_is_gone(environ)):
            found = self._translator.score(request.source, request.target, request.length_penalty)
        return _json(found)

    def _document(self, environ):
        name, data = requests.read_document(environ)
        with self._turns.turn(_is_gone(environ)) as check_wanted:
            translated = self._translator.translate_document(name, data, check_wanted)
        return _Answer("200 OK", _BYTES, translated)


def _is_gone(environ):
    """Returns Waitress's function that tells whether the client closed the connection."""
    return environ.get("waitress.client_disconnected", lambda: False)


def _json(content, status="200 OK", headers=()):
    body = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return _Answer(status, "application/json", body, tuple(headers))


def _problem(status, message, *headers):
    return _json({"error": " ".join(message.split())}, status, headers)
