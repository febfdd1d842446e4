"""The fixtures and helpers that the other tests stand on."""

import random
import socket

import keras
import numpy as np
import pytest

from tests.helpers import assert_close


def draws():
    return random.random(), np.random.rand(), float(keras.random.uniform(()))


@pytest.fixture(scope="module")
def first_draws():
    return []


@pytest.mark.parametrize("run", [1, 2])
def test_every_test_starts_from_the_same_seed(run, first_draws):
    first_draws.append(draws())
    assert first_draws[0] == first_draws[-1]


def test_the_network_cannot_be_reached():
    with socket.socket() as outside, pytest.raises(ConnectionRefusedError, match="no network"):
        outside.connect(("192.0.2.1", 80))


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


@pytest.mark.parametrize("other", [[1.0, 2.1], [[1.0, 2.0]], [1.0, float("nan")], [1.0]])
def test_assert_close_sees_what_differs(other):
    with pytest.raises(AssertionError):
        assert_close(keras.ops.convert_to_tensor([1.0, 2.0]), other)


def test_assert_close_takes_any_precision():
    assert_close(keras.ops.ones((2, 3), dtype="bfloat16"), [[1, 1, 1], [True, True, True]])
