"""A file server on this machine, and vocabularies."""

import http.server
import io
import threading

import pytest
import sentencepiece


class FileServer:
    """Serves bytes from memory at loopback addresses and counts the requests."""

    def __init__(self):
        self.files = {}
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                data = outer.files.get(self.path)
                if isinstance(data, list):
                    data = data.pop(0)
                self.send_response(200 if data is not None else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,))
        self.thread.start()

    def serve(self, name, data):
        """Serve bytes (or, request by request, a list of them), and give their address."""
        self.files[f"/{name}"] = data
        return f"http://127.0.0.1:{self.http.server_port}/{name}"

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch):
    """A file server that no proxy stands in front of."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    files = FileServer()
    yield files
    files.close()


@pytest.fixture(scope="session")
def learn_vocabulary():
    """A function that learns a SentencePiece model from both sides of a text."""

    def learn(text, size, model_type="bpe"):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*text.sources, *text.targets]),
            model_writer=model,
            vocab_size=size,
            model_type=model_type,
            character_coverage=1.0,
            pad_id=0,
            unk_id=1,
            bos_id=2,
            eos_id=3,
            minloglevel=2,
        )
        return model.getvalue()

    return learn
