import shutil

import keras
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.training import (
    RunFolder,
    average_checkpoints,
    list_checkpoints,
    load_recipe,
    save_checkpoint,
    write_average,
)
from aiayn_keras.training.averaging import chosen_checkpoints
from aiayn_keras.training.building import build_model
from aiayn_keras.training.run_folder import write_history
from tests.helpers import assert_close
from tests.runs import small_recipe


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


def test_a_training_shorter_than_its_mean_is_averaged_whole(trained_run, tmp_path):
    run = shutil.copytree(trained_run, tmp_path / "run")
    for _, path in list_checkpoints(run / "checkpoints"):
        path.unlink()
    tokenizer = TransformerSeq2SeqLM.from_preset(run).preprocessor.tokenizer
    model = build_model(load_recipe(run / "recipe.yaml"), tokenizer)
    model.optimizer.build(model.trainable_variables)
    path = save_checkpoint(model, run / "checkpoints", 20)
    assert write_average(run, tmp_path / "mean") == [path]
    with pytest.raises(ValueError, match="`last` must be at least 1"):
        write_average(run, tmp_path / "none", last=0)


def test_write_average_refuses_what_it_cannot_do(trained_run, tmp_path):
    with pytest.raises(ValueError, match=r"has 2 checkpoints in a row .*fewer than 3"):
        write_average(trained_run, tmp_path / "mean", last=3)
    with pytest.raises(FileExistsError, match="exists"):
        write_average(trained_run, trained_run)
    with pytest.raises(FileNotFoundError, match="no training"):
        write_average(tmp_path, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("recipe.yaml", lambda path: path.write_text(path.read_text() + "# mine\n"), "replaced"),
        ("tokenizer.spm", lambda path: path.write_bytes(b""), "replaced"),
        ("inputs.json", lambda path: path.write_bytes(b"[]"), "is damaged"),
        ("history.json", lambda path: path.write_bytes(b"[]]"), "is damaged"),
    ],
)
def test_write_average_names_a_damaged_file_and_leaves_nothing(
    trained_run, tmp_path, name, damage, message
):
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    damage(run / name)
    with pytest.raises(ValueError, match=rf"{name} .*{message}"):
        write_average(run, tmp_path / "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_write_average_takes_no_checkpoint_from_before_a_gap(trained_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    before, _ = sorted((run / "checkpoints").iterdir())
    before.rename(before.with_name(before.name.replace("0040", "0020")))
    with pytest.raises(ValueError, match="has 1 checkpoints in a row up to the newest, fewer tha"):
        write_average(run, tmp_path / "mean", last=2)


@pytest.fixture(name="folder")
def folder_of_four_checkpoints(tmp_path):
    """A `RunFolder` with empty checkpoints of the updates 20 to 80."""
    folder = RunFolder(tmp_path)
    folder.checkpoints.mkdir()
    for update in (20, 40, 60, 80):
        path_of(folder, update).touch()
    return folder


def path_of(folder, update):
    return folder.checkpoints / f"update-{update:08d}.0123456789abcdef.weights.h5"


def test_a_mean_needs_each_of_the_last_checkpoints(folder):
    training = small_recipe("training.average_checkpoints=3").training
    updates = (40, 60, 80)
    assert chosen_checkpoints(folder, training) == [path_of(folder, update) for update in updates]
    path_of(folder, 60).unlink()
    with pytest.raises(
        ValueError, match="lacks the checkpoint of update 60, which belongs to the mean"
    ):
        chosen_checkpoints(folder, training)
    # At the start of a training there are fewer.
    for update in (40, 80):
        path_of(folder, update).unlink()
    assert chosen_checkpoints(folder, training) == [path_of(folder, 20)]


def test_the_best_is_chosen_of_those_that_are_there_and_measured(folder, caplog):
    training = small_recipe("training.keep_best=true").training
    figures = {"learning_rate": 0.001, "loss": 3.0, "val_perplexity": 9.0}
    losses = {20: 2.0, 40: 1.0, 60: 1.5}
    write_history(
        folder.history,
        [{"updates": update, **figures, "val_loss": loss} for update, loss in losses.items()],
    )
    assert chosen_checkpoints(folder, training) == [path_of(folder, 40)]
    assert not caplog.records
    path_of(folder, 40).unlink()
    assert chosen_checkpoints(folder, training) == [path_of(folder, 60)]
    assert "not there any more" in caplog.text
    folder.history.unlink()
    assert chosen_checkpoints(folder, training) == [path_of(folder, 80)]
