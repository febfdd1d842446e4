"""Writing a model folder: only one that can be loaded again, and whole or not at all."""

import os
from pathlib import Path

import keras

from aiayn_keras.backend import changes_of
from aiayn_keras.common.weight_files import check_number_format, check_room_for, halve_weight_file
from aiayn_keras.models.model_folder import TASK_CLASS, WEIGHTS, check_model_folder
from aiayn_keras_light.files import (
    check_places,
    publish,
    write_checksums,
    writing_folder,
)
from aiayn_keras_light.search_numbers import (
    SEARCH_FILE,
    check_search_defaults,
    write_search_defaults,
)


def write_model_folder(folder, save, model, last, weights="float32"):
    """Writes a preset into a folder; other files there stay.

    Args:
        folder: The folder; made if missing.
        save: Function that writes the preset to a path.
        model: The model that it writes.
        last: Name of the file that makes the folder a preset: it is removed first and written last.
        weights: Number format of float32 matrices in the file, `"float32"` or `"float16"`.

    Raises:
        OSError: If there is not enough room, or something that is not a regular file is in the
            way. The folder stays as it was.
        ValueError: For an empty path; if a layer was changed after it was built, or if the folder
            could not be loaded, because an activation has no name or the tokenizer is of a class of
            your own; for unknown `weights`, or a weight too large for them; or for wrong
            `search_defaults`. The folder stays as it was.
    """
    if not os.fspath(folder):
        raise ValueError("The path of a model folder must not be empty: '.' is the current one.")
    check_number_format(weights)
    defaults = check_search_defaults(model.search_defaults)
    _check_unchanged(model)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    check_room_for(model.variables, folder)
    with writing_folder(folder) as writing:
        save(str(writing))
        if weights == "float16":
            halve_weight_file(writing / WEIGHTS)
        write_search_defaults(writing, defaults)
        _check_can_be_loaded(model, writing)
        write_checksums(writing)
        written = [path for path in writing.rglob("*") if path.is_file()]
        check_places(folder, [path.relative_to(writing).as_posix() for path in written])
        (folder / last).unlink(missing_ok=True)
        if not defaults:
            (folder / SEARCH_FILE).unlink(missing_ok=True)
        for path in sorted(written, key=lambda path: path.name == last):
            target = folder / path.relative_to(writing)
            target.parent.mkdir(parents=True, exist_ok=True)
            publish(path, target)


def _check_unchanged(model):
    layers = model.backbone._flatten_layers()
    changed = {f"`{each.path}.{name}`" for each in layers for name in changes_of(each)}
    if changed:
        raise ValueError(
            "A model folder does not hold what was changed after the model was built: "
            f"{', '.join(sorted(changed))}. Make a subclass of the layer, see "
            "docs/change_a_part.md."
        )


def _check_can_be_loaded(model, folder):
    """Raises a `ValueError` for a folder that `from_preset` would refuse, of a plain model."""
    if keras.saving.get_registered_name(type(model)) != TASK_CLASS:
        return
    try:
        check_model_folder(folder)
    except ValueError as error:
        reason = str(error).replace(f"{folder}/", "")
        raise ValueError(
            "The model cannot be saved as a folder, which `TransformerSeq2SeqLM.from_preset` would "
            f"refuse: {reason} A subclass of `TransformerSeq2SeqLM` can be saved and loaded with "
            "parts of your own: see docs/change_a_part.md."
        ) from None
