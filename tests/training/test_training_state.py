import json
import os
import shutil
import signal

import numpy as np
import pytest

from aiayn_keras.training import (
    RunFolder,
    list_checkpoints,
    load_from_checkpoint,
    read_state,
    training_state,
)
from aiayn_keras_light.search_numbers import read_search_defaults
from tests.cli.command import (
    SOURCES,
    assert_one_clear_line,
    run,
    start,
    write_lines,
)
from tests.training.changing import short_recipe, train_until


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory):
    """Folder of a training of six updates that was stopped after five."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    evaluation = "evaluation.extra_length=3", "evaluation.num_beams=5"
    train_until(short_recipe("training.bleu_every=6", *evaluation), folder, 5)
    return folder


def test_the_best_checkpoint_so_far_is_used_unless_another_is_asked_for(stopped_run):
    best = load_from_checkpoint(stopped_run)
    assert (best.updates, best.description) == (4, "its best checkpoint by loss")
    last = load_from_checkpoint(stopped_run, "last")
    assert (last.updates, last.description) == (5, "its newest checkpoint")
    second = load_from_checkpoint(stopped_run, 2)
    embeddings = [
        np.asarray(loaded.model.backbone.token_embedding.embeddings)
        for loaded in (second, best, last)
    ]
    assert not np.array_equal(embeddings[0], embeddings[1])
    assert not np.array_equal(embeddings[1], embeddings[2])
    with pytest.raises(FileNotFoundError, match=r"no checkpoint of update 3\. It has: 2, 4, 5\."):
        load_from_checkpoint(stopped_run, 3)


def test_the_commands_search_as_the_checkpoint_s_model_does(stopped_run):
    defaults = read_search_defaults(stopped_run)
    assert defaults == load_from_checkpoint(stopped_run).model.search_defaults
    assert defaults["extra_length"] == 3


def test_a_finished_training_that_goes_on_is_searched_as_its_changed_recipe_says(
    stopped_run, tmp_path
):
    """`search.json` is the delivered model's until the end; commands took its numbers."""
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    (folder / "task.json").write_text("{}")
    (folder / "search.json").write_text('{"num_beams": 2}')
    source = write_lines(tmp_path / "in", SOURCES[:1])
    result = run("translate", folder, "--input", source, "--n-best", 3)
    assert (result.exit_code, result.stdout.count("\t")) == (0, 2), result.stderr


def test_what_was_never_measured_cannot_be_the_best(stopped_run, tmp_path):
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    (folder / "history.json").unlink()
    loaded = load_from_checkpoint(folder)
    assert loaded.updates == 5
    assert loaded.description == "its newest checkpoint, since loss has not been measured"


def test_a_training_without_a_checkpoint_says_when_there_is_one(stopped_run, tmp_path):
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    shutil.rmtree(folder / "checkpoints")
    shutil.rmtree(folder / "stopped")
    with pytest.raises(FileNotFoundError, match=r"no checkpoint yet: its first .* after 2 updates"):
        load_from_checkpoint(folder)
    with pytest.raises(FileNotFoundError, match="does not hold a training"):
        load_from_checkpoint(tmp_path)


def test_the_state_tells_progress_and_the_time_left(stopped_run):
    folder = RunFolder(stopped_run)
    (_, before), (_, after) = list_checkpoints(folder.checkpoints)
    os.utime(before, (1000, 1000))
    os.utime(after, (1010, 1010))
    state = read_state(stopped_run)
    assert (state.updates, state.is_finished, state.best) == (5, False, 4)
    assert state.checkpoints == [2, 4, 5]
    assert [row["updates"] for row in state.history] == [2, 4]
    assert [change.updates for change in state.changes] == [0]
    assert state.delivery is None
    assert state.seconds_left == pytest.approx(1 * 10 / 2)
    os.utime(after, (1000, 1000))
    assert read_state(stopped_run).seconds_left is None


# === The commands ===


def test_info_shows_an_unfinished_training(stopped_run):
    result = run("info", stopped_run)
    assert result.exit_code == 0, result.output
    assert "not finished: 5 of 6 updates (83%) are saved" in result.stdout
    assert "checkpoints           2, 4, 5" in result.stdout
    assert "best by loss          update 4" in result.stdout
    assert result.stdout.count("update 0, 20") == 1


def test_info_names_a_figure_with_a_long_name(stopped_run, tmp_path):
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    recipe = (
        (folder / "recipe.yaml").read_text().replace("monitor: loss", "monitor: my_figures:exact")
    )
    (folder / "recipe.yaml").write_text(recipe)
    rows = json.loads((folder / "history.json").read_text())
    (folder / "history.json").write_text(json.dumps([{**row, "val_figure": 1.0} for row in rows]))
    assert "best by my_figures:exact update 2" in " ".join(run("info", folder).stdout.split())


