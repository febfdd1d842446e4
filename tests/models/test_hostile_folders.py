"""Samples of two programs of proof, in processes that run nothing before they fork."""

import keras
import pytest

from tests.cli.command import run_in_fresh_process
from tests.helpers import slow_but

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The command is the same on all backends."
)

QUICK = {
    "folders": (
        *("another form", "sizes", "special files", "a flipped bit", "cut short", "weights"),
        *("tokenizers", "kits", "left by a training", "unfinished"),
    ),
    "arguments": (
        *("backbone", "SearchOptions", "make_serving_options", "BeamSampler", "WarmupSchedule"),
        *("LabelSmoothedCrossEntropy", "paper_adam"),
    ),
}


@pytest.mark.parametrize("program", slow_but(["folders"], list(QUICK)))
def test_what_is_damaged_or_impossible_is_refused_in_one_clear_line(program):
    groups = (word for group in QUICK[program] for word in ("--group", group))
    arguments = ("-m", f"tests.claims.{program}", "--cases", 20, "--seed", 1, *groups)
    result = run_in_fresh_process(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    (row,) = (line.split() for line in result.stdout.splitlines() if line.startswith("all "))
    assert (row[1], row[4]) == ("20", "0")
