"""One model and one export of it for all tests of exports."""

import json
from pathlib import Path

import pytest

from tests.made_once import made_once


@pytest.fixture(scope="session")
def model(trained_run):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(trained_run))


@pytest.fixture(scope="session")
def exported(model, tmp_path_factory):
    """Folder of version 1 of the kit `small`."""
    pytest.importorskip("tensorflow_serving")
    return made_once(tmp_path_factory, "kit/small", model.export) / "1"


@pytest.fixture(scope="session")
def served(exported):
    from tests.export.served import Served

    return Served(exported)


@pytest.fixture(params=["a new kit", "the committed kit"])
def version_folder(request):
    if request.param == "the committed kit":
        return Path(__file__).parents[2] / "saved_models" / "demo_en_de" / "1"
    return request.getfixturevalue("exported")


@pytest.fixture
def note_version():
    """Function that writes a version with notes, and no model."""

    def note_version(folder, number, long_text="truncate", load_seconds=None, **search_options):
        options = {
            "num_beams": 4,
            "length_penalty": 0.6,
            "num_return_sequences": 2,
            "max_length": None,
            "max_input_length": 30,
            "long_text": long_text,
            **search_options,
        }
        notes = {
            "options": options,
            "precision": "float32",
            "tensorflow": "2",
            "load_seconds": load_seconds,
            "card": {"BLEU": "40.5 (`a|b`)", "license": "CC0"},
        }
        path = folder / str(number) / "assets.extra"
        path.mkdir(parents=True)
        (path / "export.json").write_text(json.dumps(notes))

    return note_version


@pytest.fixture(params=["batched", "not batched", "committed"])
def noted_kit(request, tmp_path, note_version):
    """Folder of a kit with notes for models, or of the demo's."""
    pytest.importorskip("tensorflow_serving")
    if request.param == "committed":
        return Path(__file__).parents[2] / "saved_models" / "demo_en_de"
    from aiayn_keras.export.serving_kit import write_kit

    kit = tmp_path / "My_model.v2"
    for number in (1, 2, 3):
        note_version(kit, number, long_text="truncate" if request.param == "batched" else "error")
    write_kit(kit)
    return kit


@pytest.fixture
def batched_kit(tmp_path, note_version):
    """Folder of a kit whose server batches requests."""
    pytest.importorskip("tensorflow_serving")
    from aiayn_keras.export.serving_kit import write_kit

    kit = tmp_path / "small"
    note_version(kit, 1)
    write_kit(kit)
    return kit
