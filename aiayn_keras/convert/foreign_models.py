"""Models of other toolkits: recognized by their files, converted, and given a README."""

import json
import os
import re
import shlex
from pathlib import Path

import pydantic

from aiayn_keras.common.file_addresses import download, is_hub_address
from aiayn_keras.convert.ctranslate2 import convert_ctranslate2
from aiayn_keras.convert.marian import (
    CONFIG,
    GENERATION_CONFIG,
    MAX_CONFIG_BYTES,
    TARGET_TABLE,
    TOKENIZER_CONFIG,
    VOCABULARY_FILES,
    WEIGHT_FILES,
    convert_marian,
)
from aiayn_keras.convert.tensor_files import SHARD_INDEX, shards_of
from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes
from aiayn_keras_light.search_numbers import SEARCH_FILE

_OPTIONAL_FILES = (TARGET_TABLE, TOKENIZER_CONFIG, GENERATION_CONFIG)
_ENGINE_WEIGHTS = "model.bin"
_LICENSE_FILE = re.compile(r"(?i)(licen[cs]e|copying)[\w.-]*")
FORMATS = (
    "a folder of Hugging Face's Marian (config.json with model_type marian), a folder of "
    "CTranslate2 (model.bin), and checkpoints with their vocabularies: of fairseq (--dictionary; "
    "`convert_fairseq`), OpenNMT-tf and tensor2tensor (--vocabulary; `convert_opennmt_tf`, "
    "`convert_tensor2tensor`)"
)

CARD = """---
tags:
- translation
{license}---

# {name}

A Transformer for the Python package aiayn_keras (Keras 3), converted from
`{origin}`. {terms}

```shell
aiayn-keras translate {folder} < sentences.txt
```

If the original had no SentencePiece model, texts are its tokens with spaces between them.

{search}
"""
_WITHOUT_SETTINGS = """Other toolkits rank hypotheses by `log-probability / length^α`, most of them
with α = 1. To rank as they do, add `--length-penalty 1 --length-penalty-offset 0`; in Python it is
`model.translate(texts, length_penalty=1.0, length_penalty_offset=0)`."""
_WITH_SETTINGS = """The settings of the original's search are in `search.json`: commands, Python and
serving kits use them unless others are given."""


def is_foreign(preset):
    """Returns whether a path or an address is that of another toolkit's model that `convert` takes.

    Args:
        preset: Path of a folder, or an address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
    """
    return _converter(preset) is not None


def convert(preset, dtype=None):
    """Makes a model of ours from another toolkit's.

    Args:
        preset: Path of a folder of Hugging Face's Marian or of CTranslate2, or an address such as
            `"hf://Helsinki-NLP/opus-mt-en-de"`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM`.

    Raises:
        OSError: If a file is missing, or the hub cannot be reached.
        ValueError: If the format is not known, a file is damaged, or the architecture is not ours.
    """
    if not is_hub_address(preset) and not Path(preset).exists():
        raise FileNotFoundError(f"{preset} does not exist.")
    converter = _converter(preset)
    if converter is None:
        _check_config(Path(preset) / CONFIG)
        raise ValueError(f"{preset} is not a model that can be converted. Known are: {FORMATS}.")
    if is_hub_address(preset):
        preset = _download(str(preset))
    return converter(preset, dtype=dtype)


def _download(address):
    """Downloads a Marian model, with the shards if it has an index of them."""
    files = [CONFIG, *VOCABULARY_FILES]
    folder = download(address, files, WEIGHT_FILES, _OPTIONAL_FILES)
    if not (folder / WEIGHT_FILES[0]).exists() and (folder / SHARD_INDEX).exists():
        shards = sorted(set(shards_of(folder / SHARD_INDEX).values()))
        folder = download(address, [*files, SHARD_INDEX, *shards])
    return folder


def _converter(preset):
    """The function that converts a folder or the files at an address, or None."""
    folder = download(str(preset), [CONFIG]) if is_hub_address(preset) else Path(preset)
    if _is_marian(folder):
        return convert_marian
    if not is_hub_address(preset) and (folder / _ENGINE_WEIGHTS).is_file():
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


class _AnyConfig(pydantic.RootModel):
    root: dict[str, object]


def _check_config(path):
    """Raises an error for a configuration that is damaged, which may be that of a known format."""
    if os.path.lexists(path):
        parse(_AnyConfig, read_bytes(path, MAX_CONFIG_BYTES), path, "It is damaged: copy it again.")


def write_model_card(folder, origin, license=None):
    """Writes the README of a converted model into its folder.

    Args:
        folder: Path of the folder, whose name is the model's.
        origin: Path or address of the original.
        license: Name of its license on Hugging Face, or a list of several; None if it is unknown:
            then the README refers to the original's file of this name, if it has one.
    """
    names = [license] if isinstance(license, str) else license or _license_files(Path(origin))
    folder, origin = Path(folder), str(origin)
    text = CARD.format(
        name=folder.name,
        folder=shlex.quote(folder.name),
        search=_WITH_SETTINGS if (folder / SEARCH_FILE).exists() else _WITHOUT_SETTINGS,
        origin=origin if "://" in origin else Path(origin).name,
        license="" if license is None else f"license: {json.dumps(license)}\n",
        terms=f"License of the original: {', '.join(names)}.",
    )
    (folder / "README.md").write_text(text, encoding="utf-8", errors="backslashreplace")


def _license_files(origin):
    """Names the license files in a folder, or says that its files state no license."""
    paths = origin.iterdir() if origin.is_dir() else ()
    names = sorted(path.name for path in paths if _LICENSE_FILE.fullmatch(path.name))
    return [f"see its file `{name}`" for name in names] or ["not stated in its files"]
