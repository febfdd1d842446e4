"""A kit's `models.config` and `batching.config`, in the text format of protocol buffers.

The messages are stated here, since `BatchingParameters` is in no Python package, and since a kit
can be served over REST without `tensorflow-serving-api`. Fields that are not stated are skipped.
"""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras_light.files import read_bytes

MODELS_CONFIG, BATCHING_CONFIG = "models.config", "batching.config"
MAX_CONFIG_BYTES = 1 << 20

_MESSAGES = {
    "ModelServerConfig": {"model_config_list": (1, "ModelConfigList")},
    "ModelConfigList": {"config": (1, "repeated ModelConfig")},
    "ModelConfig": {
        "name": (1, "string"),
        "base_path": (2, "string"),
        "model_platform": (4, "string"),
        "model_version_policy": (7, "Policy"),
        "version_labels": (8, "repeated Label"),
    },
    "Label": {"key": (1, "string"), "value": (2, "int64")},  # of a map, in which the last counts
    "Policy": {
        "latest": (100, "Latest"),
        "all": (101, "All"),
        "specific": (102, "Specific"),
    },
    "Latest": {"num_versions": (1, "int64")},
    "All": {},
    "Specific": {"versions": (1, "repeated int64")},
    "BatchingParameters": {
        "max_batch_size": (1, "Number"),
        "batch_timeout_micros": (2, "Number"),
        "max_enqueued_batches": (3, "Number"),
        "num_batch_threads": (4, "Number"),
        "allowed_batch_sizes": (6, "repeated int64"),
    },
    "Number": {"value": (1, "int64")},
}
"""Number and type of each field of the messages of TensorFlow Serving that are read here."""


@dataclass(frozen=True)
class ModelConfig:
    """The one model of a `models.config`.

    Attributes:
        name: Name under which it is served.
        base_path: Its folder on the server for which the kit was made, a label of its metrics.
        labels: Dictionary from a label to a version's number.
        listed: Tuple of the numbers of the versions to load; None if a policy chooses them.
        num_latest: Number of versions that the policy `latest` loads; None for the policy `all`.
    """

    name: str
    base_path: str
    labels: dict[str, int]
    listed: tuple[int, ...] | None
    num_latest: int | None

    def wanted(self, present):
        """Chooses the versions to load.

        Args:
            present: The numbers of the versions that exist.

        Returns:
            Set of some of them.
        """
        if self.listed is not None:
            return {*self.listed} & {*present}
        return {*sorted(present)[-self.num_latest if self.num_latest else 0 :]}


@dataclass(frozen=True)
class BatchingParameters:
    """Limits of the batches of requests; the defaults are TensorFlow Serving's.

    Attributes:
        max_batch_size: Maximum number of rows in a batch.
        batch_timeout_micros: Microseconds that a batch waits for more requests.
        max_enqueued_batches: Maximum number of batches that wait, for each signature of a version.
        num_batch_threads: Number of batches that are computed at a time.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = os.cpu_count() or 1


def read_models_config(kit):
    """Reads the `models.config` of a kit.

    Args:
        kit: `pathlib.Path` of the kit.

    Returns:
        A `ModelConfig`.

    Raises:
        OSError: If there is none.
        ValueError: If it is not the configuration of one model.
    """
    path = Path(kit) / MODELS_CONFIG
    models = _parsed(path, "ModelServerConfig").model_config_list.config
    if len(models) != 1 or not models[0].name:
        raise ValueError(
            f"{path} must configure one model, with a name. Received: {len(models)} models."
        )
    (model,) = models
    policy = model.model_version_policy
    is_specific = policy.HasField("specific")
    return ModelConfig(
        name=model.name,
        base_path=model.base_path.rstrip("/") or f"/models/{model.name}",
        labels={label.key: label.value for label in model.version_labels},
        listed=tuple(policy.specific.versions) if is_specific else None,
        num_latest=None if policy.HasField("all") else policy.latest.num_versions or 1,
    )


def read_batching_config(kit):
    """Reads the `batching.config` of a kit.

    Args:
        kit: `pathlib.Path` of the kit.

    Returns:
        `BatchingParameters`, or None for a kit without such a file, which is served without
        batches.

    Raises:
        ValueError: If the file has other content, or a number that is not positive.
    """
    path = Path(kit) / BATCHING_CONFIG
    if not path.exists():
        return None
    message = _parsed(path, "BatchingParameters")
    fields = {
        name: getattr(message, name).value
        for name in BatchingParameters.__dataclass_fields__
        if message.HasField(name)
    }
    parameters = BatchingParameters(**fields)
    for name, value in fields.items():
        if value < (0 if name == "batch_timeout_micros" else 1):
            raise ValueError(f"`{name}` in {path} must be positive. Received: {value}.")
    sizes = list(message.allowed_batch_sizes)
    if sizes and (sizes != sorted({*sizes}) or sizes[-1] != parameters.max_batch_size):
        raise ValueError(
            f"`allowed_batch_sizes` in {path} must grow, and end with `max_batch_size`, "
            f"{parameters.max_batch_size}. Received: {', '.join(map(str, sizes))}."
        )
    return parameters


def _parsed(path, name):
    from google.protobuf import text_format

    message = _message_classes()[name]()
    try:
        text = read_bytes(path, MAX_CONFIG_BYTES).decode("utf-8")
        return text_format.Parse(text, message, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TensorFlow Serving configuration: {error}") from error


@functools.cache
def _message_classes():
    """The classes of `_MESSAGES`, by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="kit.proto", package="kit", syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, (number, words) in fields.items():
            kind = words.split()[-1]
            field = described.field.add(name=name, number=number)
            is_repeated = words != kind
            field.label = kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL
            if kind in _MESSAGES:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".kit.{kind}"
            else:
                field.type = kinds.TYPE_STRING if kind == "string" else kinds.TYPE_INT64
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"kit.{name}"))
        for name in _MESSAGES
    }
