from tests.cli.command import SOURCES, assert_one_clear_line, run, write_lines
from tests.helpers import assert_close


def test_score_prints_a_number_for_a_line_or_a_token(
    trained_run,
    source_file,
    model,
    tmp_path,
):
    targets = ["Das Kind singt.", "Ja"]
    target_file = write_lines(tmp_path / "target", targets)
    arguments = ("score", trained_run, "--source", source_file, "--target", target_file)
    numbers = [float(line) for line in run(*arguments).stdout.splitlines()]
    assert_close(numbers, model.score(SOURCES, targets), 1e-4, 1e-4)
    per_token = [
        [float(number) for number in line.split()]
        for line in run(*arguments, "--per-token").stdout.splitlines()
    ]
    for found, expected in zip(
        per_token, model.score(SOURCES, targets, per_token=True), strict=True
    ):
        assert_close(found, expected, 1e-4, 1e-4)


def test_a_line_that_is_too_long_is_named_with_its_file(trained_run, tmp_path):
    sources = write_lines(tmp_path / "source", ["Paul works.", "Paul works."])
    targets = write_lines(tmp_path / "target", ["Paul arbeitet.", "Paul " * 300])
    result = run("score", trained_run, "--source", sources, "--target", targets)
    assert_one_clear_line(result, f"{targets}, line 2: ")
