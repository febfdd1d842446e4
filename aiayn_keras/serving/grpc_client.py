"""The client for gRPC, with the messages of `tensorflow-serving-api`."""

from aiayn_keras.serving.errors import (
    DeadlineExceededError,
    RequestRefusedError,
    ServerUnavailableError,
)
from aiayn_keras.serving.translation_client import TranslationClient


class GrpcClient(TranslationClient):
    """Sends requests to TensorFlow Serving's PredictionService.

    Args:
        address: Host and port, such as `"127.0.0.1:8500"`.
        model: Name by which the model is served.
        credentials: `grpc.ChannelCredentials` for TLS; without them nothing is encrypted.
        **options: See `TranslationClient`: `version`, `label`, `deadline` (60 seconds),
            `batch_size` (64).

    Raises:
        ImportError: If TensorFlow or `tensorflow-serving-api` is not installed.

    Example:
        >>> client = GrpcClient("127.0.0.1:8500", "demo_en_de")
        >>> client.translate(["The girl is happy."])[0].text  # doctest: +SKIP
        'Das Mädchen ist glücklich.'
    """

    def __init__(self, address, model, credentials=None, **options):
        super().__init__(model, **options)
        try:
            import grpc
            from tensorflow_serving.apis import prediction_service_pb2_grpc
        except ImportError as error:
            raise ImportError(
                f"gRPC needs `{error.name}`: pip install tensorflow-serving-api, or use REST."
            ) from error
        self.address = address
        settings = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", -1),
            ("grpc.enable_retries", 0),  # `call_with_retries` does it for both clients
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 5000),
        ]
        self._channel = (
            grpc.insecure_channel(address, settings)
            if credentials is None
            else grpc.secure_channel(address, credentials, settings)
        )
        self._service = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def close(self):
        """Closes the connection."""
        self._channel.close()

    def _predict(self, signature, inputs, seconds):
        import grpc
        import tensorflow as tf

        try:
            response = self._service.Predict(self._request(signature, inputs), timeout=seconds)
        except grpc.RpcError as error:
            message = f"{self.address}, model {self.model}: {error.code().name}: {error.details()}"
            if error.code() == grpc.StatusCode.UNAVAILABLE:
                raise ServerUnavailableError(message) from error
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise DeadlineExceededError(
                    f"{self.address}, model {self.model}: no answer within "
                    f"{self.deadline:g} seconds."
                ) from error
            raise RequestRefusedError(message) from error
        return {name: _readable(tf.make_ndarray(value)) for name, value in response.outputs.items()}

    def _request(self, signature, inputs):
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = signature
        if self.version is not None:
            request.model_spec.version.value = self.version
        if self.label is not None:
            request.model_spec.version_label = self.label
        for name, value in inputs.items():
            is_text = not value or isinstance(value[0], str)
            request.inputs[name].CopyFrom(
                tf.make_tensor_proto(value, tf.string if is_text else tf.int32)
            )
        return request


def _readable(array):
    """Turns an array of bytes into nested lists of strings; returns another one unchanged."""

    def decoded(value):
        if isinstance(value, bytes):
            return value.decode("utf-8", errors="replace")
        return [decoded(element) for element in value]

    return decoded(array) if array.dtype == object else array
