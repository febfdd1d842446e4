"""Foreign weights: all of them, and only they, become the model's."""

import numpy as np
import pytest

from aiayn_keras.convert.weights import assign_weights
from aiayn_keras.models import TransformerBackbone
from tests.helpers import assert_close

KERNEL = "decoder_block_0/cross_attention/key/kernel"


@pytest.fixture(scope="module")
def backbone():
    return TransformerBackbone(
        11,
        num_layers=1,
        num_heads=3,
        hidden_dim=12,
        intermediate_dim=20,
        attention_bias=True,
        normalize_first=True,
        position_embedding="learned",
        max_sequence_length=7,
    )


@pytest.fixture
def arrays(backbone, seed):
    generator = np.random.default_rng(seed)
    return {weight.path: generator.normal(size=weight.shape) for weight in backbone.weights}


def test_every_weight_gets_its_array(backbone, arrays):
    assign_weights(backbone, arrays, "model.bin")
    for weight in backbone.weights:
        assert_close(weight, arrays[weight.path].astype("float32"), rtol=0, atol=0)


def test_a_missing_array_is_refused_by_name(backbone, arrays):
    del arrays[KERNEL]
    with pytest.raises(ValueError, match=rf"^model.bin: `{KERNEL}` is missing\.$"):
        assign_weights(backbone, arrays, "model.bin")


def test_missing_arrays_are_counted(backbone):
    with pytest.raises(ValueError, match=r"^model.bin: `.*` is missing, and \d+ more\.$"):
        assign_weights(backbone, {}, "model.bin")


def test_an_array_of_no_weight_is_refused_by_name(backbone, arrays):
    arrays["encoder_block_9/query"] = np.zeros(1)
    with pytest.raises(ValueError, match="`encoder_block_9/query` is not a weight of the model"):
        assign_weights(backbone, arrays, "model.bin")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((12, 13)), r"expected the shape \(12, 12\), got \(12, 13\)"),
        (np.zeros(144), r"got \(144,\)"),
        (np.zeros(()), r"got \(\)"),
        (np.full((12, 12), np.nan), "not finite"),
        (np.full((12, 12), -np.inf), "not finite"),
        (np.full((12, 12), 1e39), "not finite"),
        (np.full((12, 12), "a"), "expected floating-point numbers, got <U1"),
        (np.full((12, 12), None), "expected floating-point numbers, got object"),
        (np.zeros((12, 12), "int32"), "expected floating-point numbers, got int32"),
        (np.zeros((12, 12), complex), "expected floating-point numbers, got complex128"),
    ],
)
def test_a_wrong_array_is_refused_and_nothing_is_assigned(backbone, arrays, array, message):
    before = [weight.numpy() for weight in backbone.weights]
    arrays[KERNEL] = array
    with pytest.raises(ValueError, match=f"^model.bin, `{KERNEL}`: .*{message}"):
        assign_weights(backbone, arrays, "model.bin")
    for weight, old in zip(backbone.weights, before, strict=True):
        assert_close(weight, old, rtol=0, atol=0)
