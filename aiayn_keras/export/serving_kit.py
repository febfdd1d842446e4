"""The files beside a model's versions: configuration of TensorFlow Serving, and the model card."""

import json

from aiayn_keras.export.model_card import model_card
from aiayn_keras.export.template_files import render
from aiayn_keras.export.warmup_requests import BATCH_SIZES
from aiayn_keras.files import write_text

VERSION_FILE = "assets.extra/export.json"
"""Notes of `export_saved_model` in a version's folder."""


def read_versions(folder):
    """Reads the notes of `export_saved_model` on every version in a folder.

    Args:
        folder: `pathlib.Path`; it need not exist.

    Returns:
        Dictionary from a version's number to its notes, in ascending order.

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
    """Writes all files beside the versions in `folder`; each appears whole or not at all.

    The newest version gets the label `canary`. The label `stable` stays where `models.config` has
    it, and is the oldest version's if there is no `models.config`; it is moved by hand.

    Args:
        folder: `pathlib.Path` of the folder `<name>` with at least one version.
    """
    name = folder.resolve().name
    versions = read_versions(folder)
    # Refusing a request for its length refuses the whole batch that it is in.
    batched = all(notes["options"]["long_text"] == "truncate" for notes in versions.values())
    flags = server_flags(f"/models/{name}", batched)
    labels = _labels(folder / "models.config", versions)
    files = {
        "models.config": _models_config(name, labels),
        "batching.config": _batching_config() if batched else None,
        "monitoring.config": render("monitoring.config"),
        "docker-compose.yml": _docker_compose(name, flags),
        "README.md": model_card(name, versions, labels, flags, batched),
    }
    for file_name, text in files.items():
        if text is None:
            (folder / file_name).unlink(missing_ok=True)
        else:
            write_text(folder / file_name, text)


def server_flags(base_path, batched):
    """Lists the flags of `tensorflow_model_server` for a kit.

    Args:
        base_path: Path of the folder `<name>` on the server.
        batched: Whether the server makes batches of requests.

    Returns:
        List of strings.
    """
    flags = [
        f"--model_config_file={base_path}/models.config",
        "--model_config_file_poll_wait_seconds=60",
        # Without it a label may only name a loaded version, and at the start none is loaded.
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={base_path}/monitoring.config",
        # A search is a chain of small operations: several requests at a time use the cores better
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
    """Chooses the version of each label."""
    stable = min(versions)
    if models_config.is_file():
        (model,) = _parse_models_config(models_config).model_config_list.config
        stable = model.version_labels.get("stable", stable)
    if stable not in versions:
        raise ValueError(
            f"{models_config} says that version {stable} is stable, but there are only "
            f"{', '.join(map(str, versions))}: correct the label."
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
    # The number of batch threads is the server's default, its number of cores.
    return render(
        "batching.config",
        max_batch_size=BATCH_SIZES[-1],
        allowed_batch_sizes="\n".join(f"allowed_batch_sizes: {size}" for size in BATCH_SIZES),
    )


def _docker_compose(name, flags):
    return render(
        "docker-compose.yml", name=name, flags="\n".join(f'      - "{flag}"' for flag in flags)
    )
