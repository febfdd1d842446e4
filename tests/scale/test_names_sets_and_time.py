"""Samples of three programs of proof, in processes that run nothing before they fork."""

import keras
import pytest

from tests.cli.command import run_in_fresh_process
from tests.helpers import slow_but

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="One backend is enough."
)


@pytest.mark.slow
@pytest.mark.parametrize("program", slow_but(["names"], ["names", "sets", "time"]))
def test_names_sets_and_changes_are_answered_right_or_refused_in_one_clear_line(program):
    arguments = ("-m", f"tests.claims.{program}", "--cases", 48, "--seed", 1)
    result = run_in_fresh_process(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    (row,) = (line.split() for line in result.stdout.splitlines() if line.startswith("all "))
    assert (row[1], row[4]) == ("48", "0")
