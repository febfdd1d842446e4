"""The client for REST, JSON over HTTP; it needs no TensorFlow."""

import json

import urllib3

from aiayn_keras.serving.errors import (
    DeadlineExceededError,
    RequestRefusedError,
    ServerUnavailableError,
)
from aiayn_keras.serving.translation_client import TranslationClient

MAX_CONNECTIONS = 32
"""Greatest number of open connections kept for the threads that share a client."""

TOO_MANY_REQUESTS, UNAVAILABLE, TIMED_OUT = 429, 503, 504


class RestClient(TranslationClient):
    """Sends requests to TensorFlow Serving's REST API.

    Args:
        url: Address of the server, such as `"http://127.0.0.1:8501"`.
        model: Name by which the model is served.
        **options: See `TranslationClient`: `version`, `label`, `deadline` (60 seconds),
            `batch_size` (64).

    Example:
        >>> client = RestClient("http://127.0.0.1:8501", "demo_en_de")
        >>> client.translate(["The girl is happy."])[0].text  # doctest: +SKIP
        'Das Mädchen ist glücklich.'
    """

    def __init__(self, url, model, **options):
        super().__init__(model, **options)
        if urllib3.util.parse_url(url).scheme not in ("http", "https"):
            raise ValueError(f"`url` must begin with http:// or https://. Received: url={url!r}.")
        version_path = ""
        if self.version is not None:
            version_path = f"/versions/{self.version}"
        elif self.label is not None:
            version_path = f"/labels/{self.label}"
        self.url = f"{url.rstrip('/')}/v1/models/{model}{version_path}:predict"
        self._pool = urllib3.PoolManager(maxsize=MAX_CONNECTIONS, retries=False)

    def close(self):
        """Closes the connections."""
        self._pool.clear()

    def _predict(self, signature, inputs, seconds):
        body = {"signature_name": signature, "inputs": inputs}
        try:
            response = self._pool.request(
                "POST", self.url, json=body, timeout=urllib3.Timeout(total=seconds)
            )
        # urllib3 derives NewConnectionError from a timeout error, but nothing has waited.
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ProtocolError) as error:
            raise ServerUnavailableError(f"{self.url}: {error}") from error
        except urllib3.exceptions.TimeoutError as error:
            raise DeadlineExceededError(
                f"{self.url}: no answer within {self.deadline:g} seconds."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            raise RequestRefusedError(f"{self.url}: {error}") from error
        return self._outputs(response)

    def _outputs(self, response):
        try:
            answer = json.loads(response.data)
        except ValueError:
            answer = None
        if response.status == 200 and isinstance(answer, dict) and "outputs" in answer:
            return answer["outputs"]
        error = answer.get("error") if isinstance(answer, dict) else None
        reason = error or response.data[:200].decode("utf-8", errors="replace")
        message = f"{self.url}: HTTP {response.status}: {reason}"
        if response.status in (TOO_MANY_REQUESTS, UNAVAILABLE):
            raise ServerUnavailableError(message)
        if response.status == TIMED_OUT:
            raise DeadlineExceededError(message)
        raise RequestRefusedError(message)
