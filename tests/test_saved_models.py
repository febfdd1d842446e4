"""`saved_models/translate.py`, which runs without this package."""

from pathlib import Path

import pytest

from tests.cli.command import SOURCES, run_in_fresh_process

SAVED_MODELS = Path(__file__).parents[1] / "saved_models"
PROGRAM = SAVED_MODELS / "translate.py"
DEMO = SAVED_MODELS / "demo_en_de" / "1"


def assert_one_line(result, exit_code, *parts):
    assert result.returncode == exit_code
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    for part in parts:
        assert part in line


def test_lines_are_translated_and_nothing_is_on_stderr():
    result = run_in_fresh_process(PROGRAM, DEMO, input=f"{SOURCES[0]}\n")
    assert result.stdout.endswith("  Das Mädchen ist glücklich.\n")
    assert result.stderr == ""


@pytest.mark.parametrize("path", ["nowhere", DEMO.parent, PROGRAM])
def test_what_is_no_saved_model_is_named_in_one_line(path):
    result = run_in_fresh_process(PROGRAM, path, input="")
    assert_one_line(result, 1, f"{path} is no SavedModel", "saved_model.pb")


def test_a_damaged_saved_model_is_named_in_one_line(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"damaged")
    result = run_in_fresh_process(PROGRAM, tmp_path, input="")
    assert_one_line(result, 1, f"{tmp_path} cannot be loaded: ")


@pytest.mark.parametrize(
    ("arguments", "part"), [([DEMO, "--beams"], "--beams"), ([], "required: path")]
)
def test_wrong_arguments_are_named_in_one_line(arguments, part):
    assert_one_line(run_in_fresh_process(PROGRAM, *arguments), 2, part, "--help")
