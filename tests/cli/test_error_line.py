import pytest

from aiayn_keras.cli.error_line import error_line
from tests.cli.command import run


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a.en, line 2:\n  no tab."), "a.en, line 2: no tab."),
        (ValueError("\x1b[31mred\x07"), r"\x1b[31mred\x07"),
        (KeyError("shards"), "unexpected KeyError: 'shards'. Run with --debug"),
        (MemoryError(), "unexpected MemoryError. Run with --debug"),
        (RecursionError("too deep"), "unexpected RecursionError: too deep. Run with --debug"),
        (NotImplementedError(), "unexpected NotImplementedError. Run with --debug"),
        (ValueError(), "unexpected ValueError. Run with --debug"),
    ],
)
def test_an_error_is_one_printable_line(error, line):
    assert error_line(error).startswith(line)
    assert ("--debug" in error_line(error)) == ("--debug" in line)


def test_a_long_message_is_cut():
    assert error_line(ValueError("x" * 1_001)) == f"{'x' * 1_000} …"
    assert len(error_line(KeyError("\0" * 100_000))) < 1_200


def test_a_wrong_argument_is_shortened_too():
    result = run("x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 1_500
