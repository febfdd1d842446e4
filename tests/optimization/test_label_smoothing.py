import keras
import numpy as np
import pytest

from aiayn_keras.optimization import LabelSmoothedCrossEntropy, label_smoothed_cross_entropy
from tests.helpers import B, T, assert_close
from tests.layers.helpers import gradient

V = 11


def batch():
    labels = np.random.randint(0, V, size=(B, T))
    logits = np.random.normal(size=(B, T, V)).astype("float32") * 3
    return labels, logits


def numpy_loss(labels, logits, smoothing):
    """Cross-entropy with the whole smoothed distribution written out."""
    logits = logits.astype("float64")
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    target = np.full(logits.shape, smoothing / V)
    for b, t in np.ndindex(labels.shape):
        target[b, t, labels[b, t]] += 1 - smoothing
    return -(target * log_probs).sum(axis=-1)


def test_loss_by_hand():
    # Probabilities ½, ¼, ¼ and the label first, ε = 0.3: target 0.8, 0.1, 0.1.
    logits = np.log([[[0.5, 0.25, 0.25]]]).astype("float32")
    labels = np.array([[0]])
    log2 = 0.69314718
    assert_close(label_smoothed_cross_entropy(labels, logits, 0.0), [[log2]])
    assert_close(label_smoothed_cross_entropy(labels, logits, 0.3), [[0.8 * log2 + 0.2 * 2 * log2]])


def test_labels_of_another_shape_are_refused():
    labels, logits = batch()
    for wrong in (np.eye(V)[labels], labels[..., None], labels[:, :1], labels[:, 0]):
        with pytest.raises(ValueError, match=r"`labels` .* must be integer ids with the shape"):
            LabelSmoothedCrossEntropy()(wrong, logits)


@pytest.mark.parametrize("floatx", ["float16", "bfloat16", "float64"])
def test_loss_and_gradient_are_those_of_float32_whatever_floatx_is(floatx):
    """Keras rounded the labels to other tokens, and TensorFlow had no gradient."""
    usual = keras.config.floatx()
    many_tokens, labels = 3000, np.array([[2999, 2051, 257]])
    logits = np.random.normal(size=(1, 3, many_tokens)).astype("float32")
    expected = LabelSmoothedCrossEntropy()(labels, logits)
    expected_gradient = gradient(lambda x: LabelSmoothedCrossEntropy()(labels, x))(logits)
    keras.config.set_floatx(floatx)
    try:
        loss = LabelSmoothedCrossEntropy()
        assert_close(loss(labels, logits), expected, 1e-6)
        assert_close(gradient(lambda x: loss(labels, x))(logits), expected_gradient, 1e-6, 1e-8)
    finally:
        keras.config.set_floatx(usual)


def test_a_loss_in_half_precision_is_refused():
    with pytest.raises(ValueError, match="`dtype` must be float32 or float64"):
        LabelSmoothedCrossEntropy(dtype="bfloat16")


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_loss_is_cross_entropy_with_the_smoothed_target(smoothing):
    labels, logits = batch()
    loss = label_smoothed_cross_entropy(labels, logits, smoothing)
    assert_close(loss, numpy_loss(labels, logits, smoothing), 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_is_softmax_less_the_smoothed_target(smoothing, dtype):
    labels, logits = batch()
    logits = keras.ops.convert_to_numpy(
        keras.ops.cast(keras.ops.cast(logits, dtype), "float32")
    )  # as rounded
    upstream = np.random.normal(size=(B, T)).astype("float32")

    def weighted_loss(logits):
        logits = keras.ops.cast(logits, dtype)
        loss = label_smoothed_cross_entropy(labels, logits, smoothing)
        return keras.ops.sum(keras.ops.multiply(upstream, loss))

    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    target = smoothing / V + (1 - smoothing) * (labels[..., None] == np.arange(V))
    expected = (probabilities - target) * upstream[..., None]
    rtol = {"float32": 1e-5, "bfloat16": 5e-3}[dtype]
    assert_close(gradient(weighted_loss)(logits), expected, rtol, rtol * 0.1)


def test_loss_equals_that_of_keras_on_one_hot_labels():
    labels, logits = batch()
    theirs = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    one_hot = keras.ops.one_hot(labels, V)
    assert_close(LabelSmoothedCrossEntropy(0.1)(labels, logits), theirs(one_hot, logits))


def test_padding_neither_adds_nor_divides():
    labels, logits = batch()
    weights = np.ones((B, T), "float32")
    weights[0, 3:] = weights[1, 5:] = 0
    loss = LabelSmoothedCrossEntropy(0.1)(labels, logits, sample_weight=weights)
    real = weights.astype(bool)
    assert_close(loss, numpy_loss(labels, logits, 0.1)[real].mean())
    labels[~real], logits[~real] = 7, 1e4
    assert_close(LabelSmoothedCrossEntropy(0.1)(labels, logits, sample_weight=weights), loss)


@pytest.mark.parametrize("shape", [(B,), (B, 1)])
def test_a_weight_of_a_row_is_that_of_all_its_tokens(shape):
    labels, logits = batch()
    labels, logits = labels[:, :B], logits[:, :B]  # square: no error would tell rows from columns
    weights = np.arange(1.0, B + 1)
    expected = (numpy_loss(labels, logits, 0.1).mean(axis=1) * weights).sum() / weights.sum()
    loss = LabelSmoothedCrossEntropy(0.1)
    assert_close(loss(labels, logits, sample_weight=weights.reshape(shape)), expected, 1e-5)


def test_half_precision_logits_are_summed_in_float32():
    labels, logits = batch()
    logits = keras.ops.cast(logits, "bfloat16")
    loss = label_smoothed_cross_entropy(labels, logits, 0.1)
    assert keras.backend.standardize_dtype(loss.dtype) == "float32"
    rounded = keras.ops.convert_to_numpy(keras.ops.cast(logits, "float32"))
    assert_close(loss, numpy_loss(labels, rounded, 0.1), 1e-5, 1e-5)


def test_default_is_the_paper_s():
    assert LabelSmoothedCrossEntropy().label_smoothing == 0.1


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_smoothing_outside_its_range_is_refused(smoothing):
    with pytest.raises(ValueError, match=rf"`label_smoothing` must be at least 0.*{smoothing}"):
        LabelSmoothedCrossEntropy(smoothing)


def test_config_round_trip():
    loss = LabelSmoothedCrossEntropy(0.25, reduction="sum", name="mine")
    other = keras.losses.deserialize(keras.losses.serialize(loss))
    assert isinstance(other, LabelSmoothedCrossEntropy)
    assert other.get_config() == loss.get_config()
    assert (other.label_smoothing, other.reduction, other.name) == (0.25, "sum", "mine")
