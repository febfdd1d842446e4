"""The page on which the reader types, made of the small model."""

from pathlib import Path

import pytest

from aiayn_keras.models import TransformerSeq2SeqLM
from book import play

SAVED = Path(__file__).parents[2] / "saved_models"


@pytest.fixture(scope="package")
def package():
    found = play.PACKAGES / f"{play.RUNTIME.replace('@', '-')}.tgz"
    if not found.is_file():
        pytest.skip("ONNX Runtime Web is not there: `python -m book.play` downloads it.")
    return play.runtime_package()


@pytest.fixture(scope="package")
def model():
    return TransformerSeq2SeqLM.from_preset(str(SAVED / "demo_en_de_keras"))


@pytest.fixture(scope="package")
def folder(package, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "play"
    for path, content in play.play_files(model, package).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder
