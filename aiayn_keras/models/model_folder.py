"""A model folder: checked before it is loaded, and written so that it is whole.

The files are those of a KerasHub preset, and a list of their checksums.
"""

from pathlib import Path
from typing import ClassVar

import keras

from aiayn_keras.files import publish, write_checksums, writing_folder
from aiayn_keras.models.preset_checks import check_dtype, check_model_folder, checking_checksums
from aiayn_keras.models.preset_files import OF_TASK, TASK, WEIGHTS, find_preset
from aiayn_keras.models.preset_schemas import TASK_CLASS
from aiayn_keras.weight_files import (
    check_number_format,
    check_room_for,
    check_weight_file,
    halve_weight_file,
)


class ModelFolders:
    """Mixin of a KerasHub task: reads and writes its preset as a model folder."""

    # Pairs of functions for models of other toolkits, `is_foreign(preset)` and
    # `convert(preset, dtype)`; `aiayn_keras.convert` adds them.
    converters: ClassVar[list] = []

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model folder, or another preset that KerasHub finds.

        Args:
            preset: Path of a folder, or an address such as `"hf://user/model"`, whose files are
                downloaded and checked as a folder's are. A model of Hugging Face's Marian, such
                as `"hf://Helsinki-NLP/opus-mt-en-de"`, is converted, see `aiayn_keras.convert`.
            load_weights: Whether to load the weights.
            **kwargs: As in KerasHub, such as `dtype`.

        Raises:
            OSError: If a file of the folder is missing.
            ValueError: If a file of the folder is damaged or foreign, with its name; or for a
                `dtype` of a quantized model.
        """
        for is_foreign, convert in cls.converters if cls._is_ours() else ():
            if is_foreign(preset):
                if not load_weights:
                    raise ValueError("`load_weights` must be True for a model that is converted.")
                return convert(preset, **kwargs)
        if cls._is_ours():
            preset = find_preset(preset, OF_TASK)
        if not Path(preset).is_dir():
            return super().from_preset(str(preset), load_weights=load_weights, **kwargs)
        with checking_checksums(preset):
            if cls._is_ours():
                check_model_folder(preset)
                check_dtype(preset, kwargs.get("dtype"))
            return cls._load(super().from_preset, preset, load_weights, **kwargs)

    @classmethod
    def _is_ours(cls):
        """Whether this is the class of this package, not one derived from it."""
        return keras.saving.get_registered_name(cls) == TASK_CLASS

    @staticmethod
    def _load(from_preset, preset, load_weights, **kwargs):
        try:
            model = from_preset(str(preset), load_weights=load_weights, **kwargs)
        except (ValueError, KeyError, AttributeError, IndexError, TypeError) as error:
            if str(preset) in str(error):
                raise
            reason = " ".join(str(error).split())[:300]
            raise ValueError(f"{preset} cannot be loaded: {reason}") from error
        if model.preprocessor is not None:
            model.preprocessor.check_vocabulary_size(model.backbone.vocabulary_size)
        return model

    def load_task_weights(self, filepath):
        """Loads weights that a class derived from this one has beside the backbone's.

        Raises:
            OSError: If there is no such regular file.
            ValueError: If the model has no such weights, or the file is damaged.
        """
        if not self.has_task_weights():
            raise ValueError(
                f"{filepath} cannot be of this model: all its weights are in {WEIGHTS}. Delete it."
            )
        check_weight_file(filepath)
        super().load_task_weights(filepath)

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

        write_model_folder(preset_dir, save_files, self.variables, last=TASK)


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
