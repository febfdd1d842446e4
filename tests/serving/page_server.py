"""The local page of a model, served in a thread, and requests to it as no browser sends them."""

import contextlib
import http.client
import json
import threading
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.serving.local_page import Application, PageFacts, listen, open_server

SAVED_MODELS = Path(__file__).parents[2] / "saved_models"
FACTS = PageFacts(
    "demo", ("en", "de"), "a command", most_hypotheses=4, explores_any=True, shows_steps=True
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
        # Another's pull may run the function, which closes the trigger, before this one pulls.
        with contextlib.suppress(OSError):
            self._server.trigger.pull_trigger(lambda: close_all(connections, ignore_all=True))
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()
        self._opened.__exit__(*error)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, content=None, method="POST", **headers):
        """Sends JSON, or bytes as they are; headers are named `content_type` and so on."""
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
