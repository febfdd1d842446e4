"""TensorFlow Serving's gRPC services: predictions, metadata and states, and the standard health."""

import logging
import math

from aiayn_keras.serving.model_server.refusals import NO_TABLES, RefusedError, invalid

LOG = logging.getLogger(__name__)

_MAX_ELEMENTS = 1 << 24
"""Maximum number of elements of an input; a message of a few bytes can ask for any number."""

_SIGNATURE_DEF = "signature_def"
_SERVING = 1
"""Number of the status in grpc.health.v1."""


def start_grpc(server, address, num_threads):
    """Opens a port for the services.

    Args:
        server: A `ModelServer`.
        address: Host and port; the port 0 is any free one.
        num_threads: Number of requests that are answered at a time.

    Returns:
        A `grpc.Server` that runs, and its port.

    Raises:
        RuntimeError: If the port is in use.
    """
    from concurrent import futures

    import grpc
    from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

    options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)]
    running = grpc.server(futures.ThreadPoolExecutor(num_threads, "gRPC"), options=options)
    prediction, model = _service_classes()
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(prediction(server), running)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(model(server), running)
    running.add_generic_rpc_handlers((_health_handler(),))
    port = running.add_insecure_port(address)
    running.start()
    return running, port


def _service_classes():
    """The services' classes, made where gRPC is used: it is imported late."""
    import grpc
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )

    class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
        def __init__(self, server):
            self._server = server

        def Predict(self, request, context):  # noqa: N802 - the service's name
            return _answered(context, self._predict, request)

        def GetModelMetadata(self, request, context):  # noqa: N802
            return _answered(context, self._metadata, request)

        def Classify(self, request, context):  # noqa: N802
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, NO_TABLES["classify"])

        def Regress(self, request, context):  # noqa: N802
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, NO_TABLES["regress"])

        def MultiInference(self, request, context):  # noqa: N802
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, "The model neither classifies nor regresses."
            )

        def _predict(self, request):
            with self._server.recorded(request.model_spec.name, "GRPC"):
                return self._prediction(request)

        def _prediction(self, request):
            signature = request.model_spec.signature_name or "serving_default"
            number, version = self._server.kit.find(*_model_spec(request.model_spec))
            specs = version.input_types(signature)
            if specs is None:
                raise RefusedError(
                    "FAILED_PRECONDITION", f'Serving signature key "{signature}" not found.'
                )
            _check_names({*request.inputs}, {*specs})
            _check_types(request.inputs, specs)
            inputs = {name: _array(name, value) for name, value in request.inputs.items()}
            wanted = list(request.output_filter)
            known = {*version.signature_defs[signature].outputs} if wanted else set()
            if unknown := [name for name in wanted if name not in known]:
                raise invalid(
                    f"output tensor alias not found in signature: {unknown[0]} Outputs expected to "
                    f"be in the set {_set(known)}."
                )
            outputs = self._server.predict(version, signature, inputs)
            response = predict_pb2.PredictResponse()
            response.model_spec.name = request.model_spec.name
            response.model_spec.signature_name = signature
            response.model_spec.version.value = number
            for name in wanted or outputs:
                response.outputs[name].CopyFrom(_tensor(outputs[name]))
            return response

        def _metadata(self, request):
            fields = list(request.metadata_field)
            if not fields:
                raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
            if {*fields} != {_SIGNATURE_DEF}:
                raise invalid("Metadata field %s is not supported")  # the server's own words
            number, version = self._server.kit.find(*_model_spec(request.model_spec))
            response = get_model_metadata_pb2.GetModelMetadataResponse()
            response.model_spec.name = request.model_spec.name
            response.model_spec.version.value = number
            signatures = get_model_metadata_pb2.SignatureDefMap()
            for name, signature in version.signature_defs.items():
                signatures.signature_def[name].CopyFrom(signature)
            response.metadata[_SIGNATURE_DEF].Pack(signatures)
            return response

    class ModelService(model_service_pb2_grpc.ModelServiceServicer):
        def __init__(self, server):
            self._server = server

        def GetModelStatus(self, request, context):  # noqa: N802
            return _answered(context, self._status, request)

        def HandleReloadConfigRequest(self, request, context):  # noqa: N802
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                "This server reads the kit's models.config: use `aiayn-keras release`.",
            )

        def _status(self, request):
            states = self._server.kit.states(*_model_spec(request.model_spec))
            response = get_model_status_pb2.GetModelStatusResponse()
            for number, (state, message) in states.items():
                row = response.model_version_status.add(version=number)
                row.state = get_model_status_pb2.ModelVersionStatus.State.Value(state)
                row.status.error_message = message
                row.status.error_code = 2 if message else 0  # UNKNOWN or OK
            return response

    return PredictionService, ModelService


def _answered(context, answer, request):
    """Answers a request, or ends it with the status of a `RefusedError`."""
    import grpc

    try:
        return answer(request)
    except RefusedError as error:
        code, message = grpc.StatusCode[error.code], str(error)
    except Exception as error:
        LOG.exception("A gRPC request failed")
        code, message = grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}"
    context.abort(code, message)


def _model_spec(spec):
    """The name, version and label of a `ModelSpec`."""
    if not spec.name:
        raise invalid("ModelSpec has no name specified.")
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label or None


def _check_names(sent, expected):
    if sent == expected:
        return
    raise invalid(
        f"input size does not match signature: {len(sent)}!={len(expected)} len({_set(sent)}) != "
        f"len({_set(expected)}). Sent extra: {_set(sent - expected)}. Missing but required: "
        f"{_set(expected - sent)}."
    )


def _set(names):
    return f"{{{','.join(sorted(names))}}}"


def _check_types(tensors, specs):
    """Refuses tensors of a type that a signature does not take, in TensorFlow's words."""
    import tensorflow as tf

    for position, (name, spec) in enumerate(specs.items()):
        try:
            received = tf.dtypes.as_dtype(tensors[name].dtype or tf.string.as_datatype_enum)
        except TypeError as error:  # a number that stands for no type
            raise invalid(f"Input `{name}` is not a tensor: {error}") from error
        if received.name != spec.dtype.name:
            raise invalid(
                f"Expects arg[{position}] to be {spec.dtype.name} but {received.name} is provided"
            )


def _array(name, tensor):
    """An array of a `TensorProto`."""
    import tensorflow as tf

    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0 or math.prod(shape) > _MAX_ELEMENTS:
        raise invalid(f"Input `{name}` may have up to {_MAX_ELEMENTS} elements. Received: {shape}.")
    try:
        return tf.make_ndarray(tensor)
    except (TypeError, ValueError) as error:
        raise invalid(f"Input `{name}` is not a tensor: {error}") from error


def _tensor(array):
    import tensorflow as tf

    return tf.make_tensor_proto(array)


def _health_handler():
    """The method Check of grpc.health.v1, whose two messages are one field each.

    On the wire they are a `StringValue` and a `UInt32Value`, so no package is needed for them.
    """
    import grpc
    from google.protobuf import wrappers_pb2

    def check(request, context):
        if request.value:
            context.abort(grpc.StatusCode.NOT_FOUND, "service name unknown")
        return wrappers_pb2.UInt32Value(value=_SERVING)

    method = grpc.unary_unary_rpc_method_handler(
        check,
        request_deserializer=wrappers_pb2.StringValue.FromString,
        response_serializer=wrappers_pb2.UInt32Value.SerializeToString,
    )
    return grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": method})
