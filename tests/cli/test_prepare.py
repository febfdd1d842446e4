from tests.cli.command import assert_one_clear_line, run


def test_prepare_writes_shards(tmp_path):
    output = tmp_path / "shards"
    settings = ("--set", "corpus.train_size=300", "--set", "tokenizer.vocabulary_size=200")
    arguments = ("prepare", "demo", *settings, "--output", output)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert f"300 pairs are in {output}." in result.stdout
    assert len(list(output.glob("*.array_record"))) == 1
    assert_one_clear_line(run(*arguments), "shards exists already")
