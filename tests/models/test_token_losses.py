"""Batches whose parts are computed apart give the steps of whole batches."""

import keras
import numpy as np
import pytest

from aiayn_keras.layers import EncoderBlock
from aiayn_keras.models import TransformerBackbone, token_losses
from aiayn_keras.optimization import LabelSmoothedCrossEntropy
from tests.helpers import assert_close
from tests.models.test_training_steps import (
    BackboneWithLosses,
    assert_same_steps,
    logits_metric,
    make_batch,
    make_model,
)

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="Only TensorFlow's steps are divided."
)


class BlockThatLooksAtAllRows(EncoderBlock):
    def call(self, x, *args, **kwargs):
        y = super().call(x, *args, **kwargs)
        return y - keras.ops.mean(y, axis=0, keepdims=True)


class BackboneThatLooksAtAllRows(TransformerBackbone):
    encoder_block_cls = BlockThatLooksAtAllRows


@pytest.fixture
def divided(monkeypatch):
    """Let TensorFlow have four threads of an operation each; yields the sizes of parts."""
    sizes = []

    def of_part(model, x, y, weights, training, inner=token_losses._of_part):
        sizes.append(y.shape[0])
        return inner(model, x, y, weights, training)

    monkeypatch.setattr(token_losses, "parts_of_batch", lambda: 4)
    monkeypatch.setattr(token_losses, "_of_part", of_part)
    return sizes


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": LabelSmoothedCrossEntropy(0.2, reduction="sum"), "tie_weights": False},
        {"logits_bias": True},
        {"dtype": "mixed_float16"},
    ],
)
def test_steps_in_parts_are_those_of_the_whole(options, divided):
    ours = make_model(dropout=0.0, **options)
    whole = make_model(dropout=0.0, metrics=[logits_metric()], **options)
    assert_same_steps(ours, whole, 1e-2 if options.get("dtype") else 1e-5)
    assert divided[:4] == [1, 2, 1, 2]


def test_fewer_rows_than_parts(divided):
    x, y, weights = make_batch()
    one = {name: array[:1] for name, array in x.items()}, y[:1], weights[:1]
    model, whole = make_model(dropout=0.0), make_model(dropout=0.0, metrics=[logits_metric()])
    logs, expected = (each.train_on_batch(*one, return_dict=True) for each in (model, whole))
    assert_close(list(logs.values()), [expected[name] for name in logs], rtol=1e-5)
    assert divided[:4] == [0, 0, 0, 1]
    for ours, theirs in zip(model.weights, whole.weights, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("backbone_cls", [BackboneWithLosses, BackboneThatLooksAtAllRows])
def test_a_part_of_ones_own_sees_the_whole_batch(backbone_cls, divided):
    ours, whole = (
        make_model(dropout=0.0, backbone_cls=backbone_cls, metrics=metrics)
        for metrics in (None, [logits_metric()])
    )
    assert_same_steps(ours, whole, 1e-5)
    assert set(divided) == {6}


def test_a_changed_layer_and_a_regularized_activation_see_the_whole_batch(divided):
    changed, regularized, compiled = make_model(), make_model(), make_model(jit_compile=True)
    block = changed.backbone.encoder_blocks[0]
    block.call = lambda x, *args, **kwargs: x
    regularized.backbone.decoder_blocks[0].activity_regularizer = keras.regularizers.L2(0.1)
    assert token_losses._num_parts(make_model()) == 4
    for model in (changed, regularized, compiled):
        assert token_losses._num_parts(model) == 1


def test_equal_rows_of_different_parts_drop_different_units(divided):
    x, y, _ = make_batch()
    x = {name: np.repeat(array[:1], 4, axis=0) for name, array in x.items()}
    model = make_model(dropout=0.5)
    losses = []

    def of_part(*args, inner=token_losses._of_part):
        loss, statistics = inner(*args)
        losses.append(loss)
        return loss, statistics

    token_losses._of_part = of_part  # `divided` restores it
    model.compile(run_eagerly=True)
    model.train_on_batch(x, np.repeat(y[:1], 4, axis=0))
    assert divided == [1, 1, 1, 1]
    assert len({float(loss) for loss in losses}) == 4
