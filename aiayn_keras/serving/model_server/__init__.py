"""A kit served as TensorFlow Serving serves it, without Docker, for trying and for small loads."""

from aiayn_keras.serving.model_server.configuration import (
    BatchingParameters,
    read_batching_config,
)
from aiayn_keras.serving.model_server.refusals import RefusedError
from aiayn_keras.serving.model_server.served_kit import POLL_SECONDS, ServedKit, ServedVersion
from aiayn_keras.serving.model_server.server import ModelServer, reserve_port

__all__ = [
    "POLL_SECONDS",
    "BatchingParameters",
    "ModelServer",
    "RefusedError",
    "ServedKit",
    "ServedVersion",
    "read_batching_config",
    "reserve_port",
]