def test_commands_use_a_checkpoint_and_say_so(stopped_run, tmp_path):
    source = write_lines(tmp_path / "source.en", SOURCES)
    limits = ("--num-beams", 1, "--max-length", 4)
    result = run("translate", stopped_run, "--input", source, *limits)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == len(SOURCES)
    said = f"The training in {stopped_run} is not finished; its best checkpoint by loss is used, "
    assert f"{said}that of update 4." in result.stderr
    output = ("--output", tmp_path)
    arguments = ("export", "preset", stopped_run, *output, "--name", "five", "--checkpoint", "last")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "its newest checkpoint is used, that of update 5." in result.stderr
    assert run("info", tmp_path / "five").exit_code == 0
    assert_one_clear_line(
        run("translate", stopped_run, "--input", source, "--checkpoint", 3), "no checkpoint of up"
    )


@pytest.mark.parametrize("checkpoint", ["", "first", "-1", "1.5", "99999999999", "²"])
def test_a_checkpoint_has_a_name_or_a_number(stopped_run, checkpoint):
    result = run("translate", stopped_run, "--checkpoint", checkpoint)
    assert result.exit_code == 2
    assert "is not best, last or a number of updates" in result.stderr


def test_a_finished_training_has_its_checkpoints_too(trained_run, tmp_path):
    arguments = ("--output", tmp_path, "--name", "early", "--checkpoint", 40)
    result = run("export", "preset", trained_run, *arguments)
    assert result.exit_code == 0, result.output
    assert "is finished; the checkpoint that was asked for is used, that of up" in result.stderr
    assert not (tmp_path / "early/evaluation.json").exists()  # it is of other weights
    assert (tmp_path / "early/history.json").exists()


@pytest.mark.slow
def test_a_job_uses_a_checkpoint_and_goes_on_with_it(stopped_run, tmp_path):
    run_folder = shutil.copytree(stopped_run, tmp_path / "run")
    source = write_lines(tmp_path / "source.en", SOURCES)
    limits = ("--num-beams", 1, "--max-length", 4, "--engine", "keras")
    command = ("translate", run_folder, "--input", source, "--output", tmp_path / "out", *limits)
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "its best checkpoint by loss is used, that of update 4." in result.stderr
    lines = run("translate", run_folder, "--input", source, *limits).stdout
    assert (tmp_path / "out/part-000000.txt").read_text("utf-8") == lines
    # The training has a better checkpoint by the time that the job goes on.
    history = json.loads((run_folder / "history.json").read_text())
    history[0]["val_loss"] = 0.1
    (run_folder / "history.json").write_text(json.dumps(history))
    assert load_from_checkpoint(run_folder).updates == 2
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "the checkpoint that was asked for is used, that of update 4." in result.stderr
    result = run(*command, "--checkpoint", "last")
    assert_one_clear_line(result, "holds a different job", "differs in: model, checkpoint")


def test_comparisons_take_checkpoints_of_all_trainings(stopped_run, tmp_path):
    source = write_lines(tmp_path / "source.en", SOURCES)
    compare = ("compare", "--source", source, "--reference", source, "--num-beams", 1)
    compare = (*compare, "--max-length", 3)
    result = run(*compare, stopped_run, source, "--checkpoint", 2)
    assert result.exit_code == 0, result.output
    assert "that was asked for is used, that of update 2." in result.stderr
    other = write_lines(tmp_path / "other.en", SOURCES)
    result = run(*compare, source, other, "--checkpoint", 2)
    assert "--checkpoint is for trainings, but none of these is a training" in result.stderr


@pytest.mark.slow
def test_the_page_shows_a_checkpoint(stopped_run):
    options = "--port", 0, "--checkpoint", "last", "--max-length", 4
    with start("serve", stopped_run, *options) as process:
        lines = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert lines[0].startswith("stopped: http://127.0.0.1:")
    assert lines[1].endswith(
        f"export saved-model {stopped_run} --output models --checkpoint last\n"
    )
    assert "its newest checkpoint is used, that of update 5." in errors
    assert process.returncode == 0


def test_a_model_without_checkpoints_is_told_from_a_young_training(stopped_run, tmp_path):
    folder = tmp_path / "model"
    assert (
        run("export", "preset", stopped_run, "--output", tmp_path, "--name", "model").exit_code == 0
    )
    result = run(
        "translate",
        folder,
        "--input",
        write_lines(tmp_path / "a.en", SOURCES[:1]),
        "--checkpoint",
        "best",
    )
    assert_one_clear_line(result, "has a model and no checkpoints")


def test_a_checkpoint_that_is_deleted_while_it_is_read_is_replaced(
    stopped_run, tmp_path, monkeypatch
):
    folder = shutil.copytree(stopped_run, tmp_path / "run")
    find, calls = training_state.find_checkpoint, []

    def find_and_delete(run, checkpoint):
        """Test double of a running training that lets go of the checkpoint just found."""
        found = find(run, checkpoint)
        calls.append(found.updates)
        if len(calls) == 2:
            found.path.unlink()
        return found

    monkeypatch.setattr(training_state, "find_checkpoint", find_and_delete)
    assert load_from_checkpoint(folder).updates == 2
    assert calls == [4, 4, 2]


def test_texts_without_letters_are_copied_as_by_the_delivered_model(stopped_run):
    model = load_from_checkpoint(stopped_run).model
    tokenizer = model.preprocessor.tokenizer
    assert tokenizer.copy_without_letters
    assert model.translate("12:30").text == "12:30"
    assert (
        tokenizer.learned_length
        == json.loads((stopped_run / "inputs.json").read_text())["learned_length"]
        > 5
    )
