"""The files beside a model's versions: how TensorFlow Serving is to run them."""

import json

from aiayn_keras.export.model_card import model_card
from aiayn_keras.export.warmup import BATCH_SIZES
from aiayn_keras.files import write_text

VERSION_FILE = "assets.extra/export.json"
MONITORING = """prometheus_config {
  enable: true
  path: "/monitoring/prometheus/metrics"
}
"""


def read_versions(folder):
    """What `export_saved_model` has noted of every version in a folder, by number, in order.

    Raises:
        FileNotFoundError: For a version without notes.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    notes = {}
    for number in sorted(int(name) for name in names if name.isdecimal()):
        path = folder / str(number) / VERSION_FILE
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: {path.parents[1]} was not written by this version of the "
                "package. Export into another folder, or move that version away."
            )
        notes[number] = json.loads(path.read_text(encoding="utf-8"))
    return notes


def write_kit(folder):
    """Writes everything beside the versions in `folder`, each file in one go.

    The newest version gets the label `canary`. `stable` stays with the version that has it in the
    `models.config` there is, at first the oldest; whoever operates the server moves it.

    Args:
        folder: `pathlib.Path` of the folder `<name>` with at least one version.
    """
    name = folder.resolve().name
    versions = read_versions(folder)
    # A request that is refused for its length would take along those it was batched with.
    batched = all(facts["options"]["long_text"] == "truncate" for facts in versions.values())
    flags = server_flags(f"/models/{name}", batched)
    labels = _labels(folder / "models.config", versions)
    files = {
        "models.config": _models_config(name, labels),
        "batching.config": _batching_config() if batched else None,
        "monitoring.config": MONITORING,
        "docker-compose.yml": _docker_compose(name, flags),
        "README.md": model_card(name, versions, labels, flags),
    }
    for file_name, text in files.items():
        if text is None:
            (folder / file_name).unlink(missing_ok=True)
        else:
            write_text(folder / file_name, text)


def server_flags(base_path, batched):
    """Flags of `tensorflow_model_server` for a kit.

    Args:
        base_path: Where the server sees the folder `<name>`.
        batched: Whether the server makes batches of requests.
    """
    flags = [
        f"--model_config_file={base_path}/models.config",
        "--model_config_file_poll_wait_seconds=60",
        # Else a label may name only what is loaded already, which nothing is at the start.
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={base_path}/monitoring.config",
        # A search is a chain of small operations: several requests at once use the cores better
        # than several threads in each operation.
        "--tensorflow_intra_op_parallelism=1",
    ]
    if batched:
        flags += [
            "--enable_batching=true",
            f"--batching_parameters_file={base_path}/batching.config",
        ]
    return flags


def _labels(models_config, versions):
    """Versions by label."""
    stable = min(versions)
    if models_config.is_file():
        (model,) = _parse_models_config(models_config).model_config_list.config
        stable = model.version_labels.get("stable", stable)
    if stable not in versions:
        raise ValueError(
            f"{models_config} says that version {stable} is stable, but there are only "
            f"{', '.join(map(str, versions))}: mend the label."
        )
    return {"stable": stable, "canary": max(versions)}


def _parse_models_config(path):
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    try:
        return text_format.Parse(
            path.read_text(encoding="utf-8"), model_server_config_pb2.ModelServerConfig()
        )
    except text_format.ParseError as error:
        raise ValueError(f"{path} is no TensorFlow Serving configuration: {error}") from error


def _models_config(name, labels):
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    config = model_server_config_pb2.ModelServerConfig()
    model = config.model_config_list.config.add(
        name=name, base_path=f"/models/{name}", model_platform="tensorflow"
    )
    model.model_version_policy.specific.versions.extend(sorted(set(labels.values())))
    model.version_labels.update(labels)
    return text_format.MessageToString(config)


def _batching_config():
    lines = [  # as many threads as the server has cores, its default
        f"max_batch_size {{ value: {BATCH_SIZES[-1]} }}",
        "batch_timeout_micros { value: 2000 }",
        "max_enqueued_batches { value: 64 }",
        *(f"allowed_batch_sizes: {size}" for size in BATCH_SIZES),
    ]
    return "\n".join(lines) + "\n"


def _docker_compose(name, flags):
    lines = [
        "services:",
        "  serving:",
        "    image: tensorflow/serving",
        "    restart: unless-stopped",
        "    ports:",
        '      - "127.0.0.1:8500:8500"  # gRPC',
        '      - "127.0.0.1:8501:8501"  # REST and metrics',
        "    volumes:",
        f'      - ".:/models/{name}:ro"',
        "    command:",
        *(f'      - "{flag}"' for flag in flags),
    ]
    return "\n".join(lines) + "\n"
