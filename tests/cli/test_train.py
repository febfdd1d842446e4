"""`aiayn-keras prepare`, `train` and `average`."""

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


def test_prepare_writes_shards(tmp_path):
    output = tmp_path / "shards"
    settings = ("--set", "corpus.train_size=300", "--set", "tokenizer.vocabulary_size=200")
    arguments = ("prepare", "demo", *settings, "--output", output)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert f"300 pairs are in {output}." in result.stdout
    assert len(list(output.glob("*.array_record"))) == 1
    assert_one_clear_line(run(*arguments), "shards exists already")


def test_average_writes_a_model_folder(trained_run, tmp_path):
    arguments = ("average", trained_run, "--last", 2, "--output", tmp_path / "mean")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "2 checkpoints, up to update-00000060" in result.stdout
    assert run("info", tmp_path / "mean").exit_code == 0
    assert_one_clear_line(run(*arguments), "mean exists already")
