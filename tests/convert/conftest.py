"""Readers without their child process, for tests of conversions."""

import importlib.util

import numpy as np
import pytest

from aiayn_keras.convert import tensor_files


@pytest.fixture
def read_here(monkeypatch):
    """Runs the reader in this process, where TensorFlow and PyTorch are imported already."""

    def read_in_process(reader, function, path, files=None, library=None, **arguments):
        spec = importlib.util.spec_from_file_location("readers", reader)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            plain, arrays = getattr(module, function)(str(path), **arguments)
            return plain, {
                name: np.array(load(), "float32").reshape(shape)
                for name, (shape, load) in arrays.items()
            }
        except ValueError as error:
            raise ValueError(f"{path} cannot be read: {error}.") from error

    monkeypatch.setattr(tensor_files, "read_in_child", read_in_process)
