"""Models of other toolkits, known by their files."""

import json
from pathlib import Path

from aiayn_keras.common.files import read_bytes
from aiayn_keras.convert.ctranslate2 import convert_ctranslate2
from aiayn_keras.convert.marian import (
    CONFIG,
    MAX_CONFIG_BYTES,
    WEIGHT_FILES,
    convert_marian,
)
from aiayn_keras.convert.marian_vocabulary import FILES as VOCABULARY_FILES
from aiayn_keras.hub import download, is_address

ENGINE_WEIGHTS = "model.bin"
FORMATS = (
    "a folder of Hugging Face's Marian (config.json with model_type marian), a folder of "
    "CTranslate2 (model.bin), and checkpoints with their vocabularies: of fairseq (--dictionary; "
    "`convert_fairseq`), OpenNMT-tf and tensor2tensor (--vocabulary; `convert_opennmt_tf`, "
    "`convert_tensor2tensor`)"
)


def is_foreign(preset):
    """Whether a path or an address is of another toolkit's model that `convert` takes.

    Args:
        preset: Path of a folder, or an address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
    """
    return _converter(preset) is not None


def convert(preset, dtype=None):
    """Makes a model of ours of another toolkit's.

    Args:
        preset: Path of a folder of Hugging Face's Marian or of CTranslate2, or an address such as
            `"hf://Helsinki-NLP/opus-mt-en-de"`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM`.

    Raises:
        OSError: If a file is missing, or the hub cannot be reached.
        ValueError: If the format is not known, or a file is damaged or of another architecture.
    """
    if not is_address(preset) and not Path(preset).exists():
        raise FileNotFoundError(f"{preset} does not exist.")
    converter = _converter(preset)
    if converter is None:
        raise ValueError(f"{preset} is no model that can be converted. Known are: {FORMATS}.")
    if is_address(preset):
        preset = download(str(preset), [CONFIG, *VOCABULARY_FILES], WEIGHT_FILES)
    return converter(preset, dtype=dtype)


def _converter(preset):
    """The function that converts a folder or what is at an address, or None."""
    folder = download(str(preset), [CONFIG]) if is_address(preset) else Path(preset)
    if _is_marian(folder):
        return convert_marian
    if not is_address(preset) and (folder / ENGINE_WEIGHTS).is_file():
        return convert_ctranslate2
    return None


def _is_marian(folder):
    path = folder / CONFIG
    if not path.is_file():
        return False
    try:
        config = json.loads(read_bytes(path, MAX_CONFIG_BYTES))
    except (ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("model_type") == "marian"
