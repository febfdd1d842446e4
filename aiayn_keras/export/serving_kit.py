"""The files beside a model's versions: TensorFlow Serving's configuration and the model card."""

import dataclasses
import fcntl
import math

from aiayn_keras.export.kubernetes import (
    DASHBOARD,
    FILES,
    FOLDER,
    RULES,
    grafana_dashboard,
    in_mebibytes,
    kubernetes_files,
    memory_limit,
    name_pattern,
    pod_flags,
    prometheus_rules,
)
from aiayn_keras.export.model_card import model_card
from aiayn_keras.export.preparation import render
from aiayn_keras.export.server_files import (
    BATCH_SIZES,
    CONFIG,
    LABELS,
    NEWEST,
    ModelsConfig,
    check_name,
    kit_name,
)
from aiayn_keras.export.serving_options import VERSION_FILE, read_notes
from aiayn_keras_light.files import check_places, locked_folder, publish, writing_folder

MARK = "monitoring.config"
"""A file that every kit has, even if its versions and labels were taken away."""
MAX_VERSION = 2**62
MAX_RETRIES, _MIN_RETRY_SECONDS = 2, 30
"""Further attempts of a server to load a version, and the time between two of them."""
_NAMES = (
    "batching.config",
    MARK,
    RULES,
    DASHBOARD,
    "nginx.conf",
    "docker-compose.yml",
    "README.md",
    *(f"{FOLDER}/{name}" for name in FILES),
    CONFIG,
)
"""Paths of a kit's files beside the versions, in the order in which they are put in place."""


def check_kit(folder):
    """Checks that a folder's name and content are fit for another version, as `write_kit` needs.

    Args:
        folder: `pathlib.Path` of the folder `<name>`; it need not exist.

    Returns:
        The numbers of the versions that are there, in ascending order.

    Raises:
        FileExistsError: For a folder with files that do not belong to a kit.
        FileNotFoundError: For a version without notes.
        OSError: If there is a folder, a pipe or a device where a file should be, or a link where a
            folder should be.
        ValueError: For notes or a `models.config` that are not what the export writes, or a
            version's number out of range.
    """
    check_places(folder, _NAMES)
    check_name(kit_name(folder))
    versions, config = _version_folders(folder), folder / CONFIG
    if versions:
        _texts(versions, _following_config(config, versions))
    elif config.exists():
        _check_stable(config, _labels(config, {})["stable"], {})
    elif others := _files_of_others(folder):
        raise FileExistsError(
            f"{folder} holds other files, such as {others[0]}, and no exported model: an export "
            "might write over them. Choose another name or folder."
        )
    return list(versions)


