"""gRPC answers with TensorFlow Serving's messages and codes."""

import json

import pytest

from aiayn_keras.serving import RestClient
from tests.serving.model_server.conftest import write_config

grpc = pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")
tf = pytest.importorskip("tensorflow")


@pytest.fixture
def channel(start_server):
    server = start_server()
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        yield channel


@pytest.fixture
def predict(channel):
    """Function of a `PredictRequest`'s parts that sends it."""
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

    def predict(texts=("a", "b"), name="small", version=None, output_filter=(), **spec):
        request = predict_pb2.PredictRequest(output_filter=output_filter)
        request.model_spec.name = name
        for field, value in spec.items():
            setattr(request.model_spec, field, value)
        if version is not None:
            request.model_spec.version.value = version
        if texts is not None:
            request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts))
        return stub.Predict(request, timeout=60)

    return predict


def test_a_prediction_names_its_version_and_signature(predict):
    answer = predict(version_label="stable")
    spec = answer.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("small", 1, "serving_default")
    assert tf.make_ndarray(answer.outputs["translation"]).tolist() == [b"a", b"b"]
    assert set(answer.outputs) == {"translation", "score", "normalized_score"}


@pytest.mark.parametrize(
    ("request_parts", "code", "message"),
    [
        ({"name": ""}, "INVALID_ARGUMENT", "ModelSpec has no name specified."),
        ({"name": "x"}, "NOT_FOUND", "Servable not found for request: Latest(x)"),
        ({"version": 7}, "NOT_FOUND", "Servable not found for request: Specific(small, 7)"),
        ({"version_label": "x"}, "INVALID_ARGUMENT", "Unrecognized servable version label: x"),
        (
            {"signature_name": "x"},
            "FAILED_PRECONDITION",
            'Serving signature key "x" not found.',
        ),
        (
            {"texts": [1, 2]},
            "INVALID_ARGUMENT",
            "Expects arg[0] to be string but int32 is provided",
        ),
        (
            {"texts": None},
            "INVALID_ARGUMENT",
            "input size does not match signature: 0!=1 len({}) != len({text}). Sent extra: {}. "
            "Missing but required: {text}.",
        ),
    ],
)
def test_errors_have_the_servers_codes_and_words(predict, request_parts, code, message):
    with pytest.raises(grpc.RpcError) as error:
        predict(**request_parts)
    assert (error.value.code().name, error.value.details()) == (code, message)


def test_outputs_are_filtered(running_server):
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    with grpc.insecure_channel(f"127.0.0.1:{running_server.grpc_port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = predict_pb2.PredictRequest(output_filter=["score"])
        request.model_spec.name = "small"
        request.inputs["text"].CopyFrom(tf.make_tensor_proto(["Ja."]))
        assert [*stub.Predict(request, timeout=60).outputs] == ["score"]
        request.output_filter.append("x")
        with pytest.raises(grpc.RpcError, match="alias not found in signature: x Outputs expected"):
            stub.Predict(request, timeout=60)


def test_a_small_message_cannot_ask_for_much_memory(channel):
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    request.model_spec.name = "small"
    tensor = tf.make_tensor_proto([b"a"])
    tensor.tensor_shape.dim[0].size = 1 << 40
    request.inputs["text"].CopyFrom(tensor)
    with pytest.raises(grpc.RpcError, match="may have up to 16777216 elements"):
        prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=60)


def test_a_number_that_stands_for_no_type_is_refused(channel):
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    request = predict_pb2.PredictRequest()
    request.model_spec.name = "small"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([b"a"]))
    request.inputs["text"].dtype = 999
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    with pytest.raises(grpc.RpcError, match="Input `text` is not a tensor") as raised:
        stub.Predict(request, timeout=60)
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_states_and_their_errors_are_listed(echo_kit, start_server):
    from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

    write_config(echo_kit, [1, 2], stable=1)
    server = start_server({"broken": {2}, "retry_seconds": 3_600})
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "small"
        rows = stub.GetModelStatus(request, timeout=60).model_version_status
        assert [(row.version, row.State.Name(row.state)) for row in rows] == [
            (2, "LOADING"),
            (1, "AVAILABLE"),
        ]
        assert [row.status.error_message for row in rows] == ["broken on purpose", ""]
        request.model_spec.version.value = 9
        with pytest.raises(grpc.RpcError, match="Could not find version 9 of model small"):
            stub.GetModelStatus(request, timeout=60)


def test_the_metadata_are_those_of_rest(running_server):
    from google.protobuf import json_format
    from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

    with grpc.insecure_channel(f"127.0.0.1:{running_server.grpc_port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = get_model_metadata_pb2.GetModelMetadataRequest()
        request.model_spec.name = "small"
        with pytest.raises(grpc.RpcError, match="must specify at least one metadata_field"):
            stub.GetModelMetadata(request, timeout=60)
        request.metadata_field.append("signature_def")
        answer = stub.GetModelMetadata(request, timeout=60)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    found = json_format.MessageToDict(
        signatures,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
    client = RestClient(f"http://127.0.0.1:{running_server.rest_port}", "small", label=None)
    status, _, body = client._exchange("GET", f"{client._status_url}/metadata", None, 60)
    client.close()
    assert status == 200
    assert json.loads(body)["metadata"]["signature_def"] == found
    assert answer.model_spec.version.value == 2


def test_the_standard_health_check_is_answered(channel):
    from google.protobuf import wrappers_pb2

    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check",
        request_serializer=wrappers_pb2.StringValue.SerializeToString,
        response_deserializer=wrappers_pb2.UInt32Value.FromString,
    )
    assert check(wrappers_pb2.StringValue(), timeout=60).value == 1  # SERVING
    with pytest.raises(grpc.RpcError, match="service name unknown"):
        check(wrappers_pb2.StringValue(value="x"), timeout=60)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("PredictionService/Classify", "Expected one or two output Tensors, found 3"),
        ("PredictionService/Regress", "Expected one output Tensor."),
        ("PredictionService/MultiInference", "neither classifies nor regresses"),
        ("ModelService/HandleReloadConfigRequest", "use `aiayn-keras release`"),
    ],
)
def test_what_a_translator_cannot_do_is_refused(channel, method, message):
    with pytest.raises(grpc.RpcError, match=message):
        channel.unary_unary(f"/tensorflow.serving.{method}")(b"", timeout=60)
