import pytest

from aiayn_keras.training.validation_history import best_update, is_out_of_patience

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
