import json
import math

import pytest

from aiayn_keras.training.history import (
    as_columns,
    best_update,
    is_out_of_patience,
    read_history,
)

HISTORY = [
    {"updates": 10, "val_loss": 3.0},
    {"updates": 20, "val_loss": 2.0, "val_bleu": 5.0},
    {"updates": 30, "val_loss": 2.5},
    {"updates": 40, "val_loss": 2.0, "val_bleu": 7.0},
]


def test_the_best_is_the_lowest_loss_or_the_highest_bleu():
    assert best_update(HISTORY, "loss") == 20
    assert best_update(HISTORY, "bleu") == 40
    assert best_update(HISTORY[:1], "bleu") is None


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
    path.write_text(json.dumps(HISTORY))
    assert read_history(path, 30) == HISTORY[:3]


def test_columns_have_nan_where_nothing_was_measured():
    columns = as_columns(HISTORY[:2])
    assert columns["updates"] == [10, 20]
    assert math.isnan(columns["val_bleu"][0])
    assert columns["val_bleu"][1] == 5.0
