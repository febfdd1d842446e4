"""A sample of `tests.claims.inputs`, in a process that has run nothing before it forks."""

import pytest

from tests.cli.command import run_in_fresh_process

QUICK = (
    *("odd text", "damaged text", "flipped bits", "special files", "unequal files", "YAML"),
    *("recipe fields", "settings", "mutated recipes", "prepared shards", "command lines"),
)


@pytest.mark.slow
def test_hostile_inputs_are_answered_or_refused_in_one_clear_line():
    groups = (word for group in QUICK for word in ("--group", group))
    arguments = ("-m", "tests.claims.inputs", "--cases", 44, "--seed", 1, *groups)
    result = run_in_fresh_process(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[1::3][:2] for row in rows if row[0] == "all"] == [["44", "0"]]
