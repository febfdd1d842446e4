import keras
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.training import (
    average_checkpoints,
    list_checkpoints,
    save_checkpoint,
    write_average,
)
from tests.helpers import assert_close


def test_the_average_is_the_mean_of_the_weights(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)])
    model.compile(optimizer="sgd", loss="mse")
    paths = []
    for update, value in enumerate((1.0, 2.0, 6.0)):
        model.set_weights([keras.ops.full(w.shape, value) for w in model.weights])
        paths.append(save_checkpoint(model, tmp_path, update))
    average_checkpoints(model, paths)
    assert_close(model.weights[0], [[3.0] * 3] * 2)
    average_checkpoints(model, paths[1:])
    assert_close(model.weights[1], [4.0] * 3)


def test_no_checkpoint_is_refused():
    with pytest.raises(ValueError, match="at least one checkpoint"):
        average_checkpoints(keras.Sequential(), [])


def test_write_average_gives_the_model_that_training_gave(trained_run, tmp_path):
    paths = write_average(trained_run, tmp_path / "mean")
    assert paths == [path for _, path in list_checkpoints(trained_run / "checkpoints")]
    mean, trained = (
        TransformerSeq2SeqLM.from_preset(str(folder)) for folder in (tmp_path / "mean", trained_run)
    )
    for actual, expected in zip(mean.weights, trained.weights, strict=True):
        assert_close(actual, expected)
    assert (tmp_path / "mean" / "recipe.yaml").is_file()


def test_write_average_refuses_what_it_cannot_do(trained_run, tmp_path):
    with pytest.raises(ValueError, match="has 2 checkpoints, fewer than 3"):
        write_average(trained_run, tmp_path / "mean", last=3)
    with pytest.raises(FileExistsError, match="exists"):
        write_average(trained_run, trained_run)
    with pytest.raises(FileNotFoundError, match="no training"):
        write_average(tmp_path, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()
