import json
import math
import os

import pytest

from aiayn_keras.training.run_folder import (
    as_columns,
    best_update,
    is_out_of_patience,
    read_history,
    set_aside_damaged_history,
    write_history,
)

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
    assert "It is damaged-history.json now" in caplog.text
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
