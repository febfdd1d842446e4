"""The loss that projects, compared with its parts one after the other."""

import keras
import numpy as np
import pytest

from aiayn_keras.backend import projected_cross_entropy
from aiayn_keras.optimization import label_smoothed_cross_entropy
from tests.helpers import B, D, T, assert_close

BACKEND = keras.config.backend()
pytestmark = pytest.mark.skipif(BACKEND == "torch", reason="PyTorch computes the logits.")
only_jax = pytest.mark.skipif(BACKEND != "jax", reason="Only JAX divides the positions.")
V = 11
SMOOTHING = 0.1


def arrays(positions=T):
    random = np.random.default_rng(0)
    weights = random.integers(0, 3, (B, positions)).astype("float32")
    labels = random.integers(0, V, (B, positions)).astype("int32")
    shapes = (B, positions, D), (V, D)
    return *(random.normal(size=shape).astype("float32") for shape in shapes), labels, weights


def in_parts(hidden_states, matrix, labels, weights, label_smoothing):
    """Computes `projected_cross_entropy` from all logits at once."""
    logits = keras.ops.matmul(hidden_states, keras.ops.transpose(matrix))
    losses = label_smoothed_cross_entropy(labels, logits, label_smoothing)
    log_probs = keras.ops.log_softmax(logits)
    of_labels = keras.ops.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
    is_best = keras.ops.argmax(logits, axis=-1) == labels
    return keras.ops.sum(losses * weights), of_labels, is_best


def differentiated(function, arrays, label_smoothing):
    """A list of three times the loss, the statistics, and the gradients of both factors."""
    hidden_states, matrix, labels, weights = arrays

    def loss(hidden_states, matrix):
        value, *statistics = function(hidden_states, matrix, labels, weights, label_smoothing)
        return 3.0 * value, statistics

    if BACKEND == "jax":
        import jax

        results = jax.value_and_grad(loss, (0, 1), has_aux=True)(hidden_states, matrix)
        return jax.tree.leaves(results)
    import tensorflow as tf

    factors = [tf.constant(hidden_states), tf.constant(matrix)]
    with tf.GradientTape() as tape:
        tape.watch(factors)
        value, statistics = tf.function(loss)(*factors)
    return [value, *statistics, *tape.gradient(value, factors)]


# Of 2 rows, 12 hidden units: 8 chunks, the last of them padded; 3 chunks; 1.
@pytest.mark.parametrize("positions", [51, 20, T])
@pytest.mark.parametrize("label_smoothing", [0.0, SMOOTHING])
def test_loss_statistics_and_gradients_are_those_of_all_logits(positions, label_smoothing):
    actual, expected = (
        differentiated(function, arrays(positions), label_smoothing)
        for function in (projected_cross_entropy, in_parts)
    )
    for ours, theirs in zip(actual, expected, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_label_without_a_chance_has_its_loss():
    """Its probability is too small for float32, so its logarithm would be infinite."""
    hidden_states, matrix, labels, weights = arrays()
    hidden_states *= 100.0
    actual, expected = (
        differentiated(function, (hidden_states, matrix, labels, weights), SMOOTHING)
        for function in (projected_cross_entropy, in_parts)
    )
    assert keras.ops.min(expected[1]) < -200
    for ours, theirs in zip(actual, expected, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_a_loss_by_hand():
    states = np.array([[[1.0, 0.0], [0.0, 2.0]]], "float32")
    matrix = np.log(np.array([[8.0, 1.0], [1.0, 1.0], [1.0, 4.0]], "float32"))
    labels, weights = np.array([[0, 1]]), np.array([[1.0, 2.0]], "float32")
    loss, log_probs, is_best = projected_cross_entropy(states, matrix, labels, weights, 0.0)
    assert_close(np.exp(log_probs), [[8 / 10, 1 / 18]])
    assert_close(loss, -np.log(8 / 10) - 2 * np.log(1 / 18))
    assert keras.ops.convert_to_numpy(is_best).tolist() == [[True, False]]


@only_jax
def test_the_logits_of_all_positions_are_in_no_array():
    import jax

    args = arrays(positions=51)
    program = jax.make_jaxpr(
        jax.grad(lambda *args: projected_cross_entropy(*args, SMOOTHING)[0], (0, 1))
    )(*args)
    sizes = [np.prod(shape) for shape in _shapes(program.jaxpr) if shape[-1:] == (V,)]
    assert max(sizes) == B * 7 * V


def _shapes(jaxpr):
    """Shapes of all that a program computes, and the programs in it."""
    from jax.extend.core import ClosedJaxpr

    for equation in jaxpr.eqns:
        yield from (variable.aval.shape for variable in equation.outvars)
        for inner in equation.params.values():
            if isinstance(inner, ClosedJaxpr):
                yield from _shapes(inner.jaxpr)
