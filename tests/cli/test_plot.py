import json

from matplotlib.image import imread as read_png

from tests.cli.command import assert_one_clear_line, run

ROW = {"learning_rate": 0.1, "loss": 2.0, "val_loss": 1.5, "val_perplexity": 4.5}


def write_run(folder, *updates):
    folder.mkdir()
    rows = [{"updates": update, **ROW} for update in updates]
    (folder / "history.json").write_text(json.dumps(rows))
    return folder


def test_trainings_are_compared_in_one_figure(tmp_path):
    runs = write_run(tmp_path / "a", 10, 20), write_run(tmp_path / "b", 5)
    result = run("plot", *runs, "--output", tmp_path / "new/f.png")
    assert result.output == f"{tmp_path}/new/f.png shows {runs[0]}, {runs[1]}.\n"
    assert read_png(tmp_path / "new/f.png").std() > 0.01


def test_what_is_no_training_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    result = run("plot", tmp_path / "a")
    assert_one_clear_line(result, "a has no history.json", "first checkpoint")
    (tmp_path / "a/history.json").write_text('[{"updates": 1}]')
    assert_one_clear_line(run("plot", tmp_path / "a"), "history.json is damaged")
    result = run("plot", write_run(tmp_path / "c", 1), "--output", tmp_path / "f.pdf")
    assert result.exit_code == 2
    assert "must end in .png" in result.output
