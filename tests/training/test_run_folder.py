import json
import math
import os

import pytest

from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training import Evaluation, RunFolder, load_recipe, read_evaluation
from aiayn_keras.training.resume import RunInputs, read_inputs
from aiayn_keras.training.run_folder import (
    as_columns,
    best_update,
    is_out_of_patience,
    read_history,
    set_aside_damaged_history,
    write_history,
)
from tests.runs import small_recipe

# === Files ===


FACTS = {"copy_without_letters": True, "learned_length": 63}
DIGESTS = [name for name in RunInputs.model_fields if name not in FACTS]
INPUTS = RunInputs(**{name: f"{number:064x}" for number, name in enumerate(DIGESTS)}, **FACTS)


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
    with pytest.raises(NotADirectoryError, match=f"{name} is not a folder"):
        RunFolder(tmp_path).create(small_recipe(), tokenizer, INPUTS)


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard", "tensorboard/train"])
def test_nothing_is_written_into_the_folder_of_somebody_else(tmp_path, tokenizer, name):
    (tmp_path / "victim").mkdir()
    link = tmp_path / "run" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "victim")
    with pytest.raises(NotADirectoryError, match=rf"{name} is a link"):
        RunFolder(tmp_path / "run").create(small_recipe(), tokenizer, INPUTS)
    assert not (tmp_path / "run/recipe.yaml").exists()


def test_a_file_is_no_free_folder(tmp_path):
    (tmp_path / "file").touch()
    assert not RunFolder(tmp_path / "file").is_free()


# === History ===


HISTORY = [
    {"updates": 10, "val_loss": 3.0},
    {"updates": 20, "val_loss": 2.0, "val_bleu": 5.0},
    {"updates": 30, "val_loss": 2.5},
    {"updates": 40, "val_loss": 2.0, "val_bleu": 7.0},
]


def full_row(update):
    return {
        "updates": update,
        "learning_rate": 0.001,
        "loss": 3.5,
        "val_loss": 3.0,
        "val_perplexity": 20.0,
    }


def test_the_best_is_the_lowest_loss_or_the_highest_bleu():
    assert best_update(HISTORY, "loss") == 20
    assert best_update(HISTORY, "bleu") == 40
    assert best_update(HISTORY[:1], "bleu") is None
    assert best_update(HISTORY, "loss", among=[10, 30]) == 30
    assert best_update(HISTORY, "bleu", among=[10, 30]) is None


@pytest.mark.parametrize(
    ("rows", "monitor", "patience", "expected"),
    [
        (4, "loss", 2, True),
        (3, "loss", 2, False),
        (4, "loss", 3, False),
        (4, "loss", None, False),
        (4, "bleu", 1, False),
        (0, "loss", 1, False),
    ],
)
def test_patience_counts_measurements_since_the_best(rows, monitor, patience, expected):
    assert is_out_of_patience(HISTORY[:rows], monitor, patience) is expected


def test_the_history_is_read_up_to_an_update(tmp_path):
    path = tmp_path / "history.json"
    assert read_history(path, 30) == []
    rows = [full_row(update) for update in (10, 20, 30, 40)]
    rows[1]["val_bleu"] = 7.0
    rows[2]["val_perplexity"] = math.inf
    write_history(path, rows)
    assert read_history(path, 30) == rows[:3]
    assert json.dumps(read_history(path, 30)) == json.dumps(rows[:3])


DAMAGED = (
    b"",
    b"[",
    b"\xff\x00",
    b"null",
    b"3",
    b"{}",
    b"[[]]",
    b"[3]",
    b'[{"updates": 10}]',
    json.dumps([{**full_row(10), "updates": "10"}]).encode(),
    json.dumps([{**full_row(10), "val_loss": math.nan}]).encode(),
    json.dumps([{**full_row(10), "val_bleu": []}]).encode(),
    json.dumps([{**full_row(10), "other": 1.0}]).encode(),
    json.dumps([full_row(20), full_row(10)]).encode(),
)


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_history_is_set_aside_with_a_warning(tmp_path, content, caplog):
    path = tmp_path / "history.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"history\.json is damaged: "):
        read_history(path, 30)
    set_aside_damaged_history(path)
    assert "It is renamed to damaged-history.json" in caplog.text
    assert (tmp_path / "damaged-history.json").read_bytes() == content
    assert read_history(path, 30) == []


def test_a_pipe_is_set_aside_and_a_history_is_not(tmp_path):
    path = tmp_path / "history.json"
    os.mkfifo(path)
    set_aside_damaged_history(path)
    assert not path.exists()
    write_history(path, [full_row(10)])
    set_aside_damaged_history(path)
    assert read_history(path, 30) == [full_row(10)]


def test_columns_have_nan_where_nothing_was_measured():
    columns = as_columns(HISTORY[:2])
    assert columns["updates"] == [10, 20]
    assert math.isnan(columns["val_bleu"][0])
    assert columns["val_bleu"][1] == 5.0


# === Evaluation ===


EVALUATION = Evaluation(
    test="test.tsv", sentences=60, bleu=41.5, details="BLEU = 41.50", signature="s"
)


def test_an_evaluation_that_is_written_is_read(tmp_path):
    EVALUATION.write(tmp_path / "evaluation.json")
    assert read_evaluation(tmp_path / "evaluation.json") == EVALUATION
    assert str(EVALUATION) == "41.50 on 60 sentences of test.tsv (s)"


def test_an_evaluation_may_name_the_engine(tmp_path):
    assert EVALUATION.engine is None  # as in older files
    EVALUATION.model_copy(update={"engine": "keras"}).write(tmp_path / "evaluation.json")
    assert read_evaluation(tmp_path / "evaluation.json").engine == "keras"


def test_chrf_is_shown_if_it_was_measured(tmp_path):
    result = EVALUATION.model_copy(update={"chrf": 62.25, "chrf_signature": "c"})
    result.write(tmp_path / "evaluation.json")
    assert str(read_evaluation(tmp_path / "evaluation.json")).endswith("(s); chrF2 62.25 (c)")


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("41.5", "NaN", "bleu"),
        ("41.5", '"41.5"', "bleu"),
        ("60", "0", "sentences"),
        ('"test.tsv"', "[1]", "test"),
        ('"sentences"', '"number"', "sentences"),
        ("{", "[", "Invalid JSON"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_field(tmp_path, old, new, field):
    path = tmp_path / "evaluation.json"
    EVALUATION.write(path)
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=rf"evaluation\.json.*{field}"):
        read_evaluation(path)


def test_a_pipe_is_not_read_as_an_evaluation(tmp_path):
    os.mkfifo(tmp_path / "evaluation.json")
    with pytest.raises(OSError, match="regular file"):
        read_evaluation(tmp_path / "evaluation.json")
