from tests.cli.command import assert_one_clear_line, run


def test_average_writes_a_model_folder(trained_run, tmp_path):
    arguments = ("average", trained_run, "--last", 2, "--output", tmp_path / "mean")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "2 checkpoints, up to update-00000060" in result.stdout
    assert run("info", tmp_path / "mean").exit_code == 0
    assert_one_clear_line(run(*arguments), "mean exists already")
