"""Values that are not text are refused before training, and rows of other libraries are read."""

import keras
import numpy as np
import pytest

from aiayn_keras.models.batch_sources import is_grain, preprocessed_batches
from tests.helpers import assert_close
from tests.models.test_training_steps import (
    BACKEND,
    EAGER,
    ENGLISH,
    GERMAN,
    TEXT,
    OneBatch,
    make_text_model,
)


def batches_of(data, **options):
    """The first batch, as it is given to the preprocessor."""
    given = []

    def preprocess(*parts):
        given.append(parts)
        return np.zeros(2)

    batches, _ = preprocessed_batches(data, preprocess, **options)
    if isinstance(batches, keras.utils.PyDataset):
        batches[0]
    else:
        next(iter(batches))
    return given[0]


@pytest.mark.parametrize("wrong", [None, float("nan"), 3, ["a"]], ids=str)
@pytest.mark.parametrize("kind", ["list", "array", "generator", "arrays of a generator"])
def test_what_is_no_string_is_refused_by_its_number(kind, wrong):
    texts = ["a red bus", wrong]
    array = np.empty(2, dtype=object)
    array[:] = texts
    data = {
        "list": (texts, GERMAN, None),
        "array": (GERMAN, array, None),
        "generator": iter([(texts, GERMAN)]),
        "arrays of a generator": iter([(array, GERMAN)]),
    }[kind]
    with pytest.raises(ValueError, match=r"must be strings. Received: text 1 is .*Leave out pairs"):
        batches_of(data)


@pytest.mark.parametrize("wrong", [float("nan"), 3, True, ["a"]], ids=str)
def test_what_is_no_string_is_refused_before_all_strings(wrong):
    """NumPy writes a list of a number and strings as strings: "nan" was a word to learn."""
    for data in ((GERMAN, [wrong, "a red bus"], None), iter([([wrong, "a red bus"], GERMAN)])):
        with pytest.raises(ValueError, match=r"must be strings. Received: text 0 is "):
            batches_of(data)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (([], []), "at least one pair of texts"),
        ([], "at least one pair of texts"),
        (([b"a", b"ol\xe9"], ["a", "b"]), r"must be UTF-8. Received: text 1 is b'ol\\xe9'"),
        ((ENGLISH, GERMAN, [1.0] * (len(GERMAN) - 1) + [np.nan]), "`sample_weight` must be finite"),
    ],
    ids=["empty sides", "an empty list", "Latin-1", "a weight"],
)
def test_batches_that_cannot_be_learned_are_refused(batch, message):
    """They ended in an error of the tokenizer's graph, or made all weights NaN."""
    with pytest.raises(ValueError, match=message):
        batches_of(iter([batch]))


def test_a_list_of_texts_alone_is_the_sources():
    """Two texts were taken for a source and its target, and more for nothing at all."""
    assert batches_of(iter([ENGLISH])) == (ENGLISH, None, None)


@pytest.mark.parametrize(
    "data",
    [
        (list(zip(ENGLISH, GERMAN, strict=True)), GERMAN, None),
        (np.array(ENGLISH)[:, np.newaxis], np.array(GERMAN)[:, np.newaxis], None),
        iter([(np.array(ENGLISH)[:, np.newaxis], GERMAN)]),
        zip(ENGLISH, GERMAN, strict=True),
        iter([{"encoder_text": "a red bus", "decoder_text": "ein roter Bus"}]),
        (iter, ENGLISH, None),
    ],
    ids=["pairs", "a column", "batches of a column", "zip", "single texts", "a function"],
)
def test_texts_of_another_shape_are_refused(data):
    with pytest.raises(ValueError, match=r"Texts must be lists or arrays of strings. Received: "):
        batches_of(data)


def test_single_texts_of_a_tf_data_set_are_refused():
    tf = pytest.importorskip("tensorflow")
    data = tf.data.Dataset.from_tensor_slices((ENGLISH, GERMAN))
    with pytest.raises(ValueError, match=r"call its `batch\(64\)`.* Received: texts of shape \(\)"):
        batches_of(data)


def test_texts_of_a_tf_data_set_that_are_not_utf_8_are_refused():
    tf = pytest.importorskip("tensorflow")
    latin_1 = [text.encode("latin-1") for text in ("ein Auto", "eine Tür")]
    data = tf.data.Dataset.from_tensor_slices((["a car", "a door"], latin_1)).batch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be UTF-8.*eine T\ufffdr"):
        batches_of(data)


def test_unusual_utf_8_of_a_tf_data_set_is_taken():
    tf = pytest.importorskip("tensorflow")
    texts = ["a\0b", "\ufeff \ufffd", "\uffff😀"]
    data = tf.data.Dataset.from_tensor_slices((texts, texts)).batch(3)
    batches, _ = preprocessed_batches(data, make_text_model().preprocessor)
    ((x, *_),) = list(batches)
    assert len(x["encoder_token_ids"]) == 3


