"""What the backend says of the devices that it computes on."""

import keras
import pytest

from aiayn_keras.backend import bfloat16_products, has_accelerator, rounds_products


def test_an_accelerator_is_where_tensors_are_made():
    tensor = keras.ops.zeros(())
    if keras.config.backend() == "tensorflow":
        kind = tensor.device.rsplit("device:", 1)[-1]
    elif keras.config.backend() == "jax":
        kind = next(iter(tensor.devices())).platform
    else:
        kind = tensor.device.type
    assert has_accelerator() == (not kind.lower().startswith("cpu"))


def test_products_are_rounded_within_the_context_alone():
    assert not rounds_products()
    if keras.config.backend() != "tensorflow":
        with pytest.raises(ValueError, match="TensorFlow"):
            bfloat16_products()
        return
    with bfloat16_products():
        assert rounds_products()
    assert not rounds_products()
