"""TensorFlow Serving's messages that its Python package leaves out.

Fields and numbers are those of `session_bundle_config.proto` and `monitoring_config.proto` in
https://github.com/tensorflow/serving.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto
_INT64 = ".google.protobuf.Int64Value"


def _message_class(file_name, messages, main):
    """The class of one of several messages, in a pool that nobody else sees."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name=file_name,
        package="tensorflow.serving",
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    for message_name, fields in messages.items():
        message = file.message_type.add(name=message_name)
        for number, (name, kind) in enumerate(fields.items(), start=1):
            field = message.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL)
            if kind == "repeated int64":
                field.type, field.label = _FIELD.TYPE_INT64, _FIELD.LABEL_REPEATED
            elif kind in ("bool", "string"):
                field.type = {"bool": _FIELD.TYPE_BOOL, "string": _FIELD.TYPE_STRING}[kind]
            else:
                field.type, field.type_name = _FIELD.TYPE_MESSAGE, kind
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tensorflow.serving.{main}"))


def batching_parameters():
    """An empty `BatchingParameters`."""
    fields = {
        "max_batch_size": _INT64,
        "batch_timeout_micros": _INT64,
        "max_enqueued_batches": _INT64,
        "num_batch_threads": _INT64,
        "thread_pool_name": ".google.protobuf.StringValue",
        "allowed_batch_sizes": "repeated int64",
        "pad_variable_length_inputs": "bool",
    }
    messages = {"BatchingParameters": fields}
    return _message_class("session_bundle_config.proto", messages, "BatchingParameters")()


def monitoring_config():
    """An empty `MonitoringConfig`."""
    messages = {
        "PrometheusConfig": {"enable": "bool", "path": "string"},
        "MonitoringConfig": {"prometheus_config": ".tensorflow.serving.PrometheusConfig"},
    }
    return _message_class("monitoring_config.proto", messages, "MonitoringConfig")()
