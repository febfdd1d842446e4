"""One model and one export of it for all tests of exports."""

import pytest


@pytest.fixture(scope="session")
def model(trained_run):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(trained_run))


@pytest.fixture(scope="session")
def exported(model, tmp_path_factory):
    """Folder of version 1 of the kit `small`."""
    pytest.importorskip("tensorflow_serving")
    return model.export(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="session")
def served(exported):
    from tests.export.served import Served

    return Served(exported)
