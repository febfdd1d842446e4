"""The runner of hostile cases sees every way in which a case can fail."""

import pytest

from tests.cli.command import run_in_fresh_process

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys, time
from tests.claims.forked_cases import Case, Limits, print_table, run_cases

def refuse(error):
    raise error

def eat():
    held = []
    while True:
        held.append(b"1" * 10**7)
        time.sleep(0.01)

cases = [
    Case("fine", "answer", lambda: print("yes"), "answer", check=lambda text: text == "yes\\n"),
    Case("fine", "refusal", lambda: refuse(ValueError("a.en, line 3")), "refusal", "line 3"),
    Case("fine", "file", lambda: print(sys.stdin.read()), check=lambda t: t > "", stdin=__file__),
    Case("accepted", "", lambda: None, "refusal"),
    Case("wrong answer", "", lambda: print("no"), check=lambda text: text == "yes\\n"),
    Case("refused", "", lambda: refuse(ValueError("no")), "answer"),
    Case("traceback", "", lambda: refuse(KeyError("a"))),
    Case("silent failure", "", lambda: sys.exit(1)),
    Case("message without 'file'", "", lambda: refuse(ValueError("no")), message="file"),
    Case("unexpected exception", "", lambda: refuse(ValueError("run with --debug"))),
    Case("message of 5007 characters", "", lambda: refuse(ValueError("x" * 5000))),
    Case("exit code -6", "", os.abort),
    Case("exit code 5", "", lambda: sys.exit(5)),
    Case("over the limit of time", "", lambda: time.sleep(60)),
    Case("over the limit of memory", "", eat),
]
results = list(run_cases(cases, Limits(bytes=10**8, seconds=3.0)))
for result in results:
    wanted = None if result.case.group == "fine" else result.case.group
    assert result.fault == wanted, (result.case.group, result)
    assert result.seconds < 30
assert results[-1].peak_bytes > 10**8
assert print_table(results) == 12
"""


def test_every_way_to_fall_through_is_seen(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    result = run_in_fresh_process(path)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["fine", "3", "2", "1", "0"] in [row[:5] for row in rows]
    assert ["all", "15", "2", "1", "12"] in [row[:5] for row in rows]
