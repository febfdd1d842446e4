"""One hostile file of each kind: one clear line, and nothing in it is run.

`python -m tests.claims.hostile_conversions` tries all of them.
"""

import functools
import pickle

import pytest

from aiayn_keras.convert import (
    convert_ctranslate2,
    convert_fairseq,
    convert_marian,
    convert_opennmt_tf,
)
from aiayn_keras.convert.tensor_files import read_tensors
from tests.claims.hostile_tensors import CANARY, RunsCommand, hostile_tensor_files

FILES = {(file.group, file.name): file for file in hostile_tensor_files()}
SAMPLES = [
    ("pickles", "a command as a weight"),
    ("pickles", "a memory of 2^32"),
    ("tensors of torch", "10^12 numbers"),
    ("archives", "a file ../canary"),
    ("old files of torch", "a command inside"),
    ("safetensors", "overlapping"),
]


def check_is_one_line(message, path):
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 1000
    assert not CANARY.exists()


@pytest.mark.parametrize("sample", SAMPLES, ids=": ".join)
def test_a_hostile_file_is_refused_in_one_line(sample, tmp_path):
    if sample[0] == "old files of torch":
        pytest.importorskip("torch")
    path = FILES[sample].write(tmp_path)
    with pytest.raises(ValueError, match=FILES[sample].message) as caught:
        read_tensors(path)
    check_is_one_line(str(caught.value), path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_python_itself_would_run_the_command():
    pickle.loads(pickle.dumps(RunsCommand()))
    assert CANARY.exists()
    CANARY.unlink()


def test_there_are_many():
    assert len(FILES) >= 90


def hostile_models_of(toolkit):
    """The function that writes them, and the converter."""
    if toolkit == "CTranslate2":
        pytest.importorskip("ctranslate2")
        from tests.claims.hostile_models import hostile_engine_models

        return hostile_engine_models, convert_ctranslate2
    if toolkit == "TensorFlow":
        pytest.importorskip("tensorflow")
        from tests.claims.hostile_bundles import hostile_bundles

        return hostile_bundles, functools.partial(convert_opennmt_tf, num_heads=3)
    pytest.importorskip("torch")
    if toolkit == "fairseq":
        from tests.claims.hostile_models import hostile_checkpoints

        return hostile_checkpoints, convert_fairseq
    pytest.importorskip("transformers")
    from tests.claims.hostile_marian import hostile_marian_models

    return hostile_marian_models, convert_marian


@pytest.mark.parametrize(
    ("toolkit", "name", "count"),
    [
        ("CTranslate2", "an alias of nothing", 70),
        ("fairseq", "a command as a weight", 12),
        pytest.param("Marian", "NaN", 30, marks=pytest.mark.slow),
        ("TensorFlow", "a shape of 2^62 by 2^62 numbers", 50),  # ends TensorFlow's own process
    ],
)
def test_a_hostile_model_is_refused_in_one_line(toolkit, name, count, tmp_path):
    make_cases, convert = hostile_models_of(toolkit)
    cases = {name: (arguments, message) for name, arguments, message in make_cases(tmp_path)}
    assert len(cases) >= count
    arguments, message = cases[name]
    arguments = arguments if isinstance(arguments, tuple) else (arguments,)
    with pytest.raises(ValueError, match=message) as caught:
        convert(*arguments)
    check_is_one_line(str(caught.value), arguments[0])


def test_a_bundle_that_is_not_changed_is_converted(read_here, tmp_path):
    pytest.importorskip("tensorflow")
    from tests.claims.hostile_bundles import Bundle
    from tests.convert import tensorflow_models as toolkits

    theirs = toolkits.OpenNMTTF(layers=(1, 1))
    Bundle(theirs.variables).write(tmp_path / "ckpt-1")
    paths = theirs.write_vocabularies(tmp_path)
    model = convert_opennmt_tf(tmp_path / "ckpt-1", *paths, num_heads=3)
    assert model.backbone.num_layers == 1
