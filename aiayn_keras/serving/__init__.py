"""Clients for a served model. They load no model; the REST client does not need TensorFlow."""

from aiayn_keras.serving.answers import (
    BadAnswerError,
    DeadlineExceededError,
    NotListeningError,
    RequestRefusedError,
    ServerUnavailableError,
    ServingError,
)
from aiayn_keras.serving.grpc_client import GrpcClient
from aiayn_keras.serving.rest_client import RestClient
from aiayn_keras.serving.translation_client import (
    ServedAlignment,
    ServedDocument,
    ServedTranslation,
)

__all__ = [
    "BadAnswerError",
    "DeadlineExceededError",
    "GrpcClient",
    "NotListeningError",
    "RequestRefusedError",
    "RestClient",
    "ServedAlignment",
    "ServedDocument",
    "ServedTranslation",
    "ServerUnavailableError",
    "ServingError",
]
