import concurrent.futures
import sys

import keras
import numpy as np
import pytest

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLMPreprocessor,
    pack_token_ids,
)
from tests.helpers import assert_close

PAIRS = {"encoder_text": ["eins zwei", "fünf"], "decoder_text": ["one", "five nine six"]}


@pytest.fixture
def preprocessor(tokenizer):
    return TransformerSeq2SeqLMPreprocessor(tokenizer, 5, 7)


def ids(tokenizer, text):
    return tokenizer([text])[0]


def padded(tokens, length):
    return [*tokens, *[0] * (length - len(tokens))]


@pytest.mark.parametrize("other", [None, "vocabulary.spm", keras.layers.Identity()], ids=repr)
def test_a_tokenizer_of_another_kind_is_refused(other):
    with pytest.raises(TypeError, match="`tokenizer` must be a TransformerTokenizer"):
        TransformerSeq2SeqLMPreprocessor(other, 5, 7)


def test_a_pair_becomes_inputs_labels_and_weights(preprocessor, tokenizer):
    x, y, weights = preprocessor(PAIRS)
    for row, (source, target) in enumerate(zip(*PAIRS.values(), strict=True)):
        source, target = ids(tokenizer, source), ids(tokenizer, target)
        assert len(source) <= 2, "a word is a token here"
        assert_close(x["encoder_token_ids"][row], padded([*source, 3], 5))
        assert_close(x["encoder_padding_mask"][row], padded([1] * (len(source) + 1), 5))
        # KerasHub lets the decoder read the end token too; no label is left for it to predict.
        assert_close(x["decoder_token_ids"][row], padded([2, *target, 3], 7))
        assert_close(x["decoder_padding_mask"][row], padded([1] * (len(target) + 2), 7))
        assert_close(y[row], padded([*target, 3], 7))
        assert_close(weights[row], padded([1] * (len(target) + 1), 7))


def test_masks_are_integers_and_weights_are_floats_as_eagerly_so_in_a_pipeline(preprocessor):
    tf = pytest.importorskip("tensorflow")
    pipeline = tf.data.Dataset.from_tensors(PAIRS).map(preprocessor)
    for x, y, weights in (preprocessor(PAIRS), next(iter(pipeline))):
        dtypes = [keras.backend.standardize_dtype(each.dtype) for each in (*x.values(), y)]
        assert dtypes == ["int32"] * 5
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
    prompt = preprocessor.generate_preprocess(PAIRS["encoder_text"])
    assert {keras.backend.standardize_dtype(each.dtype) for each in prompt.values()} == {"int32"}


def test_the_decoder_reads_no_label_where_there_is_weight(preprocessor):
    x, y, weights = preprocessor(PAIRS)
    read = keras.ops.convert_to_numpy(x["decoder_token_ids"])
    labels, weights = (keras.ops.convert_to_numpy(array) for array in (y, weights))
    real = weights[:, 1:].astype(bool)
    np.testing.assert_array_equal(read[:, 1:][real], labels[:, :-1][real])


def test_threads_may_call_it_for_the_first_time_at_once(tokenizer):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            for _ in range(10):
                new = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
                found = list(threads.map(lambda _, new=new: new(PAIRS)[0], range(8)))
                expected = new(PAIRS)[0]
                for inputs in found:
                    for name, array in inputs.items():
                        np.testing.assert_array_equal(array, expected[name])
    finally:
        sys.setswitchinterval(interval)


def test_long_texts_are_cut_and_still_end(preprocessor, tokenizer):
    source, target = " ".join(["eins"] * 9), " ".join(["one"] * 9)
    x, y, weights = preprocessor({"encoder_text": [source], "decoder_text": [target]})
    assert_close(x["encoder_token_ids"], [[*ids(tokenizer, source)[:4], 3]])
    assert_close(x["decoder_token_ids"][0, :7], [2, *ids(tokenizer, target)[:6]])
    assert_close(y[0, :6], ids(tokenizer, target)[:6])
    assert_close(weights, np.ones((1, 7)))
    assert_close(x["encoder_padding_mask"], np.ones((1, 5)))


def test_generate_starts_from_the_start_token(preprocessor, tokenizer):
    x = preprocessor.generate_preprocess({"encoder_text": ["fünf"], "decoder_text": [""]})
    assert_close(x["encoder_token_ids"], [padded([*ids(tokenizer, "fünf"), 3], 5)])
    assert_close(x["decoder_token_ids"], [padded([2], 7)])
    assert_close(x["decoder_padding_mask"], [padded([1], 7)])


