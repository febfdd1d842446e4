"""Checkpoints of TensorFlow's own writers read without TensorFlow."""

import sys

import numpy as np
import pytest

from aiayn_keras.convert.crc32c import crc32c
from aiayn_keras.convert.tensorflow_checkpoint import read_checkpoint
from aiayn_keras.convert.tensorflow_table import read_message, read_varint


def read_all(prefix):
    return read_checkpoint(prefix, lambda names: {n: n for n in names if n.startswith("model/")})


def name_of(i):
    return f"model/{i}{'x' * 400}"


def test_variables_are_those_that_tensorflow_reads(tmp_path):
    tf = pytest.importorskip("tensorflow")
    random = np.random.default_rng(1)
    model = tf.Module()
    model.layers = []
    for number_format in ("float16", "bfloat16", "float32", "float64"):
        layer = tf.Module()
        layer.kernel = tf.Variable(tf.cast(random.standard_normal((3, 5, 2)), number_format))
        layer.scalar = tf.Variable(tf.cast(random.standard_normal(()), number_format))
        model.layers.append(layer)
    prefix = tf.train.Checkpoint(model=model, steps=tf.Variable(7)).save(str(tmp_path / "ckpt"))
    expected = tf.train.load_checkpoint(prefix)
    found = read_all(tmp_path / "ckpt-1")
    names = {n for n in expected.get_variable_to_shape_map() if n.startswith("model/")}
    assert found.keys() == names
    assert len(names) == 8
    for name, array in found.items():
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, expected.get_tensor(name).astype("float32"))


def test_an_index_of_several_blocks_and_data_of_several_files_are_read(tmp_path):
    tf = pytest.importorskip("tensorflow")
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, start in zip(folders, (0, 700), strict=True):
        names = [name_of(i) for i in range(start, start + 700)]
        values = [np.float32([i]) for i in range(start, start + 700)]
        tf.raw_ops.SaveV2(
            prefix=str(folder), tensor_names=names, shape_and_slices=[""] * 700, tensors=values
        )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[str(folder) for folder in folders],
        destination_prefix=str(tmp_path / "whole"),
    )
    found = read_all(tmp_path / "whole")
    assert len(list(tmp_path.glob("whole.data-*-of-00002"))) == 2
    assert (tmp_path / "whole.index").stat().st_size > 1 << 18  # the size of a block
    assert [found[name_of(i)].item() for i in range(1400)] == list(range(1400))


def test_tensorflow_is_not_needed(tmp_path, monkeypatch):
    pytest.importorskip("tensorflow")
    from tests.convert import tensorflow_models as toolkits

    theirs = toolkits.OpenNMTTF(layers=1)
    prefix, *_ = theirs.write(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # an import of it fails
    found = read_all(prefix)
    np.testing.assert_equal({name: found[name] for name in theirs.variables}, theirs.variables)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"", 0),
    ],
)
def test_checksums_are_those_of_the_standard(content, expected):
    assert crc32c(content) == expected  # RFC 3720, B.4


def test_messages_are_read_field_by_field():
    content = b"\x08\x96\x01\x12\x07testing\x12\x00\x1d\x01\x02\x00\x00"
    assert read_message(content) == {1: [150], 2: [b"testing", b""], 3: [513]}
    assert read_varint(b"\xff" * 9 + b"\x01", 0) == (2**64 - 1, 10)
    for end in (2, 5, len(content) - 1):
        with pytest.raises(ValueError, match=r"cut off|behind its end"):
            read_message(content[:end])
    with pytest.raises(ValueError, match="of the kind 7"):
        read_message(b"\x0f")
