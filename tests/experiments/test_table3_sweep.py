"""A sweep that is killed goes on, repeats nothing, and ends with the same results.

A sample of `tests.claims.sweep_kills`: one kill.
"""

import keras
import pytest
from click.testing import CliRunner

from aiayn_keras.training import list_checkpoints, train
from experiments.machine import processor
from experiments.table3.__main__ import main
from experiments.table3.hours import TIMED_UPDATES, expected_hours
from experiments.table3.results import read_result, read_results, result_path
from experiments.table3.row_recipe import fingerprint, row_recipe
from experiments.table3.rows import ROWS
from experiments.table3.run import run
from experiments.table3.sweep import open_runs, remove_leftovers
from experiments.table3.sweep import sweep as start_sweep
from tests.claims.sweep_kills import OF_A_PROCESS, results_of, resumed_from, sweep
from tests.experiments.table3_files import SMALL, write_made_up_result, write_small_recipe

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The sweep runs on TensorFlow."
)
BASE, *OTHERS = ROWS
NO_RESIDUALS = next(row for row in ROWS if row.name == "no_residuals")


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_results(tmp_path):
    base = write_small_recipe(tmp_path)
    killed = tmp_path / "killed"
    made = {"bleu": 1.5, "base": base, "machine": processor()}  # the hours follow from it
    write_made_up_result(killed / "results", BASE, 1, **made)
    finished = result_path(killed / "results", BASE, 1)
    before = finished.read_bytes()
    checkpoints = killed / "runs" / "no_residuals-1" / "checkpoints"
    rows = ("base", "no_residuals")
    assert not sweep(killed, base, rows, stop_when=lambda: len(list_checkpoints(checkpoints)) > 0)
    assert sorted(results_of(killed)) == ["base-1.json"]
    assert sweep(killed, base, rows)

    # Not repeated; the other one gone on with, to the figures of a training that nobody disturbed,
    # which as it is finished is only measured.
    assert finished.read_bytes() == before
    assert resumed_from(killed, "no_residuals-1.json") == SMALL["training"]["checkpoint_every"]
    path = tmp_path / "undisturbed" / "no_residuals-1.json"
    train(row_recipe(NO_RESIDUALS, base, 1), tmp_path / "run")
    result = run(NO_RESIDUALS, 1, base, tmp_path / "run", path)
    expected = result.model_dump(exclude=set(OF_A_PROCESS))
    assert results_of(killed)["no_residuals-1.json"] == expected
    assert list((killed / "runs").iterdir()) == []
    log = (killed / "log").read_text("utf-8")
    assert "1 of 2 runs have a result." in log
    assert "1 runs: about 1.0 core-hours, by the CPU time of 1 results of" in log

    assert result.parameters == 160 * 16 + (4 * 256 + 2 * 16 * 24 + 40 + 2 * 32) + (
        8 * 256 + 2 * 16 * 24 + 40 + 3 * 32
    )
    assert result.validation.sentences == 12
    assert result.test.sentences == 8


def test_all_rows_have_their_first_seed_before_any_has_its_second(tmp_path):
    runs = open_runs(ROWS, 3, write_small_recipe(tmp_path), tmp_path / "none")
    assert [(row.name, seed) for row, seed in runs] == [
        (row.name, seed) for seed in (1, 2, 3) for row in ROWS
    ]


def test_runs_with_a_result_are_left_out_and_their_folders_deleted(tmp_path):
    base = write_small_recipe(tmp_path)
    results, folder = tmp_path / "results", tmp_path / "runs"
    write_made_up_result(results, OTHERS[0], 2, bleu=3.0, base=base)
    runs = open_runs([BASE, OTHERS[0]], 2, base, results)
    assert [(row.name, seed) for row, seed in runs] == [
        ("base", 1),
        (OTHERS[0].name, 1),
        ("base", 2),
    ]
    for name in (f"{OTHERS[0].name}-2", f"{OTHERS[0].name}-1"):
        (folder / name).mkdir(parents=True)
    remove_leftovers([BASE, OTHERS[0]], 2, folder, results)
    assert [path.name for path in folder.iterdir()] == [f"{OTHERS[0].name}-1"]


def test_a_result_of_other_settings_is_refused(tmp_path):
    base = write_small_recipe(tmp_path)
    path = write_made_up_result(tmp_path, BASE, 1, bleu=3.0, base=base)
    assert read_result(path, fingerprint(BASE, base)).validation.bleu == 3.0
    base.write_text(base.read_text("utf-8").replace("warmup_steps: 8", "warmup_steps: 9"), "utf-8")
    with pytest.raises(ValueError, match=r"base-1\.json was made with settings that differ"):
        open_runs([BASE], 1, base, tmp_path)


def test_a_result_under_another_name_or_damaged_is_refused(tmp_path):
    path = write_made_up_result(tmp_path, BASE, 1, bleu=3.0)
    moved = path.rename(tmp_path / "base-2.json")
    with pytest.raises(ValueError, match="is the result of base-1"):
        read_result(moved, "irrelevant")
    moved.write_text('{"row": "base"}', "utf-8")
    with pytest.raises(ValueError, match=r"base-2\.json, field `seed`: Field required"):
        read_result(moved, "irrelevant")


@pytest.mark.slow
def test_a_folder_of_another_recipe_ends_no_sweep(tmp_path):
    base = write_small_recipe(tmp_path)
    train(row_recipe(BASE, base, 1), tmp_path / "runs" / "base-1")
    (tmp_path / "runs" / "base-1" / "evaluation.json").unlink()  # unfinished
    base.write_text(base.read_text("utf-8").replace("warmup_steps: 8", "warmup_steps: 9"), "utf-8")
    failed = start_sweep([(BASE, 1)], base, tmp_path / "runs", tmp_path / "results")
    assert failed == ["base-1"]


def test_beside_a_damaged_result_no_training_is_deleted(tmp_path):
    base, results, runs = write_small_recipe(tmp_path), tmp_path / "results", tmp_path / "runs"
    for folder in (results, runs / "base-1"):
        folder.mkdir(parents=True)
    (results / "base-1.json").write_text("{", "utf-8")
    arguments = ["--base", str(base), "--runs", str(runs), "--results", str(results)]
    outcome = CliRunner().invoke(main, ["--row", "base", *arguments])
    assert "base-1.json" in str(outcome.exception)
    assert (runs / "base-1").is_dir()


@pytest.mark.slow
def test_hours_follow_from_the_updates_of_now_where_nothing_was_measured(tmp_path):
    base = write_small_recipe(tmp_path)
    hours, origin = expected_hours([(BASE, 1), (BASE, 2)], base, {})
    assert 0 < hours < 1
    assert f"{TIMED_UPDATES} updates" in origin


def test_hours_follow_from_the_results_of_this_processor(tmp_path):
    base, fields = (
        write_small_recipe(tmp_path),
        {"machine": processor(), "cpu_seconds": 1800.0},
    )
    for seed, more in (
        (1, {}),
        (2, {"resumed_from": 10, "cpu_seconds": 1.0}),
        (3, {"machine": "x"}),
    ):
        write_made_up_result(tmp_path, BASE, seed, 3.0, base=base, **{**fields, **more})
    made = read_results(tmp_path, {row.name: fingerprint(row, base) for row in ROWS})
    hours, _ = expected_hours([(BASE, 1), (BASE, 2), (BASE, 3)], base, made)
    assert hours == pytest.approx(1.5)
    # 16 times as wide is more than 10 times as long.
    wide = next(row for row in ROWS if row.name == "d256")
    assert expected_hours([(wide, 1)], base, made)[0] > 5
