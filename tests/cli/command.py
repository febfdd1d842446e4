"""Running the command, in this process and in one of its own."""

import os
import subprocess
import sys

from click.testing import CliRunner

from aiayn_keras_cli import main

SOURCES = ["The girl is happy.", "Every day Paul works."]


def run(*arguments, **options):
    """The result of `aiayn-keras ARGUMENT ...`."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def fresh_environment():
    """Environment of a process in which nothing has been switched yet."""
    switches = ("TF_CPP_MIN_LOG_LEVEL", "TF_ENABLE_ONEDNN_OPTS")
    environment = {name: value for name, value in os.environ.items() if name not in switches}
    return {**environment, "PYTHONPATH": os.pathsep.join(sys.path)}


def run_in_fresh_process(*arguments, **options):
    """The same, where nothing has been imported or switched yet."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=fresh_environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        **options,
    )


def start(*arguments):
    """The same as a `subprocess.Popen` whose output is read while it runs."""
    return subprocess.Popen(
        [sys.executable, "-m", "aiayn_keras_cli", *map(str, arguments)],
        env=fresh_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_one_clear_line(result, *parts):
    """The command failed, and said why in one line."""
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    error = result.stderr[result.stderr.index("Error: ") :]
    (line,) = error.splitlines()
    for part in parts:
        assert part in line


def write_lines(path, lines):
    """Writes a text file, and returns its path."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
