"""A kit's `models.config` and `batching.config`, as far as the server needs them."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.common.kit_files import parse_config, read_served_model

MAX_VERSION = 2**63 - 1
_MODELS_CONFIG, _BATCHING_CONFIG = "models.config", "batching.config"

# Names and numbers of the fields of TensorFlow Serving's `BatchingParameters` that are read here.
_BATCHING_NUMBERS = {
    "max_batch_size": 1,
    "batch_timeout_micros": 2,
    "max_enqueued_batches": 3,
    "num_batch_threads": 4,
}
_ALLOWED_SIZES = "allowed_batch_sizes", 6


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
    model, _ = read_served_model(Path(kit) / _MODELS_CONFIG)
    policy = model.model_version_policy
    is_specific = policy.HasField("specific")
    return ModelConfig(
        name=model.name,
        base_path=model.base_path.rstrip("/") or f"/models/{model.name}",
        labels=dict(model.version_labels),
        listed=tuple(policy.specific.versions) if is_specific else None,
        num_latest=None if policy.HasField("all") else policy.latest.num_versions or 1,
    )


def version_folders(kit):
    """Finds the versions of a kit, as TensorFlow Serving does: 007 is version 7.

    Args:
        kit: `pathlib.Path` of the kit.

    Returns:
        Dictionary from a version's number to its folder, or a link to one. Of `7` and `007` it has
        `7`. A number that does not fit into 64 bits is not a version.
    """
    names = [path.name for path in kit.iterdir() if path.is_dir()]
    names = sorted((name for name in names if name.isascii() and name.isdecimal()), key=len)
    folders = {int(name): kit / name for name in reversed(names)}
    return {number: folder for number, folder in folders.items() if number <= MAX_VERSION}


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
    path = Path(kit) / _BATCHING_CONFIG
    if not path.exists():
        return None
    message = _batching_message()()
    parse_config(path, message, allow_unknown_field=True)
    fields = {
        name: getattr(message, name).value for name in _BATCHING_NUMBERS if message.HasField(name)
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


@functools.cache
def _batching_message():
    """The class of the message `BatchingParameters`, which is in no Python package."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

    kinds = descriptor_pb2.FieldDescriptorProto
    value = wrappers_pb2.Int64Value.DESCRIPTOR
    file = descriptor_pb2.FileDescriptorProto(
        name="batching.proto", package="kit", syntax="proto2", dependency=[value.file.name]
    )
    message = file.message_type.add(name="BatchingParameters")
    for name, number in _BATCHING_NUMBERS.items():
        message.field.add(
            name=name,
            number=number,
            label=kinds.LABEL_OPTIONAL,
            type=kinds.TYPE_MESSAGE,
            type_name=f".{value.full_name}",
        )
    name, number = _ALLOWED_SIZES
    message.field.add(name=name, number=number, label=kinds.LABEL_REPEATED, type=kinds.TYPE_INT64)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(value.file.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("kit.BatchingParameters"))
