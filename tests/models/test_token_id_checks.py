"""Token ids and labels that a model does not have are refused, whatever gives them."""

import keras
import numpy as np
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM
from aiayn_keras.models.token_id_checks import with_checked_ids
from tests.helpers import B, S, T, assert_close, slow_but
from tests.models.test_training_steps import EAGER

V = 11
MASKS = {"encoder_padding_mask": (B, S), "decoder_padding_mask": (B, T)}
WRONG = {"below 0": -1, "of Hugging Face": -100, "too great": V, "fraction": 2.5, "NaN": np.nan}


class Batches(keras.utils.PyDataset):
    """A batch, twice."""

    def __init__(self, batch, **options):
        super().__init__(**options)
        self._batch = batch

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self._batch


def of_tensors(batch):
    return keras.tree.map_structure(keras.ops.convert_to_tensor, batch)


def of_tf_data(batch):
    tf = pytest.importorskip("tensorflow")
    return (tf.data.Dataset.from_tensors(batch).repeat(2),)


def of_torch(batch):
    data = pytest.importorskip("torch.utils.data")
    return (data.DataLoader([batch] * 2, batch_size=None),)


def of_grain(batch):
    return (pytest.importorskip("grain").MapDataset.source([batch] * 2),)


KINDS = {
    "arrays": lambda batch: batch,
    "tensors": of_tensors,
    "PyDataset": lambda batch: (Batches(batch),),
    "PyDataset with workers": lambda batch: (Batches(batch, workers=2),),
    "generator": lambda batch: (iter([batch] * 4),),
    "tf.data": of_tf_data,
    "DataLoader": of_torch,
    "Grain": of_grain,
}


def make_batch():
    draw = np.random.default_rng(1).integers
    x = {"encoder_token_ids": draw(1, V, (B, S)), "decoder_token_ids": draw(1, V, (B, T))}
    x |= {name: np.ones(shape, "int32") for name, shape in MASKS.items()}
    return x, draw(1, V, (B, T))


def make_model():
    keras.utils.set_random_seed(1)
    model = TransformerSeq2SeqLM(TransformerBackbone(V, 1, 2, 8, 12, dropout=0.0))
    model.compile(keras.optimizers.SGD(0.1), **EAGER)
    return model


def with_wrong(batch, part, value):
    """The batch with a value in the last place of `part`."""
    x, y = batch
    array = (y if part == "y" else x[part]).astype("float32" if value % 1 else "int32")
    array[-1, -1] = value
    return (x, array) if part == "y" else (x | {part: array}, y)


@pytest.mark.parametrize("make_data", slow_but(["arrays", "tf.data", "DataLoader"], KINDS))
def test_what_gives_token_ids_does_not_change_the_training(make_data):
    expected = make_model().fit(Batches(make_batch()), shuffle=False, epochs=2, verbose=0)
    model, options = make_model(), {"verbose": 0, "epochs": 2}
    if make_data in (KINDS["arrays"], KINDS["tensors"]):
        options["epochs"] = 4
    if make_data is KINDS["generator"]:
        options["steps_per_epoch"] = 2
    model.fit(*make_data(make_batch()), **options)
    x, y = make_batch()
    assert_close(model.evaluate(x, y, verbose=0)[0], _evaluated(expected.model, x, y), rtol=1e-4)


def _evaluated(model, x, y):
    return model.evaluate(x, y, verbose=0)[0]


def error_of(call):
    """The text of an error, which in a graph of TensorFlow is of its own kind."""
    try:
        call()
    except Exception as error:
        return str(error).replace('\\"', '"')
    return "none"


@pytest.mark.parametrize("make_data", slow_but(set(KINDS) - {"PyDataset with workers"}, KINDS))
@pytest.mark.parametrize("part", ["encoder_token_ids", "decoder_token_ids", "y"])
def test_token_ids_that_the_model_does_not_have_are_named(make_data, part):
    name = "y" if part == "y" else f'x["{part}"]'
    values = list(WRONG.values())
    for value in values if make_data is not of_tf_data else values[1:4]:
        data = make_data(with_wrong(make_batch(), part, value))
        data, labels = data if len(data) == 2 else (*data, None)

        def read(data=data, labels=labels):
            checked = with_checked_ids(data, labels, V, has_labels=True)
            list(checked)  # the batches

        message = error_of(read)
        assert f"`{name}` must have token ids from 0 to {V - 1}." in message
        assert f"{value}" in message


@pytest.mark.parametrize("method", ["fit", "validation", "evaluate", "predict", "train_on_batch"])
def test_every_method_checks(method):
    model, right = make_model(), make_batch()
    part = "encoder_token_ids" if method == "predict" else "y"
    wrong = with_wrong(right, part, -1)
    of_batches = Batches(wrong)
    calls = {
        "fit": lambda: model.fit(of_batches, verbose=0),
        "validation": lambda: model.fit(*right, validation_data=of_batches, verbose=0),
        "evaluate": lambda: model.evaluate(of_batches, verbose=0),
        "predict": lambda: model.predict(of_batches, verbose=0),
        "train_on_batch": lambda: model.train_on_batch(*of_tensors(wrong)),
    }
    with pytest.raises(ValueError, match=r"must have token ids from 0 to 10.*Received: -1"):
        calls[method]()


def test_whole_numbers_may_be_floats():
    x, y = make_batch()
    x["encoder_token_ids"] = x["encoder_token_ids"].astype("float32")
    assert with_checked_ids(x, y.astype("float16"), V, has_labels=True) is x
    with pytest.raises(ValueError, match="Received: bool"):
        with_checked_ids(x | {"decoder_token_ids": x["decoder_token_ids"] > 1}, y, V, False)


def test_labels_of_another_loss_are_its_own():
    x, y = make_batch()
    assert with_checked_ids(x, y - V, V, has_labels=False) is x


def test_rows_of_unequal_length_are_refused():
    tf = pytest.importorskip("tensorflow")
    ragged = {"encoder_token_ids": tf.ragged.constant([[5, 8, 3], [9, 4]])}
    for x in (ragged, tf.data.Dataset.from_tensors(ragged)):
        with pytest.raises(ValueError, match=r"rows of equal length: `to_tensor\(\)` fills"):
            with_checked_ids(x, None, V, has_labels=False)
