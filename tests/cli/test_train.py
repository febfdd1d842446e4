from tests.cli.command import assert_one_clear_line, run
from tests.runs import SETTINGS


def test_train_trains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    settings += ["--set", "training.updates=20", "--set", "training.bleu_every=20"]
    result = run("train", "demo", *settings)
    assert result.exit_code == 0, result.output
    assert "BLEU = " in result.stdout
    assert result.stdout.count("reference:") == 5
    assert "The model is in runs/demo." in result.stdout
    for again in (("demo", *settings), ("runs/demo/recipe.yaml",)):
        assert_one_clear_line(run("train", *again), "runs/demo holds a finished training")
