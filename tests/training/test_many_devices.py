"""Training on many devices, all virtual and on the CPU, is training on one."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import keras
import numpy as np
import pytest

from aiayn_keras.backend import DevicesError
from tests.helpers import assert_close
from tests.runs import small_recipe
from tests.training.many_devices import batches

BACKEND = keras.config.backend()
RUNS = {
    "jax": (
        "one",
        "data_parallel",
        "model_parallel",
        "one_accumulating",
        "data_parallel_accumulating",
    ),
    "tensorflow": ("one", "data_parallel"),
}
DEVICES = {"jax": 4, "tensorflow": 2}.get(BACKEND, 4)  # TensorFlow traces a step for each device
many_devices = pytest.mark.skipif(BACKEND == "torch", reason="PyTorch trains on one device.")
only_jax = pytest.mark.skipif(BACKEND != "jax", reason="Only JAX has this.")
only_tensorflow = pytest.mark.skipif(BACKEND != "tensorflow", reason="Only TensorFlow has this.")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Results of `RUNS`, by name."""
    return trained(tmp_path_factory.mktemp("devices"), *RUNS[BACKEND])


def trained(folder, *names):
    output = folder / "results.json"
    subprocess.run(
        [sys.executable, "-m", "tests.training.many_devices", output, str(DEVICES), *names],
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "KERAS_BACKEND": BACKEND},
    )
    return json.loads(output.read_text("utf-8"))


def assert_same_weights(actual, expected):
    for ours, theirs in zip(actual["weights"], expected["weights"], strict=True):
        assert_close(np.array(ours), np.array(theirs), rtol=0, atol=1e-5)


def test_the_devices_have_unequal_numbers_of_real_tokens():
    weights = batches()[0][2]
    rows = np.pad(weights, ((0, 12 - len(weights)), (0, 0))).reshape(DEVICES, -1)
    assert rows.sum(axis=1).tolist() == {4: [60, 24, 6, 0], 2: [84, 6]}[DEVICES]


@pytest.mark.slow
@many_devices
def test_data_parallel_gives_the_weights_of_one_device(runs):
    assert_same_weights(runs["data_parallel"], runs["one"])


@many_devices
def test_data_parallel_gives_the_losses_of_one_device(runs):
    assert_close(runs["data_parallel"]["losses"], runs["one"]["losses"])


@pytest.mark.slow
@many_devices
def test_data_parallel_trains_with_dropout(tmp_path):
    name = "data_parallel_with_dropout"
    losses = trained(tmp_path, name)[name]["losses"]
    assert losses[-1] < losses[0]


@only_jax
def test_accumulating_on_many_devices_gives_the_weights_of_one_device(runs):
    assert_same_weights(runs["data_parallel_accumulating"], runs["one_accumulating"])


@only_jax
def test_model_parallel_gives_the_weights_of_one_device(runs):
    assert_same_weights(runs["model_parallel"], runs["one"])


@only_jax
def test_model_parallel_gives_each_device_half_the_heads(runs):
    assert runs["data_parallel"]["query_shapes"] == [[32, 32]] * DEVICES
    assert runs["model_parallel"]["query_shapes"] == [[32, 16]] * DEVICES


@pytest.mark.skipif(BACKEND != "torch", reason="The others have it.")
def test_torch_refuses_many_devices():
    with pytest.raises(
        DevicesError, match=r"must be `one` with the PyTorch backend.*data_parallel"
    ):
        small_recipe("training.devices=data_parallel").open_devices()


@only_tensorflow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ("training.devices=model_parallel", "training.model_parallel_size=2"),
            "needs the JAX backend",
        ),
        (
            ("training.devices=data_parallel", "optimizer.gradient_accumulation_steps=2"),
            "`optimizer.gradient_accumulation_steps` must be 1",
        ),
    ],
)
def test_tensorflow_refuses_what_it_would_do_wrong(settings, message):
    with pytest.raises(DevicesError, match=message):
        small_recipe(*settings).open_devices()


@only_tensorflow
def test_tensorflow_refuses_several_processes(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    with pytest.raises(DevicesError, match=r"TF_CONFIG.*need the JAX backend"):
        small_recipe("training.devices=data_parallel").open_devices()


@only_jax
def test_the_model_parallel_size_must_divide_the_devices():
    settings = ("training.devices=model_parallel", "training.model_parallel_size=2")
    with pytest.raises(DevicesError, match="model_parallel_size=2, but there are 1 devices"):
        small_recipe(*settings).open_devices()


def test_processes_need_a_recipe_for_many_devices(monkeypatch):
    monkeypatch.setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "2")
    with pytest.raises(DevicesError, match=r"KERAS_DISTRIBUTION_NUM_PROCESSES.*data_parallel"):
        small_recipe().open_devices()


def test_several_processes_may_not_draw_wordpieces(monkeypatch):
    devices_double = types.SimpleNamespace(num_processes=2)
    monkeypatch.setattr("aiayn_keras.training.recipe.open_devices", lambda *sizes: devices_double)
    assert small_recipe().open_devices() is devices_double
    with pytest.raises(
        DevicesError, match=r"`tokenizer.sampling_alpha` must be left out.*: 2 proc"
    ):
        small_recipe("tokenizer.sampling_alpha=0.1").open_devices()
