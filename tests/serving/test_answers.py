import math

import numpy as np
import pytest

from aiayn_keras.serving import BadAnswerError
from aiayn_keras.serving.answers import OUTPUTS, check_outputs
from tests.serving.right_answers import METHODS, SIGNATURES, right_outputs

ALIGN = right_outputs("align")


@pytest.mark.parametrize("method", METHODS)
def test_correct_outputs_are_returned(method):
    outputs = right_outputs(method)
    arrays = check_outputs(SIGNATURES[method], outputs, 3)
    assert {name: array.tolist() for name, array in arrays.items()} == outputs
    again = check_outputs(SIGNATURES[method], arrays, 3)
    assert {name: array.tolist() for name, array in again.items()} == outputs


def test_texts_without_words_have_an_empty_alignment():
    outputs = {**ALIGN, "target_tokens": [[], [], []], "alignment": [[], [], []]}
    assert check_outputs("align", outputs, 3)["alignment"].shape == (3, 0, 4)


@pytest.mark.parametrize("signature", OUTPUTS)
@pytest.mark.parametrize("outputs", [None, [], 3, "x", {}, {"translation": ["a"]}])
def test_missing_outputs_are_named(signature, outputs):
    with pytest.raises(BadAnswerError, match=next(iter(OUTPUTS[signature]))):
        check_outputs(signature, outputs, 1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("score", [-1.0, -1.0], "B=3. Received: B=2 instead of 3"),
        ("score", [-1.0] * 4, "B=4 instead of 3"),
        ("score", [-1.0, None, -1.0], "Received: None"),
        ("score", [-1.0, True, -1.0], "Received: True"),
        ("score", [-1.0, "x", -1.0], "Received: 'x'"),
        ("score", [-1.0, math.nan, -1.0], "Received: nan"),
        ("score", [-1.0, -math.inf, -1.0], "Received: -inf"),
        ("score", [-1.0, -1e308, -1.0], "Received: -1e"),
        ("score", [-1.0, 10**400, -1.0], "too large"),
        ("score", [[-1.0]] * 3, r"Received: \[-1.0\]"),
        ("score", 3, "not a list nested 1 deep"),
        ("score", np.zeros((3, 1)), r"shape \(3, 1\)"),
        ("score", np.zeros(3, bool), "type bool"),
        ("score", np.array(["a"] * 3, object), "type object"),
        ("translation", ["a", "b", 3], "Received: 3"),
        ("translation", ["a", "b", "\ud800"], "surrogates not allowed"),
        ("translation", np.zeros(3), "Received: "),
        ("source_tokens", [["a"] * 4, ["a"] * 3, ["a"] * 4], "unequal lengths, 3 to 4"),
        ("source_tokens", [["a", "", "b", ""]] * 3, "padding before a wordpiece"),
        ("alignment", [[[0.5] * 4] * 2] * 3, "T=2 instead of 3"),
        ("alignment", [[[0.5] * 5] * 3] * 3, "S=5 instead of 4"),
        ("alignment", [[0.5] * 3] * 3, "not a list nested 3 deep"),
    ],
)
def test_wrong_outputs_are_named(name, value, message):
    with pytest.raises(BadAnswerError, match=f"output `{name}` must hold .*{message}"):
        check_outputs("align", {**ALIGN, name: value}, 3)


def test_rows_have_equal_numbers_of_hypotheses():
    outputs = right_outputs("translate_nbest")
    with pytest.raises(BadAnswerError, match=r"`scores`.* N=1 instead of 2"):
        check_outputs("translate_nbest", {**outputs, "scores": [[-1.0]] * 3}, 3)
    nothing = {name: [[], [], []] for name in outputs}
    with pytest.raises(BadAnswerError, match="no hypotheses"):
        check_outputs("translate_nbest", nothing, 3)
