"""Our attention beside that of Keras, on the same backend."""

from functools import partial

import keras
import numpy as np
from keras import ops

from aiayn_keras.layers import MultiHeadAttention
from tests.fidelity.cases import MASK, normal
from tests.fidelity.differences import SEED, Comparison, differences
from tests.fidelity.gradients import run_keras, weighted_sum
from tests.helpers import B, D, H, K, S, T

MEMORY_DIM = 10


def compare_attention(use_bias):
    random = np.random.default_rng(SEED)
    ours = MultiHeadAttention(H, K, use_bias=use_bias)
    ours.build((B, T, D), (B, S, MEMORY_DIM))
    theirs = keras.layers.MultiHeadAttention(H, K, use_bias=use_bias)
    theirs.build((B, T, D), (B, S, MEMORY_DIM))
    for variable, other in zip(ours.weights, theirs.weights, strict=True):
        variable.assign(normal(random, *variable.shape) * 0.5)
        other.assign(ops.reshape(variable, other.shape))

    inputs = {"query": normal(random, B, T, D), "memory": normal(random, B, S, MEMORY_DIM)}
    weights = normal(random, B, T, D)
    our_run = run_keras(
        lambda query, memory: weighted_sum(ours(query, memory, MASK), weights),
        ours.trainable_variables,
        **inputs,
    )
    their_run = run_keras(
        lambda query, memory: weighted_sum(theirs(query, memory, attention_mask=MASK), weights),
        theirs.trainable_variables,
        **inputs,
    )
    in_our_layout = {
        name: gradient.reshape(our_run.gradients[name].shape)
        for name, gradient in zip(our_run.gradients, their_run.gradients.values(), strict=True)
    }
    return differences(our_run, their_run._replace(gradients=in_our_layout))


def comparisons():
    reference = "keras.layers.MultiHeadAttention"
    return [
        Comparison(reference, 1e-5, partial(compare_attention, use_bias=True)),
        Comparison(f"{reference}, no biases", 1e-5, partial(compare_attention, use_bias=False)),
    ]
