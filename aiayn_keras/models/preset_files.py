"""The files of a preset, in a folder or on a hub."""

from aiayn_keras.files import CHECKSUMS
from aiayn_keras.hub import download, is_address

CONFIG = "config.json"
TASK = "task.json"
PREPROCESSOR = "preprocessor.json"
TOKENIZER = "tokenizer.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"
VOCAB_FILENAME = "vocabulary.spm"  # KerasHub's
TARGET_VOCAB_FILENAME = "target_vocabulary.spm"

OF_BACKBONE = CONFIG, WEIGHTS
OF_TASK = *OF_BACKBONE, TASK
WITH_PREPROCESSOR = (
    *(PREPROCESSOR, TOKENIZER),
    *(f"assets/tokenizer/{name}" for name in (VOCAB_FILENAME, TARGET_VOCAB_FILENAME)),
)


def find_preset(preset, names):
    """Path of a preset's folder; what is at an address is downloaded, or found in the cache.

    Args:
        preset: Path, name or address.
        names: Files without which it is no preset.

    Raises:
        OSError: If a file is missing at an address, or the hub cannot be reached.
    """
    if not is_address(preset):
        return str(preset)
    optional = METADATA, *WITH_PREPROCESSOR, CHECKSUMS
    return str(download(str(preset), names, optional=optional))
