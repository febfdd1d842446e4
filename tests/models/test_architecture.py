import math

import numpy as np
import pytest

from aiayn_keras.models import TransformerBackbone
from aiayn_keras.models.architecture import count_weights

SIZES = {"num_layers": 2, "num_heads": 3, "hidden_dim": 12, "intermediate_dim": 7}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layer": 3}, "no argument `num_layer`. Did you mean `num_layers`"),
        ({"layer_norm_epsilon": "a"}, "`layer_norm_epsilon` must be a number"),
        ({"dropout": "a"}, "`dropout` must be a number"),
        ({"num_heads": 2.0}, "`num_heads` must be an integer"),
        ({"attention_bias": 1}, "`attention_bias` must be True or False"),
    ],
)
def test_arguments_of_another_type_are_refused_by_name(options, message):
    with pytest.raises(TypeError, match=message):
        TransformerBackbone(19, **{**SIZES, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_layers": -1}, "`num_layers` must be at least 1"),
        ({"num_heads": 0}, "`num_heads` must be at least 1"),
        ({"num_heads": 5}, "`hidden_dim` must be a multiple of `num_heads`"),
        ({"key_dim": 0}, "`key_dim` must be at least 1"),
        ({"hidden_dim": 15}, "`hidden_dim` must be even"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and at most 0.99"),
        ({"attention_dropout": math.nan}, "`attention_dropout` must be at least 0"),
        ({"layer_norm_epsilon": math.nan}, "`layer_norm_epsilon` must be at least 0"),
        ({"layer_norm_epsilon": -1e-6}, "`layer_norm_epsilon` must be at least 0"),
        (
            {"position_embedding": "none"},
            '`position_embedding` must be "sinusoidal", "learned" or "given"',
        ),
        ({"max_sequence_length": 10**10}, "`max_sequence_length` must be at least 1"),
        ({"hidden_dim": 3 * 2**14, "max_sequence_length": 2**20}, "`hidden_dim` must be at most"),
    ],
)
def test_numbers_out_of_bounds_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message.replace("0.99", r"0\.99")):
        TransformerBackbone(19, **{**SIZES, **options})


def test_numpy_s_numbers_become_python_s():
    backbone = TransformerBackbone(np.int64(19), num_layers=np.int32(1), num_heads=1, hidden_dim=4)
    assert type(backbone.get_config()["vocabulary_size"]) is int


@pytest.mark.parametrize("head", [{}, {"key_dim": 5, "value_dim": 3}])
def test_matrices_are_counted(head):
    backbone = TransformerBackbone(19, **SIZES, **head, max_sequence_length=8)
    matrices = sum(math.prod(weight.shape) for weight in backbone.weights if len(weight.shape) > 1)
    assert count_weights(backbone.get_config()) == matrices
