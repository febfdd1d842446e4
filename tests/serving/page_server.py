"""The local page served in a thread, requests no browser would send, and doubles of translators."""

import contextlib
import dataclasses
import http.client
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from aiayn_keras.plotting.interactive_page import explorer_data
from aiayn_keras.serving.local_page import Application, PageFacts, listen, open_server
from aiayn_keras.serving.local_page.requests import PageHypothesis, PageSentence, PageTranslation

SAVED_MODELS = Path(__file__).parents[2] / "saved_models"
FACTS = PageFacts(
    engine="python",
    name="demo",
    languages=("en", "de"),
    deploy="a command",
    views=("attention", "search", "next", "own"),
    takes_documents=True,
    num_beams=4,
    length_penalty=0.6,
)
KIT_FACTS = dataclasses.replace(
    FACTS,
    views=("attention",),
    explores_any=False,
    takes_documents=False,
    num_beams=None,
    length_penalty=None,
)


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        return json.loads(self.body)


class PageServer:
    """Serves the page of a translator on a free port until the block ends."""

    def __init__(self, translator, facts):
        self._listener = listen(0)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._opened = open_server(Application(translator, facts, self.port), self._listener)

    def __enter__(self):
        self._server = self._opened.__enter__()
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._server.task_dispatcher.shutdown()
        close_all, connections = self._server.asyncore.close_all, self._server._map
        # The function, which closes the trigger, may run for a different pull before this one.
        with contextlib.suppress(OSError):
            self._server.trigger.pull_trigger(lambda: close_all(connections, ignore_all=True))
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()
        self._opened.__exit__(*error)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, content=None, method="POST", **headers):
        """Sends JSON, or bytes unchanged; headers are passed as `content_type` and so on."""
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            names = {"content-type": "application/json", **names}
        connection = self.connect()
        try:
            connection.request(method, path, body, names)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()


class WaitingTranslatorDouble:
    """A test double that returns the text, but only once it is allowed to."""

    def __init__(self):
        self.started, self.may_end = threading.Semaphore(0), threading.Semaphore(0)
        self.texts, self.abandoned = [], []

    def translate(self, text, report, num_beams=None, length_penalty=None):
        self._wait(text, report)
        sentence = PageSentence(text, (PageHypothesis(text, 0.0, 0.0),))
        return PageTranslation(text, (sentence,))

    def explore(self, source, target, ids):
        return explorer_of(target)

    def steps(self, source, report, num_beams=None, length_penalty=None):
        self._wait(source, report)
        return {}

    def _wait(self, text, report):
        self.texts.append(text)
        self.started.release()
        try:
            while not self.may_end.acquire(timeout=0.01):
                report()
        except Exception:
            self.abandoned.append(text)
            self.started.release()
            raise


class FailingTranslatorDouble:
    """A test double that always fails."""

    def translate(self, text, report, num_beams=None, length_penalty=None):
        raise KeyError("secret")


class EchoTranslatorDouble:
    """A test double that translates each line to itself, with a second hypothesis."""

    def translate(self, text, report, num_beams=None, length_penalty=None):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        hypotheses = [
            (PageHypothesis(line, -1.0, -0.5), PageHypothesis(f"{line} 2", -2.0, -1.0))
            for line in lines
        ]
        return PageTranslation(text, tuple(map(PageSentence, lines, hypotheses)))

    def explore(self, source, target, ids):
        return explorer_of(target)


def explorer_of(target):
    """Data of an explorer of one weight, whose title is the translation."""
    maps = SimpleNamespace(
        source_tokens=["a"],
        target_tokens=["<s>"],
        encoder=None,
        decoder=None,
        cross=np.ones((1, 1, 1, 1)),
    )
    return explorer_data(maps, target)
