"""Models of other toolkits, known by their files."""

import json
from pathlib import Path

from aiayn_keras.convert.hub import ADDRESS, download
from aiayn_keras.convert.marian import (
    CONFIG,
    MOST_CONFIG_BYTES,
    WEIGHT_FILES,
    convert_marian,
)
from aiayn_keras.convert.marian_vocabulary import FILES as VOCABULARY_FILES
from aiayn_keras.files import read_bytes

FORMATS = "Hugging Face's Marian (config.json)"


def is_foreign(preset):
    """Whether a path or address is of a model of another toolkit that can be converted.

    Args:
        preset: Path of a folder, or an address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
    """
    if str(preset).startswith(ADDRESS):
        return _is_marian(download(str(preset), [CONFIG]))
    return _is_marian(Path(preset))


def convert(preset, dtype=None):
    """Makes a model of ours of another toolkit's.

    Args:
        preset: Path of a folder, or an address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM`.

    Raises:
        OSError: If a file is missing, or the hub cannot be reached.
        ValueError: If the format is not known, or a file is damaged or of another architecture.
    """
    if not is_foreign(preset):
        raise ValueError(f"{preset} is no model that can be converted. Known are: {FORMATS}.")
    if str(preset).startswith(ADDRESS):
        preset = download(str(preset), [CONFIG, *VOCABULARY_FILES], WEIGHT_FILES)
    return convert_marian(preset, dtype=dtype)


def _is_marian(folder):
    path = folder / CONFIG
    if not path.is_file():
        return False
    try:
        config = json.loads(read_bytes(path, MOST_CONFIG_BYTES))
    except (ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "marian"