def test_batches_of_unequal_lengths_and_weights_that_are_none_are_refused():
    for match, data in {
        r"equal length. Received: lengths \[1, 2\]": iter([(ENGLISH[:1], GERMAN)]),
        "must be numbers. Received: ": (ENGLISH, GERMAN, ["a", "b"]),
        "at least one pair": ([], [], None),
    }.items():
        with pytest.raises(ValueError, match=match):
            batches_of(data)
    preprocessor = make_text_model().preprocessor
    with pytest.raises(ValueError, match="Received: 1 weights, 2 pairs"):
        preprocessor(ENGLISH, GERMAN, [1.0])
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"`batch_size` must be at least 1 .*={size}"):
            batches_of((ENGLISH, GERMAN, None), batch_size=size)


def test_strings_of_every_type_of_numpy_are_texts():
    for dtype in (object, "U", "S", np.dtypes.StringDType()):
        texts = np.array(["a", "b"], dtype=dtype)
        assert batches_of((texts, texts, None)) == (["a", "b"], ["a", "b"], None)


class Rows:
    """Rows like those of a `datasets.Dataset`, which has methods of Grain's names."""

    map = batch = None

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return [{"encoder_text": "a", "decoder_text": "b"}] * 2 if index == slice(None) else None

    def __iter__(self):
        return iter(self[:])


def test_rows_of_a_table_are_not_taken_for_grain_which_has_its_own_order():
    assert not is_grain(Rows())
    with pytest.raises(ValueError, match=r"text 0 is \{'encoder_text': 'a'"):
        make_text_model().fit(Rows(), verbose=0)


def test_batches_validate_a_training_in_memory_whose_batch_size_is_given():
    history = make_text_model().fit(TEXT, batch_size=2, validation_data=OneBatch(TEXT), verbose=0)
    assert history.history["val_loss"]


def test_a_loader_without_a_length_needs_steps():
    torch = pytest.importorskip("torch")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return zip(ENGLISH, GERMAN, strict=True)

    loader = torch.utils.data.DataLoader(Stream(), batch_size=2)
    model = make_text_model()
    with pytest.raises(ValueError, match=r"give `steps_per_epoch` .* Received: Stream"):
        model.fit(loader, verbose=0)
    history = model.fit(loader, epochs=2, steps_per_epoch=1, verbose=0).history
    assert len(history["loss"]) == 2


@pytest.mark.parametrize("steps", [None, 2])
def test_a_loader_validates_on_the_same_batches_in_every_epoch(steps):
    """From the second epoch on, they were the first two again, and then the next."""
    torch = pytest.importorskip("torch")
    pairs = [*zip(ENGLISH, GERMAN, strict=True), ("a", "ein"), ("two red birds", "zwei rote Vögel")]
    loader = torch.utils.data.DataLoader([*pairs, ("bus", "Bus")], batch_size=2)
    model = make_text_model()
    at_once = {"steps_per_execution": 2} if BACKEND != "torch" else {}
    model.compile(keras.optimizers.SGD(0.0), **EAGER, **at_once)
    history = model.fit(
        TEXT, epochs=4, validation_data=loader, validation_steps=steps, verbose=0
    ).history
    pairs = [*zip(*list(loader.dataset)[: None if steps is None else 4], strict=True)]
    expected = model.evaluate(*map(list, pairs), batch_size=2, verbose=0)[0]
    assert_close(history["val_loss"], [expected] * 4, rtol=1e-5)


def test_a_loader_trains_on_as_many_batches_as_asked_for_and_goes_on_with_the_next():
    torch = pytest.importorskip("torch")
    seen = []

    def note(texts, *_):
        seen.append(texts[0])
        return np.zeros(2)

    texts = ["a", "b", "c"]
    loader = torch.utils.data.DataLoader(list(zip(texts, texts, strict=True)), batch_size=1)
    batches, steps = preprocessed_batches(loader, note, steps=2)
    assert steps == 2
    batches = iter(batches)
    for _ in range(5):
        next(batches)
    assert seen == ["a", "b", "c", "a", "b"]


def test_texts_of_unknown_rank_are_a_batch():
    """TensorFlow could not tell which of them were not UTF-8."""
    tf = pytest.importorskip("tensorflow")
    spec = tf.TensorSpec(None, "string")
    data = tf.data.Dataset.from_generator(
        lambda: iter([(ENGLISH, GERMAN)]), output_signature=(spec, spec)
    )
    model = make_text_model()
    expected = model.evaluate(TEXT, verbose=0)
    assert_close(model.evaluate(data, steps=1, verbose=0), expected, rtol=1e-5)
