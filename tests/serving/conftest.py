"""A kit with two versions, served by the test double."""

import pytest


@pytest.fixture(scope="session")
def model(trained_run):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(trained_run))


@pytest.fixture(scope="session")
def kit(model, tmp_path_factory):
    """Version 1, stable, is greedy; version 2, the canary, has the default search and documents."""
    pytest.importorskip("tensorflow_serving")
    folder = tmp_path_factory.mktemp("models") / "small"
    model.export(folder, num_beams=1)
    model.export(folder, documents=True)
    return folder


@pytest.fixture(scope="session")
def running_server(kit):
    from tests.serving.loopback_server import LoopbackServer

    with LoopbackServer(kit) as server:
        yield server


@pytest.fixture
def server(running_server):
    """The server without the faults of other tests."""
    running_server.faults, running_server.seconds, running_server.num_requests = [], 0.0, 0
    yield running_server
    running_server.faults, running_server.seconds = [], 0.0
