import math

import numpy as np
import pytest

from aiayn_keras_light.checks import check_integer, check_number, check_texts


def test_numbers_come_back_in_their_python_type():
    assert type(check_integer("n", np.int32(3), 1, 3)) is int
    assert type(check_number("x", 1, 1, 3)) is float


@pytest.mark.parametrize("value", [0, 4, -(10**500), np.int64(4)])
def test_integers_out_of_bounds_are_refused(value):
    with pytest.raises(ValueError, match=r"`n` must be at least 1 and at most 3\. Received: n="):
        check_integer("n", value, 1, 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.1, np.float32("nan")])
def test_numbers_out_of_bounds_are_refused(value):
    with pytest.raises(ValueError, match="`x` must be at least 0 and at most 1"):
        check_number("x", value, 0, 1)


@pytest.mark.parametrize("value", [None, True, "3", 3.0, [3], 1j])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match=r"`n` must be an integer\. Received: n="):
        check_integer("n", value, 1, 5)


@pytest.mark.parametrize("value", [None, False, "3", [3.0], 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match=r"`x` must be a number\. Received: x="):
        check_number("x", value, 1, 5)


def test_texts_may_be_an_array():
    assert check_texts("texts", np.array(["a", "b"])) == ["a", "b"]
    with pytest.raises(ValueError, match="`texts` must be a list of strings"):
        check_texts("texts", np.array([["a"]]))
