import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.layers import ReversibleEmbedding
from aiayn_keras.optimization import LabelSmoothedCrossEntropy, label_smoothed_cross_entropy
from tests.fidelity.gradients import run_keras, weighted_sum
from tests.helpers import B, D, T, assert_close
from tests.layers.helpers import normal, to_numpy

V = 19
# Keras transposes a vector by `.T` on PyTorch.
pytestmark = pytest.mark.filterwarnings("ignore:.*The use of `x.T` on tensors:UserWarning")


@pytest.fixture
def embedding():
    layer = ReversibleEmbedding(V, D)
    layer.build()
    return layer


def gradient_of_logits(layer, hidden_states, weights):
    """Gradient `(B, T, D)` of logits `(B, T, V)`, weighted and summed, to the hidden states."""
    run = run_keras(lambda x: weighted_sum(layer(x, reverse=True), weights), [], x=hidden_states)
    return run.gradients["x"]


def test_one_matrix_looks_up_and_projects(embedding):
    matrix = to_numpy(embedding.embeddings)
    tokens, hidden_states = np.random.randint(0, V, (B, T)), normal(B, T, D)
    assert_close(embedding(ops.convert_to_tensor(tokens)), matrix[tokens])
    assert_close(embedding(hidden_states, reverse=True), hidden_states @ matrix.T, 1e-4, 1e-5)


def test_gradients_pass_a_quantized_matrix(embedding):
    """Rounded hidden states have no gradient of their own: it is that of the product."""
    hidden_states, weights = normal(B, T, D), normal(B, T, V)
    expected = weights @ to_numpy(embedding.embeddings)
    assert_close(gradient_of_logits(embedding, hidden_states, weights), expected, 1e-4, 1e-4)
    embedding.quantize("int8")
    actual = gradient_of_logits(embedding, hidden_states, weights)
    assert np.abs(actual - expected).max() < 0.02 * np.abs(expected).max()


def test_a_quantized_matrix_projects_as_keras_own_does(embedding):
    other = keras.layers.ReversibleEmbedding(V, D)
    other.build()
    other.set_weights(embedding.get_weights())
    hidden_states = normal(B, T, D)
    for layer in (embedding, other):
        layer.quantize("int8")
    assert_close(embedding(hidden_states, reverse=True), other(hidden_states, reverse=True))


@pytest.fixture(params=[True, False], ids=["tied", "untied"])
def biased(request):
    layer = ReversibleEmbedding(V, D, tie_weights=request.param, logits_bias=True)
    layer.build()
    layer.logits_bias.assign(normal(V))
    return layer


def test_logits_have_a_bias_and_may_have_a_matrix_of_their_own(biased):
    matrix = biased.embeddings if biased.tie_weights else biased.reverse_embeddings
    matrix = to_numpy(matrix).T if biased.tie_weights else to_numpy(matrix)
    hidden_states = normal(B, T, D)
    expected = hidden_states @ matrix + to_numpy(biased.logits_bias)
    assert_close(biased(hidden_states, reverse=True), expected, 1e-4, 1e-5)
    assert_close(biased.output_kernel(), matrix)
    assert_close(biased.matrix(), biased.embeddings)


def test_the_bias_stays_when_the_matrix_is_quantized(biased):
    hidden_states, weights = normal(B, T, D), normal(B, T, V)
    expected = to_numpy(biased(hidden_states, reverse=True))
    matrix, kernel = to_numpy(biased.matrix()), to_numpy(biased.output_kernel())
    biased.quantize("int8")
    actual = to_numpy(biased(hidden_states, reverse=True))
    assert np.abs(actual - expected).max() < 0.02 * np.abs(expected).max()
    assert np.abs(to_numpy(biased.matrix()) - matrix).max() < 0.01 * np.abs(matrix).max()
    assert np.abs(to_numpy(biased.output_kernel()) - kernel).max() < 0.01 * np.abs(kernel).max()
    gradient = gradient_of_logits(biased, hidden_states, weights)
    expected = weights @ kernel.T
    assert np.abs(gradient - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("is_quantized", [False, True])
def test_a_bias_is_saved_with_the_matrix(biased, is_quantized, tmp_path):
    inputs = keras.Input((T,), dtype="int32")
    model = keras.Model(inputs, biased(biased(inputs), reverse=True))
    if is_quantized:
        biased.quantize("int8")
    tokens = np.random.randint(0, V, (B, T))
    model.save(tmp_path / "model.keras")
    assert_close(keras.saving.load_model(tmp_path / "model.keras")(tokens), model(tokens))


def test_padding_behind_a_shared_embedding_has_no_weight_in_a_loss():
    embedding = ReversibleEmbedding(V, D, mask_zero=True)
    inputs = keras.Input((T,), dtype="int32")
    model = keras.Model(inputs, embedding(embedding(inputs), reverse=True))
    tokens, labels = np.random.randint(1, V, (2, B, T))
    tokens[0, 3:] = tokens[1, 5:] = 0
    losses = label_smoothed_cross_entropy(labels, model(tokens), 0.1)
    model.compile(loss=LabelSmoothedCrossEntropy(0.1))
    expected = to_numpy(losses)[tokens != 0].mean()
    assert_close(model.evaluate(tokens, labels, verbose=0), expected, rtol=1e-5)
