import pytest

from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training import RunFolder, load_recipe
from aiayn_keras.training.resume import RunInputs, read_inputs
from tests.runs import small_recipe

INPUTS = RunInputs(**{name: f"{number:064x}" for number, name in enumerate(RunInputs.model_fields)})


@pytest.fixture(scope="module", name="tokenizer")
def small_tokenizer():
    return TransformerTokenizer.train(["one two three", "eins zwei drei"], vocabulary_size=30)


def test_a_folder_is_made_with_what_a_resumed_training_needs(tmp_path, tokenizer):
    folder = RunFolder(tmp_path / "runs" / "small")
    assert folder.is_free()
    folder.create(small_recipe(), tokenizer, INPUTS)
    assert not folder.is_free()
    assert read_inputs(folder) == INPUTS
    assert load_recipe(folder.recipe) == small_recipe()
    assert folder.tokenizer.read_bytes() == tokenizer.proto
    assert folder.checkpoints.is_dir()


def test_what_a_killed_training_left_half_written_is_deleted(tmp_path, tokenizer):
    folder = RunFolder(tmp_path)
    leftovers = [tmp_path / ".writing-1", folder.checkpoints / ".writing-2"]
    for leftover in leftovers:
        leftover.mkdir(parents=True)
    (folder.checkpoints / "notes.txt").write_text("mine")
    folder.create(small_recipe(), tokenizer, INPUTS)
    assert not any(leftover.exists() for leftover in leftovers)
    assert (folder.checkpoints / "notes.txt").is_file()


def test_a_folder_with_a_lock_alone_is_free(tmp_path):
    folder = RunFolder(tmp_path)
    folder.lock.touch()
    assert folder.is_free()


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard"])
def test_a_file_in_the_place_of_a_folder_is_named(tmp_path, tokenizer, name):
    (tmp_path / name).touch()
    with pytest.raises(NotADirectoryError, match=f"{name} is no folder"):
        RunFolder(tmp_path).create(small_recipe(), tokenizer, INPUTS)


def test_a_file_is_no_free_folder(tmp_path):
    (tmp_path / "file").touch()
    assert not RunFolder(tmp_path / "file").is_free()
