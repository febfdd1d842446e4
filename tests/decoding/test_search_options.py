import dataclasses
import math

import keras
import numpy as np
import pytest

from aiayn_keras.decoding.recording import options_to_record
from aiayn_keras.decoding.search_options import SearchOptions, with_defaults
from aiayn_keras_light.search_numbers import length_penalty
from tests.helpers import assert_close

NUMBERS = [field for field in dataclasses.fields(SearchOptions) if field.metadata]


def test_defaults_are_the_paper_s_and_no_translation_is_empty():
    assert dataclasses.astuple(SearchOptions()) == (4, 0.6, 5, 0.0, 0, 1, 1, None, 50, None)


def test_equal_options_are_one_key():
    assert len({SearchOptions(), SearchOptions(num_beams=np.int64(4)), SearchOptions(5)}) == 2


def test_options_are_fixed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SearchOptions().num_beams = 2


@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
def test_a_number_below_its_minimum_is_refused(field):
    value = field.metadata["minimum"] - 1
    message = rf"`{field.name}` must be at least {value + 1}.*{field.name}={value}"
    with pytest.raises(ValueError, match=message):
        SearchOptions(**{field.name: value})


@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
@pytest.mark.parametrize("excess", [1, 10**400])
def test_a_number_above_its_maximum_is_refused(field, excess):
    maximum = field.metadata["maximum"]
    with pytest.raises(ValueError, match=rf"`{field.name}` must be .*at most {maximum}"):
        SearchOptions(**{field.name: maximum + excess})


def test_numbers_become_their_types():
    options = SearchOptions(num_beams=np.int64(2), length_penalty=1)
    assert type(options.num_beams) is int
    assert type(options.length_penalty) is float


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_penalty_must_be_finite(value):
    with pytest.raises(ValueError, match="`length_penalty` must be at least 0 and at most 10"):
        SearchOptions(length_penalty=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 2.0}, "`num_beams` must be an integer.*num_beams=2.0"),
        ({"num_beams": True}, "`num_beams` must be an integer.*num_beams=True"),
        ({"min_length": None}, "`min_length` must be an integer"),
        ({"length_penalty": "0.6"}, "`length_penalty` must be a number.*'0.6'"),
        ({"beam_size": 4}, "unexpected keyword argument 'beam_size'"),
    ],
)
def test_what_is_no_number_or_no_option_is_refused(options, message):
    with pytest.raises(TypeError, match=message):
        SearchOptions(**options)


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(TypeError, match=r"no option `n_best`.*num_beams, .*num_return_sequences"):
        with_defaults({}, {"num_beams": 2, "n_best": 2})
    with pytest.raises(TypeError, match="no option `n_best`"):
        with_defaults({}, {"n_best": None})


def test_recorded_searches_do_without_the_defaults_that_a_constraint_excludes():
    rest = {"constraint": "brackets", "max_length": None}
    ((options,),) = options_to_record([2], [0.0], {"no_repeat_ngram_size": 3}, rest)
    assert (options.num_beams, options.no_repeat_ngram_size) == (2, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_return_sequences": 5}, "at most `num_beams`.*num_return_sequences=5, num_beams=4"),
        ({"min_length": 5, "max_length": 4}, "`min_length` must be from 0 to `max_length`"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SearchOptions(**options)


@pytest.mark.parametrize(
    ("length", "alpha", "offset", "expected"),
    [
        (1, 0.6, 5, 1.0),  # (6/6)^α
        (7, 1.0, 5, 2.0),  # 12/6
        (13, 2.0, 5, 9.0),  # (18/6)²
        (13, 0.5, 5, 1.7320508),
        (20, 0.6, 5, 2.3543620),  # (25/6)^0.6
        (20, 0.0, 5, 1.0),
        (1, 0.6, 0, 1.0),  # 1^α
        (7, 1.0, 0, 7.0),
        (13, 2.0, 0, 169.0),
        (9, 0.5, 0, 3.0),
        (20, 0.0, 0, 1.0),
        (7, 2.0, 1, 16.0),  # (8/2)²
    ],
)
def test_length_penalty_by_hand(length, alpha, offset, expected):
    options = SearchOptions(length_penalty=alpha, length_penalty_offset=offset)
    assert_close(length_penalty(length, options), expected)


@pytest.mark.parametrize("kind", [np.asarray, keras.ops.convert_to_tensor])
def test_length_penalty_of_many_lengths(kind):
    lengths = kind(np.array([[1, 7], [13, 19]], "float32"))
    penalty = length_penalty(lengths, SearchOptions(length_penalty=1.0))
    assert_close(penalty, [[1.0, 2.0], [3.0, 4.0]])
    assert keras.backend.standardize_dtype(penalty.dtype) == "float32"
    assert type(penalty) is type(lengths)
