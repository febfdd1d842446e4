"""Every test starts from one seed, on one backend, and cannot reach the network."""

import gc
import ipaddress
import os
import signal
import socket
from pathlib import Path
from unittest import mock

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import hypothesis
import keras
import pytest
from keras.src.backend.common import global_state
from keras.src.utils import rng_utils

from aiayn_keras.export.ctranslate2 import CTranslate2Engine
from aiayn_keras_light import ctranslate2_search

SEED = 20170612

hypothesis.settings.register_profile("reproducible", deadline=None, derandomize=True)
hypothesis.settings.load_profile("reproducible")


LONGEST = ("test_readme.py", "training", "scale", "export")
"""Files and folders of the longest tests."""


def pytest_collection_modifyitems(items):
    """Begin with the longest tests, so that all processes of a run end at about the same time."""
    folder = Path(__file__).parent
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(_first_part(item.path, folder), len(places)))


def _first_part(path, folder):
    return path.relative_to(folder).parts[0] if path.is_relative_to(folder) else None


@pytest.fixture(scope="session", autouse=True)
def interrupts():
    """Raise `KeyboardInterrupt` on SIGINT, which a process started in the background ignores."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_search():
    """Let `translate` search with our own search unless a test asks for another engine."""
    with (
        mock.patch.object(CTranslate2Engine, "is_automatic", False),
        mock.patch.object(ctranslate2_search, "AUTOMATIC", ()),
    ):
        yield


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what the tests cache from the user's cache, and the user's from them."""
    folder = str(tmp_path_factory.mktemp("cache"))
    with mock.patch.dict(os.environ, {"AIAYN_KERAS_CACHE": folder}):
        yield


@pytest.fixture(scope="module", autouse=True)
def what_is_there_is_no_garbage():
    """Look for garbage in what a file's tests make, and not in what was there before them.

    Keras collects it for every attribute that it deletes: 17 of 17 s of a quantization. Python
    itself looks less often than by default, which is after every 700 new objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """On JAX, let XLA compile a function once for all the tests that make it anew."""
    if keras.config.backend() == "jax":
        import jax

        # No folder that other processes write to: JAX does not write its files in one go.
        jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("jax")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@pytest.fixture(scope="module", autouse=True)
def forget_compilations():
    """Drop what the backend keeps in memory: gigabytes over all tests.

    JAX keeps every compiled function; TensorFlow's global graph keeps the functions of every
    `Dataset.from_generator`, and with them the model of every training.
    """
    yield
    if keras.config.backend() == "jax":
        import jax

        jax.clear_caches()
    elif keras.config.backend() == "tensorflow":
        import tensorflow as tf

        graph = tf.compat.v1.get_default_graph()
        getattr(graph, "_py_funcs_used_in_graph", []).clear()


@pytest.fixture(autouse=True)
def forget_uninitialized_variables():
    """Drop the variables of models that were built without memory for them.

    The next `keras.StatelessScope` would initialize them, gigabytes of the great presets.
    """
    yield
    global_state.set_global_attribute("uninitialized_variables", [])


@pytest.fixture(autouse=True)
def seed():
    """Seed Python, NumPy, Keras and torch before each test, and return the seed.

    `tf.random.set_seed` is left out: it empties TensorFlow's kernel cache, and with it the
    vocabulary of every SentencePiece tokenizer that a wider fixture holds. Keras draws nothing
    from TensorFlow's own generator.
    """
    with mock.patch.object(rng_utils, "tf", mock.Mock(available=False)):
        keras.utils.set_random_seed(SEED)
    return SEED


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Refuse every connection but those to this machine."""
    connect = socket.socket.connect

    def connect_to_this_machine(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise ConnectionRefusedError(f"Tests use no network. Received: address={address}.")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_to_this_machine)


def _is_loopback(host):
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory):
    """Folder of a finished small training."""
    from aiayn_keras.training import train
    from tests.made_once import made_once
    from tests.runs import small_recipe

    return made_once(tmp_path_factory, "run/small", lambda folder: train(small_recipe(), folder))