def test_generated_ids_become_text_without_special_tokens(preprocessor, tokenizer):
    one, nine = ids(tokenizer, "one"), ids(tokenizer, "nine")
    rows = [padded([2, *one, 1, *nine, 3], 7), padded([2, 3], 7), padded([2, *nine, *one, *one], 7)]
    mask = np.ones((3, 7))
    mask[2, 3:] = 0
    output = {"decoder_token_ids": np.array(rows), "decoder_padding_mask": mask}
    assert preprocessor.generate_postprocess(output) == ["one nine", "", "nine one"]


def test_a_preset_holds_lengths_and_vocabulary(preprocessor, tmp_path):
    TransformerBackbone(19, 1, 1, 4, 4).save_to_preset(tmp_path)  # KerasHub looks for one
    preprocessor.save_to_preset(tmp_path)
    other = TransformerSeq2SeqLMPreprocessor.from_preset(str(tmp_path))
    assert (other.encoder_sequence_length, other.decoder_sequence_length) == (5, 7)
    for actual, expected in zip(
        keras.tree.flatten(other(PAIRS)), keras.tree.flatten(preprocessor(PAIRS)), strict=True
    ):
        assert_close(actual, expected)


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        ((0, 7), ValueError, "`encoder_sequence_length` must be at least 1"),
        ((5, -1), ValueError, "`decoder_sequence_length` must be at least 1"),
        ((5, 7.0), TypeError, "`decoder_sequence_length` must be an integer"),
    ],
)
def test_lengths_must_be_those_of_a_row(tokenizer, lengths, error, message):
    with pytest.raises(error, match=message):
        TransformerSeq2SeqLMPreprocessor(tokenizer, *lengths)


SOURCES, TARGETS = [[5, 3, 8], [9]], [[2, 7], [2]]
PACKED = {
    "encoder_token_ids": [[5, 3, 8], [9, 0, 0]],
    "encoder_padding_mask": [[1, 1, 1], [1, 0, 0]],
    "decoder_token_ids": [[2, 7], [2, 0]],
    "decoder_padding_mask": [[1, 1], [1, 0]],
}


def test_token_ids_of_any_kind_become_the_four_inputs():
    as_arrays = [PACKED["encoder_token_ids"], np.array(PACKED["decoder_token_ids"])]
    as_tensors = [keras.ops.convert_to_tensor(ids) for ids in as_arrays]
    for sides in ((SOURCES, TARGETS), as_arrays, as_tensors, (SOURCES, as_tensors[1])):
        inputs = pack_token_ids(*sides)
        assert list(inputs) == list(PACKED)
        for name, expected in PACKED.items():
            assert inputs[name].dtype == "int32"
            np.testing.assert_array_equal(inputs[name], expected)


def test_the_id_that_stands_for_no_token_may_be_another():
    inputs = pack_token_ids([[0, 3], [0]], [[2, 9, 7], [9]], pad_token_id=9)
    np.testing.assert_array_equal(inputs["encoder_token_ids"], [[0, 3], [0, 9]])
    np.testing.assert_array_equal(inputs["encoder_padding_mask"], [[1, 1], [1, 0]])
    np.testing.assert_array_equal(inputs["decoder_padding_mask"], [[1, 0, 1], [0, 0, 0]])


def test_a_model_takes_packed_token_ids():
    backbone = TransformerBackbone(11, 1, 2, 8, 16, max_sequence_length=5)
    outputs = backbone(pack_token_ids(SOURCES, TARGETS))
    assert tuple(outputs["decoder_sequence_output"].shape) == (2, 2, 8)


@pytest.mark.parametrize(
    ("sources", "error", "message"),
    [
        ([[1.0, 2.0]], TypeError, r"`encoder_token_ids` must be integers.*row 0 has dtype=float64"),
        (["eins"], ValueError, r"`encoder_token_ids` must be rows.*row 0 has 0 axes"),
        ("eins", ValueError, r"`encoder_token_ids` must be rows"),
        (np.array([1, 2]), ValueError, r"must be rows of token ids.*row 0 has 0 axes"),
        ([[[1]]], ValueError, r"row 0 has 2 axes"),
        ([[1, -1]], ValueError, r"from 0 to \d+\. Received: row 0 has ids from -1 to 1"),
        ([[1 << 32]], ValueError, r"ids from 4294967296 to 4294967296"),
        ([[1], [2]], ValueError, r"must be of equal length\. Received: 2 encoder_token_ids, 1 dec"),
    ],
)
def test_what_are_no_token_ids_is_refused(sources, error, message):
    with pytest.raises(error, match=message):
        pack_token_ids(sources, [[1]])
