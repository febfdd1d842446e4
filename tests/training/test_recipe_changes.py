import json
import shutil

import numpy as np
import pytest

from aiayn_keras.training import Recipe, list_checkpoints, train
from aiayn_keras.training.recipe_changes import (
    Change,
    best_updates,
    comparable,
    differences,
    is_changeable,
    next_batch,
    next_changes,
    read_changes,
    same_place,
    value_at,
    without_unused,
    write_changes,
)
from tests.claims.kills import differences as different_results
from tests.runs import small_recipe
from tests.training.changing import short_recipe, train_until

# === The rules ===


def test_each_section_names_fields_that_it_has():
    for name, field in Recipe.model_fields.items():
        section = field.annotation
        fields = {*section.model_fields, "num_return_sequences"}
        assert set(section.changeable) <= fields, name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("training.updates", True),
        ("training.devices", True),
        ("training.seed", False),
        ("batches.tokens_per_batch", True),
        ("batches.max_length", False),
        ("optimizer.peak_learning_rate", True),
        ("optimizer.label_smoothing", False),
        ("evaluation.constraint", True),
        ("corpus.train", True),
        ("corpus.name", False),
        ("model.dropout", False),
        ("tokenizer.normalization", False),
        ("augmentation.joined", False),
    ],
)
def test_a_training_may_change_what_leaves_text_and_model_as_they_are(name, expected):
    assert is_changeable(small_recipe(), name) is expected


def test_differences_are_named_with_both_values():
    ours = small_recipe("training.updates=80", "training.callbacks=[a:B]")
    assert differences(small_recipe(), ours) == {
        "training.updates": (60, 80),
        "training.callbacks": ([], ["a:B"]),
    }


# === The history of changes ===


def change_at(updates, batch=None, **fields):
    fields = {name.replace("__", "."): values for name, values in fields.items()}
    return Change(updates=updates, time="t", backend="b", version="v", fields=fields, batch=batch)


def test_what_goes_on_unchanged_adds_nothing(tmp_path):
    changes = next_changes([], 0, {}, 1)
    assert [(change.updates, change.fields) for change in changes] == [(0, {})]
    assert next_changes(changes, 40, {}, 1) == changes
    fields = {"training.updates": (60, 80)}
    more = next_changes(changes, 40, fields, 1)
    assert more[:1] == changes
    assert (more[1].updates, more[1].fields) == (40, fields)
    write_changes(tmp_path / "changes.json", more)
    assert read_changes(tmp_path / "changes.json") == more
    assert read_changes(tmp_path / "none.json") == []


def test_another_backend_or_version_is_noted():
    changes = next_changes([change_at(0)], 20, {}, 1)
    assert [change.updates for change in changes] == [0, 20]
    assert changes[1].backend != "b"


def test_a_change_whose_checkpoints_are_lost_holds_from_the_last_one():
    before = [change_at(0), change_at(30, batch=60), change_at(50)]
    changes = next_changes(before, 20, {}, batches_per_update=2)
    assert [(change.updates, change.batch) for change in changes[:3]] == [
        (0, None),
        (20, 40),
        (20, None),
    ]


def test_a_change_that_a_process_was_killed_over_is_left_out():
    change = change_at(20, training__updates=(60, 80))
    assert without_unused([change_at(0), change], small_recipe()) == [change_at(0)]
    used = small_recipe("training.updates=80")
    assert without_unused([change_at(0), change], used) == [change_at(0), change]
    assert without_unused([], used) == []


@pytest.mark.parametrize("content", ["", "{}", "[3]", '[{"updates": -1}]'])
def test_a_damaged_file_of_changes_is_refused(tmp_path, content):
    (tmp_path / "changes.json").write_text(content)
    with pytest.raises(ValueError, match=r"changes\.json is damaged: .*put back the file"):
        read_changes(tmp_path / "changes.json")


def test_the_next_batch_counts_from_the_last_change_of_batches():
    assert next_batch([], 10, 3) == 30
    changes = [change_at(0), change_at(10, batch=44), change_at(12)]
    assert next_batch(changes, 10, 2) == 44
    assert next_batch(changes, 15, 2) == 54


def test_the_place_in_the_text_stays_and_begins_an_update():
    # 15 batches of 10 an epoch: one epoch and a half; of 21 an epoch: 31.5.
    assert same_place(15, 10, 21, new_batches_per_update=1) == 32
    assert same_place(15, 10, 21, new_batches_per_update=4) == 32
    assert same_place(15, 10, 21, new_batches_per_update=5) == 30
    assert same_place(0, 10, 21, new_batches_per_update=5) == 0


