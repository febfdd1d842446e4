"""The files beside a model's versions: TensorFlow Serving's configuration and the model card."""

import re

from aiayn_keras.common.files import read_bytes, write_text
from aiayn_keras.export.kubernetes import kubernetes_files, memory_limit
from aiayn_keras.export.model_card import model_card
from aiayn_keras.export.preparation import render
from aiayn_keras.export.server_versions import NEWEST
from aiayn_keras.export.serving_options import VERSION_FILE, read_notes
from aiayn_keras.export.warmup_requests import BATCH_SIZES

MAX_CONFIG_BYTES = 1 << 20
MARK = "monitoring.config"
"""A file that every kit has, even if its versions and labels were taken away."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(name):
    """Raises a ValueError for a model's name that paths, URLs and configurations do not take."""
    if not NAME.fullmatch(name):
        raise ValueError(
            "The name of a served model is 1 to 100 letters of ASCII, digits, `.`, `_` and `-`, "
            f"the first a letter or a digit. Received: {name!r:.120}."
        )


def check_kit(folder):
    """Checks that a folder's name and content are fit for another version.

    Args:
        folder: `pathlib.Path` of the folder `<name>`; it need not exist.

    Returns:
        The numbers of the versions that are there, in ascending order.

    Raises:
        FileExistsError: For a folder with files that do not belong to a kit.
        FileNotFoundError: For a version without notes.
        ValueError: For notes or a `models.config` that are not what the export writes.
    """
    check_name(folder.resolve().name)
    versions, config = _read_versions(folder), folder / "models.config"
    if versions or config.exists():
        _labels(config, versions)
    elif others := _files_of_others(folder):
        raise FileExistsError(
            f"{folder} holds other files, such as {others[0]}, and no exported model: an export "
            "might write over them. Choose another name or folder."
        )
    return list(versions)


def _files_of_others(folder):
    """Paths in a folder that no export wrote; none of hidden ones, or if the folder is a kit."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    is_kit = (folder / MARK).exists()
    return [] if is_kit else [path for path in paths if not path.name.startswith(".")]


def _read_versions(folder):
    """Reads the notes of `export_saved_model` on every version in a folder.

    Args:
        folder: `pathlib.Path`; it need not exist.

    Returns:
        Dictionary from a version's number to its notes, in ascending order.

    Raises:
        FileNotFoundError: For a version without notes.
        ValueError: For notes that the export did not write.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    notes = {}
    for number in sorted(int(name) for name in names if name.isascii() and name.isdecimal()):
        path = folder / str(number) / VERSION_FILE
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: {path.parents[1]} was not written by this version of the "
                "package. Export into another folder, or move that version away."
            )
        notes[number] = read_notes(path)
    return notes


def write_kit(folder):
    """Writes all files beside the versions in `folder`; each appears whole or not at all.

    The newest version gets the label `canary`. The label `stable` stays where `models.config` has
    it, and belongs to the oldest version if there is no `models.config`; it is moved by hand.

    Args:
        folder: `pathlib.Path` of the folder `<name>` with at least one version.
    """
    name = folder.resolve().name
    versions = _read_versions(folder)
    # Refusing a request for its length refuses the whole batch that it is in.
    batched = all(notes.options["long_text"] == "truncate" for notes in versions.values())
    flags = server_flags(f"/models/{name}", batched)
    labels = _labels(folder / "models.config", versions)
    batching_config = _batching_config() if batched else None
    memory = _memory_limit(folder, versions, labels)
    files = {
        "models.config": _models_config(name, labels),
        "batching.config": batching_config,
        MARK: render(MARK),
        "docker-compose.yml": _docker_compose(name, flags),
        "README.md": model_card(name, versions, labels, flags, batched),
        **kubernetes_files(name, labels, flags, batching_config, memory),
    }
    for file_name, text in files.items():
        (folder / file_name).parent.mkdir(exist_ok=True)
        if text is None:
            (folder / file_name).unlink(missing_ok=True)
        else:
            write_text(folder / file_name, text)


def server_flags(base_path, batched):
    """Lists the flags of `tensorflow_model_server` for a kit.

    Args:
        base_path: Path of the folder `<name>` on the server.
        batched: Whether the server batches requests.

    Returns:
        List of strings.
    """
    flags = [
        f"--model_config_file={base_path}/models.config",
        "--model_config_file_poll_wait_seconds=60",
        # Without it a label may only name a loaded version, and at the start none is loaded. One
        # that is in use still may: a running server does not move `canary` to a new version.
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
    stable = min(versions, default=None)
    if models_config.is_file():
        stable = _parse_models_config(models_config).version_labels.get("stable", stable)
    if stable is not None and stable not in versions:
        raise ValueError(
            f"{models_config} says that version {stable} is stable. There are: "
            f"{', '.join(map(str, versions)) or 'none'}. Correct the label, or delete the file."
        )
    return {"stable": stable, "canary": max(versions, default=None)}


def _parse_models_config(path):
    """The one model of a `models.config`."""
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    try:
        text = read_bytes(path, MAX_CONFIG_BYTES).decode("utf-8")
        config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TensorFlow Serving configuration: {error}") from error
    models = config.model_config_list.config
    if len(models) != 1:
        raise ValueError(f"{path} must configure one model. Received: {len(models)} models.")
    return models[0]


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


def _memory_limit(folder, versions, labels):
    """`memory_limit` of the versions with a label."""
    loaded = sorted(set(labels.values()))
    sizes = [
        sum(path.stat().st_size for path in (folder / str(number) / "variables").glob("*"))
        for number in loaded
    ]
    return memory_limit([versions[number] for number in loaded], sizes)


def _batching_config():
    # The number of batch threads is the server's default, its number of cores.
    return render(
        "batching.config",
        max_batch_size=BATCH_SIZES[-1],
        allowed_batch_sizes="\n".join(f"allowed_batch_sizes: {size}" for size in BATCH_SIZES),
    )


def _docker_compose(name, flags):
    return render(
        "docker-compose.yml",
        name=name,
        image=NEWEST.image,
        flags="\n".join(f'      - "{flag}"' for flag in flags),
    )
