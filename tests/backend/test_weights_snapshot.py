"""Changed weights are told from unchanged ones, however they change."""

import textwrap

import keras
import numpy as np
import pytest

from aiayn_keras.backend import WeightsSnapshot
from tests.cli.command import run_in_fresh_process

CHANGES = {
    "assign": lambda variable: variable.assign(np.full((2, 3), 2.0, "float32")),
    "assign_add": lambda variable: variable.assign_add(np.ones((2, 3), "float32")),
    "the same values": lambda variable: variable.assign(variable.numpy()),
}


@pytest.fixture(name="variables")
def two_variables():
    return [keras.Variable(np.ones((2, 3), "float32")) for _ in range(2)]


def test_unchanged_weights_are_current(variables):
    snapshot = WeightsSnapshot(variables)
    for variable in variables:  # reading changes nothing
        keras.ops.sum(variable)
    assert snapshot.is_current(variables)
    assert snapshot.is_current(variables)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_one_variable_is_seen(variables, name):
    snapshot = WeightsSnapshot(variables)
    CHANGES[name](variables[1])
    assert not snapshot.is_current(variables)
    assert WeightsSnapshot(variables).is_current(variables)


only_torch = pytest.mark.skipif(
    keras.config.backend() != "torch", reason="PyTorch does not count changes of `.data`."
)


def set_to_two(part):
    part[...] = 2.0


UNCOUNTED = {
    "all values": lambda data: data.mul_(0.5),
    "a row": lambda data: set_to_two(data[130]),
    "a column": lambda data: set_to_two(data[:, 29]),
    "the order of the rows": lambda data: data.copy_(data.flip(0).clone()),
}


@only_torch
@pytest.mark.parametrize("shape", [(200, 60), (131, 260)])
@pytest.mark.parametrize("change", UNCOUNTED.values(), ids=UNCOUNTED)
def test_changes_that_pytorch_does_not_count_are_seen(shape, change):
    variable = keras.Variable(np.random.default_rng(1).normal(size=shape).astype("float32"))
    snapshot = WeightsSnapshot([variable])
    assert snapshot.is_current([variable])
    change(variable.value.data)
    assert not snapshot.is_current([variable])


@only_torch
def test_changes_in_inference_mode_are_seen():
    import torch

    with torch.inference_mode():
        variable = keras.Variable(np.ones((200, 60), "float32"))
        snapshot = WeightsSnapshot([variable])
        assert snapshot.is_current([variable])
        variable.value[3, 5] = 2.0
        assert not snapshot.is_current([variable])


def test_other_variables_are_not_current(variables):
    snapshot = WeightsSnapshot(variables)
    copies = [keras.Variable(variable.numpy()) for variable in variables]
    assert not snapshot.is_current(copies)
    assert not snapshot.is_current(variables[:1])


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a strategy of TensorFlow")
def test_variables_on_several_devices_are_watched_too():
    script = """
        import keras
        import numpy as np
        import tensorflow as tf

        from aiayn_keras.backend import WeightsSnapshot
        from tests.training.many_devices import make_virtual_devices

        make_virtual_devices(2)
        with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
            variables = [keras.Variable(np.ones((2, 3), "float32"))]
            snapshot = WeightsSnapshot(variables)
            assert snapshot.is_current(variables)
            variables[0].assign(np.zeros((2, 3), "float32"))
            assert not snapshot.is_current(variables)
        assert not snapshot.is_current(variables)
    """
    result = run_in_fresh_process("-c", textwrap.dedent(script))
    assert result.returncode == 0, result.stderr


def test_steps_of_an_optimizer_are_seen():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    x, y = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")
    for _ in range(3):
        snapshot = WeightsSnapshot(model.variables)
        model.fit(x, y, verbose=0)
        assert not snapshot.is_current(model.variables)