def _files_of_others(folder):
    """Paths in a folder that no export wrote, hidden ones left out; none if it is a kit."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    is_kit = (folder / MARK).exists()
    return [] if is_kit else [path for path in paths if not path.name.startswith(".")]


def _version_folders(folder):
    """Finds the versions in a folder: a dictionary from number to path, in ascending order."""
    paths = list(folder.iterdir()) if folder.is_dir() else []
    versions = [path for path in paths if path.name.isascii() and path.name.isdecimal()]
    for path in versions:
        if path.name.startswith("0") or len(path.name) > 19 or int(path.name) > MAX_VERSION:
            raise ValueError(
                f"{path} is not a version, whose number is from 1 to {MAX_VERSION:,} and does not "
                "begin with a zero: move it away."
            )
    return {int(path.name): path for path in sorted(versions, key=lambda path: int(path.name))}


def _read_notes(version):
    path = version / VERSION_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: {version} was not written by this version of the package. Export "
            "into another folder, or move that version away."
        )
    return read_notes(path)


def _is_whole(version):
    """True if a version has notes, which the export writes."""
    try:
        _read_notes(version)
    except (OSError, ValueError):
        return False
    return True


def publishing_in(folder):
    """Waits until no other process publishes a version in a kit, and keeps others out meanwhile.

    It is a context manager, see `locked_folder`: no file of the lock lies among the versions.

    Args:
        folder: `pathlib.Path` of the kit, which exists.
    """
    return locked_folder(folder, fcntl.LOCK_EX)


def write_kit(folder, new=None):
    """Writes all files beside the versions in `folder`.

    All of them are made before the first one is put in its place; each appears whole or not at all.
    The labels stay where `models.config` has them, since a running server refuses a configuration
    that moves a label to a version that it has not loaded. Without `models.config`, `stable` is the
    oldest version and `canary` the newest. The server loads the newest version and those with a
    label; see `move_label` for the next step.

    Args:
        folder: `pathlib.Path` of the folder `<name>` with at least one version.
        new: Dictionary from the number of a version to its folder, where it is not in `folder` yet
            but will be moved there.

    Raises:
        FileNotFoundError: For a version without notes.
        OSError: If a file cannot be written, or something else is in its place.
        ValueError: For notes or a `models.config` that are not what the export writes.
    """
    paths = {**_version_folders(folder), **(new or {})}
    _write(folder, paths, _following_config(folder / CONFIG, paths))


def list_version(folder, version):
    """Lets the server load a version of a kit, and moves no label.

    Args:
        folder: `pathlib.Path` of the kit.
        version: Number of a version in it.

    Returns:
        Whether `models.config` did not list it yet.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: If there is no such version, and as `write_kit`.
    """
    paths, config = _checked_kit(folder, version)
    if version in config.versions:
        return False
    _check_stable(folder / CONFIG, config.labels["stable"], paths)
    _write(folder, paths, _with_versions(config, paths, version))
    return True


def move_label(folder, label, version):
    """Moves a label of a kit to a version. What the server has loaded stays loaded.

    Incomplete versions are left out of the kit's files, so that none of them is in the way.

    Args:
        folder: `pathlib.Path` of the kit.
        label: `"stable"` or `"canary"`.
        version: Number of a version in it. A running server must have loaded it: see
            `list_version`.

    Returns:
        The number of the version that had the label before.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: If the label or the version is unknown, and as `write_kit`.
    """
    _check_label(label)
    paths, config = _checked_kit(folder, version)
    old, before = config.labels[label], {**config.before}
    if version == before.get(label):
        del before[label]  # a step back, after which the next one would go forward
    elif version != old and old in paths:
        before[label] = old
    labels = {**config.labels, label: version}
    moved = dataclasses.replace(config, labels=labels, before=before)
    _check_stable(folder / CONFIG, moved.labels["stable"], paths)
    _write(folder, paths, _with_versions(moved, paths, old))
    return old


def version_before(folder, label):
    """Finds the version to which a label goes back.

    Args:
        folder: `pathlib.Path` of the kit.
        label: `"stable"` or `"canary"`.

    Returns:
        The number of the version that had the label before its last move.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: If the label is unknown, has not moved since the kit was made, it
            has gone back already, or its version is gone; and as `write_kit`.
    """
    _check_label(label)
    paths, config = _checked_kit(folder)
    if label not in config.before:
        raise ValueError(
            f"{folder} has no version that {label} could go back to: the label has not moved, or "
            "has gone back already. Name the version's number. There are: "
            f"{', '.join(map(str, paths))}."
        )
    return config.before[label]


def read_name(folder):
    """Reads the name under which a kit's model is served, which may differ from its folder's.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: If `models.config` is not what the export writes.
    """
    _check_is_kit(folder)
    return ModelsConfig.read(folder / CONFIG).name


def read_labels(folder):
    """Reads the labels of a kit: a dictionary from a label to a version's number.

    `canary` may be a version whose folder is gone, so that requests for it fail.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: If `models.config` is not what the export writes.
    """
    paths, config = _checked_kit(folder)
    _check_stable(folder / CONFIG, config.labels["stable"], paths)
    written = ModelsConfig.read(folder / CONFIG).labels
    return {label: written.get(label, number) for label, number in config.labels.items()}


def memory_needed(folder):
    """Computes the memory limit of a server of a kit's versions.

    Args:
        folder: `pathlib.Path` of the kit.

    Returns:
        Bytes: see `aiayn_keras.export.kubernetes.memory_limit`.

    Raises:
        FileNotFoundError: If the kit has no `models.config`.
        ValueError: As `write_kit`.
    """
    paths, config = _checked_kit(folder)
    notes = {number: _read_notes(path) for number, path in paths.items()}
    return _memory_limit(paths, notes, config.versions)


def _check_label(label):
    if label not in LABELS:
        raise ValueError(f"`label` must be one of {', '.join(LABELS)}. Received: {label!r:.100}.")


def _check_is_kit(folder):
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(
            f"{folder} is not a kit of TensorFlow Serving: it has no {CONFIG}. "
            "`aiayn-keras export saved-model` writes one."
        )


def _checked_kit(folder, version=None):
    """The complete versions of a kit, and its configuration without the versions that are gone.

    `stable` may be one of those: the label can then be moved.
    """
    _check_is_kit(folder)
    paths = _version_folders(folder)
    if version is not None and version not in paths:
        raise ValueError(
            f"{folder} has no version {version}. There are: {', '.join(map(str, paths)) or 'none'}."
        )
    # A folder that is half copied, or no version at all, must not block the way back.
    paths = {n: path for n, path in paths.items() if n == version or _is_whole(path)}
    labels = _labels(folder / CONFIG, paths)
    config = ModelsConfig.read(folder / CONFIG)
    before = {label: number for label, number in config.before.items() if number in paths}
    versions = [number for number in config.versions if number in paths]
    return paths, dataclasses.replace(config, labels=labels, versions=versions, before=before)


def _following_config(models_config, paths):
    """Makes a configuration that loads only the newest version and those with a label."""
    labels = _labels(models_config, paths)
    _check_stable(models_config, labels["stable"], paths)
    name = kit_name(models_config.parent)
    if not models_config.exists():
        return _with_versions(ModelsConfig(name, f"/models/{name}", labels, []), paths)
    config = ModelsConfig.read(models_config)
    before = {label: number for label, number in config.before.items() if number in paths}
    config = dataclasses.replace(config, labels=labels, versions=[], before=before)
    return _with_versions(config, paths)


def _with_versions(config, paths, *others):
    """Adds the newest version, those with a label, and others to a configuration."""
    versions = {*config.versions, *config.labels.values(), max(paths), *others} & {*paths}
    return dataclasses.replace(config, versions=sorted(versions))


def _write(folder, paths, config):
    texts = _texts(paths, config)
    check_places(folder, _NAMES)
    with writing_folder(folder) as written:
        for name in _NAMES:
            (written / name).parent.mkdir(exist_ok=True)
            if texts[name] is not None:
                (written / name).write_text(texts[name], encoding="utf-8")
        for name in _NAMES:
            (folder / name).parent.mkdir(exist_ok=True)
            if texts[name] is None:
                (folder / name).unlink(missing_ok=True)
            else:
                publish(written / name, folder / name)


def _texts(paths, config):
    """Makes the texts of a kit's files.

    Args:
        paths: Dictionary from a version's number to its folder.
        config: The `ModelsConfig` to write.

    Returns:
        Dictionary from each of `_NAMES` to the text, or to None for a file that must not be there.
    """
    name, labels, loaded = config.name, config.labels, config.versions
    versions = {number: _read_notes(path) for number, path in sorted(paths.items())}
    # Refusing a request for its length refuses the whole batch that it is in.
    batched = all(notes.options["long_text"] == "truncate" for notes in versions.values())
    load_seconds = max(notes.load_seconds or 0.0 for notes in versions.values())
    flags = server_flags(f"/models/{name}", batched, load_seconds)
    batching_config = _batching_config() if batched else None
    memory = _memory_limit(paths, versions, loaded)
    memory_of_a_release = _memory_limit(paths, versions, [*loaded, loaded[-1]])
    return {
        CONFIG: config.to_text(),
        "batching.config": batching_config,
        MARK: render(MARK),
        RULES: prometheus_rules(name),
        DASHBOARD: grafana_dashboard(name),
        "nginx.conf": render("nginx.conf", name=name, pattern=name_pattern(name)),
        "docker-compose.yml": _docker_compose(name, flags, memory_of_a_release),
        "README.md": model_card(name, versions, labels, loaded, flags, batched),
        **kubernetes_files(name, labels, loaded, flags, batching_config, memory),
    }


def server_flags(base_path, batched, load_seconds=0.0):
    """Lists the flags of `tensorflow_model_server` for a kit.

    Args:
        base_path: Path of the folder `<name>` on the server.
        batched: Whether the server batches requests.
        load_seconds: Time that loading and warming up the slowest version took. If the server
            gave up on a broken version sooner than the others are loaded, it would end, so its
            attempts last three times as long, and at least a minute.

    Returns:
        List of strings.
    """
    retry_seconds = max(_MIN_RETRY_SECONDS, math.ceil(3 * load_seconds / MAX_RETRIES))
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
        # By default four for each core. Requests wait in these threads for their batch: with few
        # threads batches stay small, and so does the autoscaler's metric. Each empty list of texts
        # that meets batching also holds one for good.
        "--rest_api_num_threads=64",
        # By default 30 seconds. The clients wait for 60.
        "--rest_api_timeout_in_ms=60000",
        # By default one thread loads, and tries five times a minute apart: a broken version would
        # keep the others from loading for minutes.
        "--num_load_threads=2",
        f"--max_num_load_retries={MAX_RETRIES}",
        f"--load_retry_interval_micros={retry_seconds}000000",
    ]
    if batched:
        flags += [
            "--enable_batching=true",
            f"--batching_parameters_file={base_path}/batching.config",
        ]
    return flags


def _labels(models_config, versions):
    """The version of each label, where `models.config` has it."""
    labels = {"stable": min(versions, default=None), "canary": max(versions, default=None)}
    if models_config.exists():
        written = ModelsConfig.read(models_config).labels
        labels["stable"] = written.get("stable", labels["stable"])
        if written.get("canary") in versions:
            labels["canary"] = written["canary"]
    return labels


def _check_stable(models_config, stable, versions):
    if stable is not None and stable not in versions:
        raise ValueError(
            f"{models_config} says that version {stable} is stable. There are: "
            f"{', '.join(map(str, versions)) or 'none'}. Put its folder back, move the label "
            "(`aiayn-keras release`), or delete the file."
        )


def _memory_limit(paths, versions, loaded):
    """`memory_limit` of the versions that are loaded."""
    sizes = [
        sum(path.stat().st_size for path in (paths[number] / "variables").glob("*"))
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


def _docker_compose(name, flags, memory):
    flags = [flag.replace("/batching.config", f"/{FOLDER}/batching.config") for flag in flags]
    return render(
        "docker-compose.yml",
        name=name,
        image=NEWEST.image,
        memory=in_mebibytes(memory, "m"),
        flags="\n".join(f'      - "{flag}"' for flag in pod_flags(flags)),
    )
