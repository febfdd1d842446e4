"""Files of tensors that lie, or that want to run something: one clear line, and nothing is run."""

import pickle
import re

import pytest

from aiayn_keras.convert.tensor_files import read_tensors
from tests.claims.hostile_tensors import CANARY, RunsCommand, hostile_tensor_files

FILES = list(hostile_tensor_files())


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.group}: {file.name}")
def test_a_hostile_file_is_refused_in_one_line(file, tmp_path):
    path = file.write(tmp_path)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        read_tensors(path)
    message = str(caught.value)
    assert re.search(file.message, message), message
    assert "\n" not in message
    assert len(message) < 1000
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert not CANARY.exists()


def test_python_itself_would_run_the_command():
    pickle.loads(pickle.dumps(RunsCommand()))
    assert CANARY.exists()
    CANARY.unlink()


def test_there_are_many():
    assert len(FILES) >= 90
