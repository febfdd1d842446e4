"""A kit with two versions, served by the test double; the demo model, and a browser."""

import pytest

from tests.browser import headless_browser
from tests.made_once import made_once
from tests.serving.page_server import SAVED_MODELS


@pytest.fixture(scope="session")
def model(trained_run):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(trained_run))


@pytest.fixture(scope="session")
def kit(model, tmp_path_factory):
    """Version 1, stable, is greedy; version 2, the canary, has the default search and documents."""
    pytest.importorskip("tensorflow_serving")
    from aiayn_keras.export.serving_kit import move_label

    def export_both(folder):
        model.export(folder, num_beams=1)
        model.export(folder, documents=True)
        move_label(folder, "canary", 2)

    return made_once(tmp_path_factory, "two_versions/small", export_both)


@pytest.fixture(scope="session")
def running_server(kit):
    from tests.serving.loopback_server import LoopbackServer

    with LoopbackServer(kit) as server:
        yield server


@pytest.fixture
def server(kit, running_server):
    """A server of the test's own: a request that it gave up on may still take faults, or count."""
    from tests.serving.loopback_server import LoopbackServer

    with LoopbackServer(kit, running_server.kit) as server:
        yield server


@pytest.fixture(scope="session")
def demo_model():
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(SAVED_MODELS / "demo_en_de_keras"))


@pytest.fixture(scope="session")
def folder_translator(demo_model):
    from aiayn_keras.serving.local_page import FolderTranslator

    return FolderTranslator(demo_model)


@pytest.fixture(scope="session")
def browser():
    with headless_browser() as browser:
        yield browser
