import shutil

import h5py
import keras
import numpy as np
import pytest

from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training import merge_adapters
from aiayn_keras.training.adapters import merged_weights, save_adapters
from aiayn_keras.training.building import build_model, read_initial
from tests.helpers import assert_close
from tests.training.fine_tuning import (
    RANK,
    SIZES,
    SOURCES,
    TARGETS,
    load,
    recipe_from,
    write_initial,
)

QUERY = "decoder_block_0/self_attention/query/lora_kernel_a"
NOT_FINITE = np.full((SIZES["hidden_dim"], RANK), np.nan, "float32")


@pytest.fixture(scope="module")
def initial(tmp_path_factory):
    return write_initial(tmp_path_factory.mktemp("models") / "initial")


@pytest.fixture(scope="module")
def adapted(initial):
    """The initial model with adapters that change it."""
    recipe = recipe_from(initial, f"model.lora_rank={RANK}")
    started = read_initial(recipe)
    model = build_model(recipe, started.tokenizer, started)
    for number, variable in enumerate(model.trainable_variables):
        variable.assign(keras.random.normal(variable.shape, 0.0, 0.3, seed=number))
    return TransformerSeq2SeqLM(model.backbone, started.model.preprocessor)


@pytest.fixture(scope="module")
def path(adapted, tmp_path_factory):
    """File of its adapters."""
    path = tmp_path_factory.mktemp("adapters") / "adapters.h5"
    save_adapters(adapted, path)
    return path


def test_only_the_adapters_of_queries_and_values_are_trained(adapted):
    assert {variable.path for variable in adapted.trainable_variables} == {
        f"{attention}_attention/{projection}/lora_kernel_{letter}"
        for attention in (
            "encoder_block_0/self",
            "decoder_block_0/self",
            "decoder_block_0/cross",
        )
        for projection in ("query", "value")
        for letter in ("a", "b")
    }


def test_merged_outputs_are_those_beside_adapters(adapted, initial):
    merged = load(initial)
    before = merged.score(SOURCES, TARGETS)
    merged.backbone.set_weights(merged_weights(adapted.backbone))
    scores = merged.score(SOURCES, TARGETS)
    assert_close(scores, adapted.score(SOURCES, TARGETS), 1e-5, 1e-5)
    assert np.abs(scores - before).min() > 0.01


def test_the_file_makes_the_adapted_model_of_the_initial_one_once(adapted, path, initial):
    model = load(initial)
    merge_adapters(model, path)
    scores = model.score(SOURCES, TARGETS)
    assert_close(scores, adapted.score(SOURCES, TARGETS), 1e-5, 1e-5)
    with pytest.raises(
        ValueError, match=r"adapters\.h5 does not hold adapters for .*beside other weigh"
    ):
        merge_adapters(model, path)
    assert_close(model.score(SOURCES, TARGETS), scores)


def test_the_file_holds_the_adapters_and_nothing_else(path):
    with h5py.File(path) as file:
        shapes = []
        file.visititems(lambda _, item: shapes.append(getattr(item, "shape", None)))
    numbers = sum(np.prod(shape) for shape in shapes if shape)
    assert numbers == 6 * RANK * 2 * SIZES["hidden_dim"]


def replace(file, array):
    del file[QUERY]
    file[QUERY] = array


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda file: file.clear(), "no pairs of matrices"),
        (lambda file: file.move("decoder_block_0", "decoder_block_7"), "there is no `decoder_bl"),
        (lambda file: file.attrs.clear(), "trained beside other weights"),
        (lambda file: replace(file, NOT_FINITE), "numbers that are not finite"),
        (lambda file: replace(file, np.ones((2, RANK))), "shapes"),
        (lambda file: replace(file, np.ones((SIZES["hidden_dim"], 2))), "shapes"),
        (lambda file: replace(file, 3.0), "shapes"),
    ],
    ids=["empty", "layer", "no fingerprint", "not finite", "rows", "rank", "number"],
)
def test_damaged_adapters_leave_the_model_as_it_was(path, initial, tmp_path, damage, message):
    copy = tmp_path / "adapters.h5"
    shutil.copy(path, copy)
    with h5py.File(copy, "a") as file:
        damage(file)
    model = load(initial)
    before = model.get_weights()
    with pytest.raises(ValueError, match=rf"adapters\.h5 does not hold adapters.*{message}"):
        merge_adapters(model, copy)
    for actual, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_a_file_of_something_else_is_named(initial, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"adapters\.h5"):
        merge_adapters(load(initial), tmp_path / "adapters.h5")
    with pytest.raises(
        ValueError, match=r"model\.weights\.h5 does not hold adapters for this model"
    ):
        merge_adapters(load(initial), initial / "model.weights.h5")


def test_without_room_there_is_no_file(adapted, tmp_path, monkeypatch):
    full = shutil._ntuple_diskusage(10**6, 10**6, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OSError, match="No space left on device"):
        save_adapters(adapted, tmp_path / "adapters.h5")
    assert list(tmp_path.iterdir()) == []
