"""A model folder: checked before anything is built from its files, and written so that it is whole.

The files are those of a KerasHub preset, and a list of their checksums.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import keras

from aiayn_keras.files import (
    check_checksums,
    check_regular_file,
    publish,
    read_bytes,
    write_checksums,
    writing_folder,
)
from aiayn_keras.models.architecture import (
    LATER_OPTIONS,
    OPTIONS,
    check_architecture,
    count_weights,
)
from aiayn_keras.models.preset_schemas import (
    TASK_CLASS,
    Backbone,
    LayerConfig,
    Metadata,
    Preprocessor,
    Task,
    Tokenizer,
)
from aiayn_keras.schemas import parse
from aiayn_keras.weight_files import check_number_format, check_room_for, halve_weight_file

WEIGHTS = "model.weights.h5"
MOST_JSON_BYTES = 1 << 20
NO_MODEL = "It is no file of a model."
LEAST_BYTES_PER_WEIGHT = 0.5
"""Quantized to four bits."""


class ModelFolders:
    """Mixin of a KerasHub task: reads and writes its preset as a model folder."""

    # Pairs of functions for models of other toolkits, `is_foreign(preset)` and
    # `convert(preset, dtype)`; `aiayn_keras.convert` adds them.
    converters: ClassVar[list] = []

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model folder, or another preset that KerasHub finds.

        Args:
            preset: Path of a folder, or an address, see `keras_hub.models.Task.from_preset`. A
                model of Hugging Face's Marian, such as `"hf://Helsinki-NLP/opus-mt-en-de"`, is
                converted, see `aiayn_keras.convert`.
            load_weights: Whether to load the weights.
            **kwargs: As in KerasHub, such as `dtype`.

        Raises:
            OSError: If a file of the folder is missing.
            ValueError: If a file of the folder is damaged or foreign, with its name.
        """
        for is_foreign, convert in cls.converters if cls._is_ours() else ():
            if is_foreign(preset):
                if not load_weights:
                    raise ValueError("`load_weights` must be True for a model that is converted.")
                return convert(preset, **kwargs)
        is_folder = Path(preset).is_dir()
        with ThreadPoolExecutor(1) as pool:  # Checksums take as long as building the model.
            checksums = pool.submit(check_checksums, preset) if is_folder else None
            try:
                if is_folder and cls._is_ours():
                    check_model_folder(preset)
                return cls._load(super().from_preset, preset, load_weights, is_folder, **kwargs)
            finally:
                if checksums is not None:
                    checksums.result()  # Its error goes before what follows from a changed file.

    @classmethod
    def _is_ours(cls):
        """Whether this is the class of this package, not one derived from it."""
        return keras.saving.get_registered_name(cls) == TASK_CLASS

    @staticmethod
    def _load(from_preset, preset, load_weights, is_folder, **kwargs):
        try:
            model = from_preset(str(preset), load_weights=load_weights, **kwargs)
        except (ValueError, KeyError, AttributeError, IndexError, TypeError) as error:
            if not is_folder or str(preset) in str(error):
                raise
            reason = " ".join(str(error).split())[:300]
            raise ValueError(f"{preset} cannot be loaded: {reason}") from error
        if model.preprocessor is not None:
            model.preprocessor.check_vocabulary_size(model.backbone.vocabulary_size)
        return model

    def save_to_preset(self, preset_dir, max_shard_size=None, *, weights="float32"):
        """Writes a model folder, see `keras_hub.models.Task.save_to_preset`.

        The weights are one file; adapters of LoRA are merged into them. `task.json` appears last,
        when everything else is there.

        Args:
            preset_dir: Folder to fill; made if missing.
            max_shard_size: None; it is there because KerasHub's method has it.
            weights: Number format of float32 matrices in the file: `"float16"` halves them, which
                changes their last digits. Loaded, they are float32 again.

        Raises:
            OSError: If there is no room; what was there stays.
            ValueError: If `weights` is another, or a weight is too great for float16.
        """
        check_number_format(weights)
        if max_shard_size is not None:
            raise ValueError(
                "The weights of a model folder are one file: `max_shard_size` must be None. "
                f"Received: max_shard_size={max_shard_size!r}."
            )
        save = super().save_to_preset

        def save_files(folder):
            save(folder, max_shard_size=None)
            if weights == "float16":
                halve_weight_file(Path(folder) / WEIGHTS)

        write_model_folder(preset_dir, save_files, self.variables, last="task.json")


