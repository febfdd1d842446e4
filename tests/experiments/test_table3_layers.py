"""A model that lacks a part lacks that part alone, in training and in the search."""

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.models import TransformerBackbone
from aiayn_keras.optimization import WarmupSchedule
from experiments.table3.layers import (
    BackboneWithoutResiduals,
    BackboneWithUnscaledAttention,
    BackboneWithUnscaledEmbedding,
    NormAlone,
    NoWarmup,
    UnscaledAttention,
    UnscaledEmbedding,
)
from tests.decoding.test_cached_decoding import TINY, W, at_once, step_by_step
from tests.helpers import B, D, H, K, S, T, assert_close
from tests.layers.helpers import randomize, to_numpy

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The sweep runs on TensorFlow."
)
BACKBONES = (
    BackboneWithUnscaledAttention,
    BackboneWithUnscaledEmbedding,
    BackboneWithoutResiduals,
)


def test_unscaled_attention_is_the_softmax_of_plain_products(seed):
    rng = np.random.default_rng(seed)
    query, memory = rng.normal(size=(B, T, D)), rng.normal(size=(B, S, D))
    layer = UnscaledAttention(num_heads=H, key_dim=K)
    actual = layer(query.astype("float32"), memory.astype("float32"))
    # What is trained is the matrix; its constant factor is not in the weights.
    kernels = {each.path.split("/")[-2]: to_numpy(each) for each in layer.weights}
    heads = []
    for head in range(H):
        part = slice(head * K, (head + 1) * K)
        q, k, v = (
            x @ kernels[name][:, part]
            for x, name in ((query, "query"), (memory, "key"), (memory, "value"))
        )
        exponentials = np.exp(q @ k.transpose(0, 2, 1))
        heads.append(exponentials / exponentials.sum(axis=-1, keepdims=True) @ v)
    assert_close(actual, np.concatenate(heads, axis=-1) @ kernels["output"], rtol=1e-4, atol=1e-5)


def test_unscaled_attention_looks_as_it_attends():
    layer = UnscaledAttention(num_heads=1, key_dim=4)
    x = ops.convert_to_tensor(np.eye(4, dtype="float32")[np.newaxis, :2])
    layer.build(x.shape, x.shape)
    layer.set_weights([np.eye(4)] * 4)
    e = np.e  # products of unit vectors: 1 with itself, 0 with the other
    assert_close(
        layer.weights_of(x, x), [[[[e / (e + 1), 1 / (e + 1)], [1 / (e + 1), e / (e + 1)]]]]
    )
    # The future stays hidden.
    future_hidden = np.array([[[True, False], [True, True]]])
    assert_close(layer.weights_of(x, x, future_hidden)[0, 0, 0], [1.0, 0.0])


def test_unscaled_embeddings_come_out_of_the_sum_as_they_are_in_the_matrix():
    backbone = randomize(BackboneWithUnscaledEmbedding(**TINY))
    ids = ops.convert_to_tensor([[3, 7]])
    x = backbone.decoder_embedding(backbone.token_embedding(ids), ops.ones_like(ids))
    matrix = to_numpy(backbone.token_embedding.embeddings)
    assert_close(x[0] - backbone.decoder_embedding.table[:2], matrix[[3, 7]], atol=1e-5)


def test_the_logits_of_unscaled_embeddings_are_products_with_the_matrix():
    layer = UnscaledEmbedding(5, 4)
    layer.build()
    x = np.arange(8, dtype="float32").reshape(1, 2, 4)
    assert_close(layer(x, reverse=True), x @ to_numpy(layer.embeddings).T)
    assert_close(layer.output_kernel(), to_numpy(layer.embeddings).T)


def test_a_norm_alone_forgets_its_input():
    layer = NormAlone(dropout=0.0)
    x = ops.convert_to_tensor([[[7.0, 5.0]]])  # which would make (8, 8) of (1, 3)
    # (1, 3) has mean 2 and deviation 1.
    assert_close(layer(x, sublayer=lambda x: x * 0 + ops.convert_to_tensor([1.0, 3.0])),
                 [[[-1.0, 1.0]]], atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("backbone_cls", BACKBONES)
def test_the_search_runs_the_model_that_was_trained(backbone_cls, seed):
    model = randomize(backbone_cls(**TINY))
    rng = np.random.default_rng(seed)
    sources = rng.integers(4, TINY["vocabulary_size"], (B, S)).astype("int32")
    targets = rng.integers(4, TINY["vocabulary_size"], (B * W, T)).astype("int32")
    logits, targets = step_by_step(model, sources, targets, W)
    assert_close(logits, at_once(model, sources, targets), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backbone_cls", BACKBONES)
def test_a_part_that_lacks_makes_another_function_of_the_same_weights(backbone_cls, seed):
    model, usual = randomize(backbone_cls(**TINY)), TransformerBackbone(**TINY)
    assert [each.shape for each in model.weights] == [each.shape for each in usual.weights]
    usual.set_weights(model.get_weights())
    ids = np.random.default_rng(seed).integers(4, TINY["vocabulary_size"], (B, S))
    inputs = {
        f"{side}_{kind}": values
        for side in ("encoder", "decoder")
        for kind, values in (("token_ids", ids), ("padding_mask", np.ones_like(ids)))
    }
    ours, theirs = (each(inputs)["decoder_sequence_output"] for each in (model, usual))
    assert np.abs(to_numpy(ours) - to_numpy(theirs)).max() > 1e-3


def test_no_warmup_begins_with_the_peak_and_decays_as_ever():
    arguments = {"hidden_dim": 128, "warmup_steps": 5, "peak_learning_rate": 0.01}
    schedule, usual = NoWarmup(**arguments), WarmupSchedule(**arguments)
    assert_close([schedule(step) for step in range(5)], [0.01] * 5)
    assert_close([schedule(step) for step in range(5, 50)], [usual(step) for step in range(5, 50)])
    # Two batches make an update: the fifth update begins with batch 8.
    schedule = NoWarmup(**arguments, gradient_accumulation_steps=2)
    assert_close([schedule(0), schedule(9), schedule(10)], [0.01, 0.01, 0.01 * (6 / 5) ** -0.5])