def test_a_field_had_the_value_from_before_its_change():
    changes = [change_at(10, training__updates=(60, 80)), change_at(20, training__updates=(80, 90))]
    values = [value_at(changes, update, "training.updates", 90) for update in (1, 10, 11, 20, 21)]
    assert values == [60, 60, 80, 80, 90]
    assert value_at(changes, 1, "training.seed", 5) == 5


def test_figures_from_before_a_change_of_their_meaning_are_not_compared():
    history = [{"updates": update} for update in (10, 20, 30)]
    changes = [change_at(10, evaluation__num_beams=(2, 4)), change_at(20, training__updates=(1, 2))]
    assert comparable(history, changes, "loss") == history
    assert comparable(history, changes, "bleu") == history[1:]
    changed = [change_at(20, training__monitor=("bleu", "mine:figure"))]
    assert comparable(history, changed, "mine:figure") == history[2:]
    assert comparable(history, [change_at(20, training__monitor=("loss", "bleu"))], "bleu") == (
        history
    )


def test_the_best_of_each_way_of_measuring_is_known():
    figures = zip((10, 20, 30, 40), (7.0, 5.0, 1.0, 2.0), strict=True)
    history = [{"updates": update, "val_chrf": chrf} for update, chrf in figures]
    history.append({"updates": 50})  # not measured
    among = [row["updates"] for row in history]
    changes = [change_at(update, evaluation__num_beams=(2, 4)) for update in (20, 45)]
    assert best_updates(history, changes, "chrf", among) == [10, 40]
    assert best_updates(history, changes, "chrf", among[1:]) == [20, 40]
    assert best_updates(history, [], "chrf", among) == [10]


# === Trainings ===


def updates_of(folder):
    return [row["updates"] for row in json.loads((folder / "history.json").read_text())]


def test_a_finished_training_goes_on_with_smaller_batches_and_more_updates(tmp_path):
    """That the weights are those of a training with this change is in the slow tests."""
    folder = tmp_path / "run"
    train_until(short_recipe(), folder, 3)
    assert [update for update, _ in list_checkpoints(folder / "stopped")] == [3]
    settings = ("batches.tokens_per_batch=512", "optimizer.gradient_accumulation_steps=2")
    result = train(short_recipe("training.updates=5", *settings), folder)
    assert updates_of(folder) == [2, 4, 5]
    assert int(result.model.backbone.count_params()) > 0
    assert not (folder / "stopped").exists()
    changes = read_changes(folder / "changes.json")
    assert [change.updates for change in changes] == [0, 3]
    assert changes[1].fields["batches.tokens_per_batch"] == (1024, 512)
    assert changes[1].batch % 2 == 0
    # The schedule goes on: Keras' optimizer is asked for the rate of the update to come.
    rates = [row["learning_rate"] for row in json.loads((folder / "history.json").read_text())]
    np.testing.assert_allclose(rates, [0.01 * 3 / 30, 0.01 * 5 / 30, 0.01 * 6 / 30], rtol=1e-5)
    with pytest.raises(FileExistsError, match="holds a finished training"):
        train(short_recipe("training.updates=5", *settings), folder)


CHANGES = {
    "more updates": (),
    "smaller batches": ("batches.tokens_per_batch=512",),
    "accumulation": (*("batches.tokens_per_batch=512", "optimizer.gradient_accumulation_steps=2"),),
    "checkpoints": ("training.checkpoint_every=3", "training.bleu_every=3"),
    "learning rate": ("optimizer.peak_learning_rate=0.003", "optimizer.warmup_steps=10"),
    "evaluation": ("evaluation.num_beams=1",),
    "rule": ("training.keep=best", "training.average_checkpoints=3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("settings", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("begun", [3, None], ids=["before the end", "after the end"])
def test_a_changed_training_ends_the_same_however_it_is_killed(tmp_path, settings, begun):
    begun_folder, folder, killed = (tmp_path / name for name in ("begun", "run", "killed"))
    if begun is None:
        train(short_recipe(), begun_folder)
    else:
        train_until(short_recipe(), begun_folder, begun)
    recipe = short_recipe("training.updates=11", *settings)
    for copy in (folder, killed):
        shutil.copytree(begun_folder, copy)
    train(recipe, folder)
    train_until(recipe, killed, 7)
    train_until(recipe, killed, 9, is_killed=True)
    train(recipe, killed)
    assert different_results(killed, folder) == []
    assert len(read_changes(killed / "changes.json")) == 2