def check_model_folder(folder):
    """Checks the files of a model folder, as far as that needs no model.

    Args:
        folder: Path of the folder.

    Returns:
        The options of its backbone, checked, as a dictionary.

    Raises:
        OSError: If a file is missing, or is a pipe, a device or a folder.
        ValueError: If a file is not what `TransformerSeq2SeqLM.save_to_preset` writes, with its
            name and the field; or if the training in the folder is not finished.
    """
    folder = Path(folder)
    check_is_finished(folder)
    config = _read(folder / "config.json", Backbone).config
    options = _check_config(folder / "config.json", config)
    task = _read(folder / "task.json", Task).config
    if task.preprocessor is not None:
        _read(folder / "preprocessor.json", Preprocessor)
        _read(folder / "tokenizer.json", Tokenizer)
    if (folder / "metadata.json").exists():
        _read(folder / "metadata.json", Metadata)
    _check_config(folder / "task.json", task.backbone.config)
    if _sizes(task.backbone.config) != _sizes(config):
        raise ValueError(f"{folder / 'task.json'}: its backbone is not that of config.json.")
    weights = folder / WEIGHTS
    check_regular_file(weights)
    num_bytes = weights.stat().st_size
    if LEAST_BYTES_PER_WEIGHT * count_weights(options) > num_bytes:
        raise ValueError(
            f"{folder / 'config.json'} describes a model of {count_weights(options):,} weights, "
            f"more than the {num_bytes:,} bytes of {WEIGHTS} can hold."
        )
    return options


def check_is_finished(folder):
    """Raises a `ValueError` for the folder of a training that is not finished."""
    if (folder / "checkpoints").is_dir() and not (folder / "evaluation.json").is_file():
        raise ValueError(
            f"{folder} is no model folder: its training is not finished: go on with "
            "`aiayn-keras train`."
        )


def write_model_folder(folder, save, variables, last):
    """Writes a preset into a folder; other files there stay.

    Args:
        folder: The folder; made if missing.
        save: Function that writes the preset to a path.
        variables: The variables that it writes.
        last: Name of the file without which the folder is no preset: it is removed first and
            written last.

    Raises:
        OSError: If there is no room; the folder is as it was.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    check_room_for(variables, folder)
    with writing_folder(folder) as writing:
        save(str(writing))
        write_checksums(writing)
        written = [path for path in writing.rglob("*") if path.is_file()]
        (folder / last).unlink(missing_ok=True)
        for path in sorted(written, key=lambda path: path.name == last):
            target = folder / path.relative_to(writing)
            target.parent.mkdir(parents=True, exist_ok=True)
            publish(path, target)


def _read(path, schema):
    """The content of a JSON file, if it has the form of its schema."""
    return parse(schema, read_bytes(path, MOST_JSON_BYTES), path, NO_MODEL)


def _check_config(path, config):
    """The checked options of a backbone's configuration."""
    layer = {name: config[name] for name in config if name in LayerConfig.model_fields}
    options = LATER_OPTIONS | {name: config[name] for name in config if name not in layer}
    missing = [name for name in OPTIONS if name not in options]
    if missing:
        raise ValueError(f"{path}: field `config.{missing[0]}` is missing.")
    parse(LayerConfig, layer, path, NO_MODEL)
    activation = options.pop("activation")
    if not isinstance(activation, str):
        raise ValueError(f"{path}: `activation` must be a name. Received: {activation!r:.60}.")
    unknown = sorted(options.keys() - set(OPTIONS))
    try:
        return {**check_architecture(unknown, **options), "activation": activation}
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _sizes(config):
    """A backbone's configuration without what may differ between two files of one model."""
    return {name: value for name, value in config.items() if name not in ("name", "dtype")}
