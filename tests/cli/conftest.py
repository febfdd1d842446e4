import pytest

from aiayn_keras import TransformerSeq2SeqLM
from tests.cli.command import SOURCES, write_lines


@pytest.fixture
def source_file(tmp_path):
    return write_lines(tmp_path / "source.en", SOURCES)


@pytest.fixture(scope="session")
def model(trained_run):
    return TransformerSeq2SeqLM.from_preset(str(trained_run))
