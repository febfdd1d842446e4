"""The client for gRPC, with the messages of `tensorflow-serving-api`."""

from aiayn_keras.serving.arguments import checked_name
from aiayn_keras.serving.errors import (
    BadAnswerError,
    DeadlineExceededError,
    RequestRefusedError,
    ServerUnavailableError,
    one_line,
)
from aiayn_keras.serving.message_parts import check_num_parts
from aiayn_keras.serving.tensor_messages import arrays_of
from aiayn_keras.serving.translation_client import MEGABYTE, TranslationClient

METHOD = "/tensorflow.serving.PredictionService/Predict"


class GrpcClient(TranslationClient):
    """Sends requests to TensorFlow Serving's PredictionService.

    Args:
        address: Host and port, such as `"127.0.0.1:8500"`.
        model: Name by which the model is served.
        credentials: `grpc.ChannelCredentials` for TLS; without them nothing is encrypted.
        **options: See `TranslationClient`: `version`, `label`, `deadline` (60 seconds),
            `batch_size` (64), `max_answer_bytes` (64 MB).

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
            from tensorflow_serving.apis import predict_pb2  # noqa: F401 - said now if missing
        except ImportError as error:
            raise ImportError(
                f"gRPC needs `{error.name}`: pip install tensorflow-serving-api, or use REST."
            ) from error
        self.address = checked_name("address", address)
        settings = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", self.max_answer_bytes),
            ("grpc.enable_retries", 0),  # `call_with_retries` does it for both clients
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 5000),
        ]
        self._channel = (
            grpc.insecure_channel(address, settings)
            if credentials is None
            else grpc.secure_channel(address, credentials, settings)
        )
        self._call = self._channel.unary_unary(METHOD)  # bytes, so that they can be checked

    def close(self):
        """Closes the connection."""
        self._channel.close()

    @property
    def _server(self):
        return f"{self.address}, model {self.model}"

    def _predict(self, signature, inputs, seconds):
        import grpc

        request = self._request(signature, inputs).SerializeToString()
        try:
            answer = self._call(request, timeout=seconds)
        except grpc.RpcError as error:
            raise self._failure(error) from error
        return _outputs(answer)

    def _failure(self, error):
        """The error to raise for one of gRPC's."""
        import grpc

        code, details = error.code(), one_line(error.details() or "")
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceededError(
                f"{self._server}: no answer within {self.deadline:g} seconds."
            )
        if code == grpc.StatusCode.RESOURCE_EXHAUSTED and _is_too_large(details):
            return BadAnswerError(
                f"the answer is larger than {self.max_answer_bytes} bytes; "
                f"`max_answer_bytes` can be raised ({details})."
            )
        message = f"{self._server}: {code.name}: {details}"
        if code == grpc.StatusCode.UNAVAILABLE:
            return ServerUnavailableError(message)
        return RequestRefusedError(message)

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
            try:
                tensor = tf.make_tensor_proto(value, tf.string if is_text else tf.int32)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"`{name}` must be a list of strings, or nested lists of integers: {error}"
                ) from error
            request.inputs[name].CopyFrom(tensor)
        return request


def _is_too_large(details):
    """Whether the client's own side of gRPC has said so; the server says SERVER."""
    return "larger than max" in details and "SERVER" not in details


def _outputs(answer):
    from google.protobuf.message import DecodeError
    from tensorflow_serving.apis import predict_pb2

    if len(answer) > MEGABYTE:
        check_num_parts(answer)
    try:
        response = predict_pb2.PredictResponse.FromString(answer)
    except DecodeError as error:
        raise BadAnswerError(f"the answer is no PredictResponse: {error}.") from error
    return arrays_of(response.outputs)
