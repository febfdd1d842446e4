import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import AddNorm
from tests.fidelity.against_numpy import Float64View, central_differences
from tests.fidelity.differences import Differences, Run, differences, relative_difference
from tests.fidelity.gradients import run_keras
from tests.fidelity.report import markdown_table
from tests.helpers import assert_close

pytestmark = pytest.mark.slow


def dense_layer(units=3):
    layer = keras.layers.Dense(units)
    layer.build((2, 2))
    return layer


def test_run_keras_by_hand():
    # (a x)² at a = 3, x = 2: 36, with gradients 2 a x² = 24 and 2 a² x = 36.
    a = keras.Variable(3.0, name="a")
    unused = keras.Variable([7.0, 8.0], name="unused")

    def square(x):
        return ops.square(a * x), a * x

    run = run_keras(square, [a, unused], x=np.float32(2.0))
    assert_close(run.loss, 36.0)
    assert_close(run.output, 6.0)
    assert run.gradients.keys() == {a.path, unused.path, "x"}
    assert_close(run.gradients[a.path], 24.0)
    assert_close(run.gradients["x"], 36.0)
    assert_close(run.gradients[unused.path], [0.0, 0.0])


def test_run_keras_sums_the_rows_of_an_embedding_s_gradient():
    embedding = keras.layers.Embedding(4, 1)
    embedding.build((3,))

    def total(weights):
        rows = embedding(np.array([2, 1, 2]))
        return ops.sum(rows[:, 0] * weights), rows

    run = run_keras(total, embedding.trainable_variables, weights=np.array([1.0, 10, 100], "f"))
    (gradient,) = (value for name, value in run.gradients.items() if name != "weights")
    assert_close(gradient, [[0.0], [10.0], [101.0], [0.0]])


def test_run_keras_refuses_variables_of_one_name():
    variables = [keras.Variable(1.0, name="a"), keras.Variable(1.0, name="a")]
    with pytest.raises(AssertionError, match="not unique"):
        run_keras(lambda x: (x * variables[0] * variables[1], x), variables, x=np.float32(1.0))


def test_a_difference_is_relative_to_the_largest_magnitude():
    assert relative_difference([1.0, -4.0], [1.5, -5.0]) == 0.2
    assert relative_difference([1.0, -4.0], [1.5, -5.0], scale=[0.0, -2.0]) == 0.5


def test_different_shapes_and_all_zeros_are_no_comparison():
    with pytest.raises(AssertionError, match="Shapes differ"):
        relative_difference(np.ones((2, 1)), np.ones((1, 2)))
    with pytest.raises(AssertionError, match="0 everywhere"):
        relative_difference(np.ones(2), np.zeros(2))


def test_what_is_too_large_or_not_a_number_is_beyond_the_bound():
    found = Differences({"loss": 0.5, "output": float("nan")}, {"kernel": 2.0})
    assert found.beyond(1.0).keys() == {"output", "d/d kernel"}


def test_outputs_count_only_where_asked():
    gradients = {"x": np.ones(2)}
    ours = Run(np.ones(()), np.array([1.0, 5.0]), gradients)
    theirs = Run(np.ones(()), np.array([1.0, 4.0]), gradients)
    assert differences(ours, theirs).forward["output"] == 0.25
    assert differences(ours, theirs, at=np.array([True, False])).forward["output"] == 0.0
    with pytest.raises(AssertionError, match="Names differ"):
        differences(ours, theirs._replace(gradients={"y": np.ones(2)}))


def test_small_steps_give_the_gradient():
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    gradient = central_differences(lambda: np.sum(array**3), array)
    assert_close(gradient, 3 * array**2)
    np.testing.assert_array_equal(array, [[1, 2], [3, 4]])


def test_a_view_reads_other_weights_of_the_same_layer():
    layer = AddNorm(epsilon=0.25)
    layer.build((2, 3))
    gamma, beta = np.full(3, 7.0), np.full(3, 8.0)
    norm = layer.layer_norm
    view = Float64View(layer, {norm.gamma.path: gamma, norm.beta.path: beta})
    assert view.layer_norm.gamma is gamma
    assert view.layer_norm.beta is beta
    assert view.layer_norm.epsilon == view.epsilon == 0.25


def test_no_weight_may_be_left_out():
    torch = pytest.importorskip("torch")
    from tests.fidelity.torch_weights import Pair, copy_weights, dense_pairs

    ours, theirs = dense_layer(), torch.nn.Linear(2, 3)
    pairs = list(dense_pairs(ours, theirs))
    copy_weights(pairs, ours, theirs)
    assert_close(ours.kernel, theirs.weight.detach().numpy().T)
    assert_close(ours.bias, theirs.bias.detach().numpy())
    with pytest.raises(AssertionError, match="Not our weights"):
        copy_weights(pairs[:1], ours, theirs)
    part = dense_layer(1)
    parts = [
        Pair(part.kernel, theirs.weight, lambda weight: weight[:1].T),
        Pair(part.bias, theirs.bias, lambda bias: bias[:1]),
    ]
    with pytest.raises(AssertionError, match="Their weight is not ours as a whole"):
        copy_weights(parts, part, theirs)


def test_no_rectifier_is_left_near_its_kink():
    torch = pytest.importorskip("torch")
    from tests.fidelity.against_torch_models import avoid_kinks

    linear = torch.nn.Linear(1, 3)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0], [1.0], [1.0]]))
        linear.bias.copy_(torch.tensor([0.0, -1.0, 0.5]))
    # The first unit is moved off 0, then on, for it comes near 0 at the second position.
    x = torch.tensor([[[0.0], [-0.3], [-4.0]]])
    avoid_kinks([linear], lambda: linear(x), margin=0.1)
    assert_close(linear.bias.detach().numpy(), [0.6, -1.0, 0.5])


def test_the_report_shows_the_largest_differences_and_what_is_beyond_its_bound():
    measured = {
        "jax": {"a": [1.25e-7, 2e-6], "b": None},
        "torch": {"a": [3e-7, 4e-4], "b": [5e-7, 6e-7]},
    }
    assert markdown_table(measured, {"a": 1e-5, "b": 1e-4}).splitlines() == [
        "| reference | bound | JAX forward | JAX gradient | PyTorch forward | PyTorch gradient |",
        "|---|---|---|---|---|---|",
        "| a | 1e-05 | 1.2e-07 | 2.0e-06 | 3.0e-07 | **4.0e-04** |",
        "| b | 1e-04 | – | – | 5.0e-07 | 6.0e-07 |",
    ]
