"""The whole of stderr of processes that start TensorFlow, with none of its switches set."""

import os
import re
import subprocess
import sys

import pytest

from aiayn_keras_cli.running import quiet_start
from tests.cli.command import SOURCES, run_in_fresh_process

MESSAGES = re.compile("TensorFlow|absl|oneDNN|I0000|cuda")
# As the script `aiayn-keras`, which every worker imports, too; one start for three commands.
SCRIPT = """
import sys
from aiayn_keras_cli import main

if __name__ == "__main__":
    model, files, output = sys.argv[1:]
    for arguments in (
        ("translate", model, "--engine", "keras"),
        ("translate", model, "--input", "nowhere.en"),
        ("translate", model, "--input", files, "--output", output, "--workers", "1"),
    ):
        try:
            main(arguments, prog_name="aiayn-keras")
        except SystemExit as end:
            print(f"exit {end.code}", flush=True)
            print(f"exit {end.code}", file=sys.stderr, flush=True)
"""


@pytest.fixture(scope="module")
def written(trained_run, tmp_path_factory):
    """Output and stderr of the commands of the script, in turn."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "aiayn-keras").write_text(SCRIPT)
    (folder / "sources.en").write_text(f"{SOURCES[0]}\n")
    arguments = (folder / "aiayn-keras", trained_run, folder / "sources.en", folder / "job")
    result = run_in_fresh_process(*arguments, input=f"{SOURCES[0]}\n")
    assert result.returncode == 0, result.stderr
    output, errors = result.stdout, result.stderr
    assert [line for line in output.splitlines() if line.startswith("exit ")] == [
        "exit 0",
        "exit 1",
        "exit 0",
    ]
    return [re.split(r"exit \d\n", text) for text in (output, errors)]


@pytest.mark.slow
def test_translate_writes_nothing_else_to_stderr(written):
    output, errors = written
    assert output[0].count("\n") == 1
    assert errors[0] == ""


def test_an_error_is_all_there_is_on_stderr(written):
    output, errors = written
    assert output[1] == ""
    assert re.fullmatch(
        r"Error: Corpus file 'nowhere\.en' does not exist in the current folder, '.*'\.\n",
        errors[1],
    )


def test_workers_of_a_job_write_nothing_to_stderr(written):
    output, errors = written
    assert output[2].startswith("1 line is in ")
    assert not MESSAGES.search(errors[2])


@pytest.mark.slow
def test_verbose_shows_the_messages(trained_run):
    pytest.importorskip("tensorflow")
    arguments = ("-m", "aiayn_keras_cli", "translate", trained_run, "--verbose")
    result = run_in_fresh_process(*arguments, input=f"{SOURCES[0]}\n")
    assert MESSAGES.search(result.stderr)


def test_messages_are_hidden_unless_the_block_fails(capfd):
    with quiet_start():
        os.write(2, b"failed call to cuInit\n")
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "ours\n"

    def fail():
        with quiet_start():
            os.write(2, b"cannot open shared object file\n")
            raise ImportError("libtensorflow")

    with pytest.raises(ImportError, match="libtensorflow"):
        fail()
    os.write(2, b"ours\n")
    assert capfd.readouterr().err == "cannot open shared object file\nours\n"


def test_a_process_without_a_stderr_starts_too():
    program = (
        "from aiayn_keras_cli.running import quiet_start\nwith quiet_start(): print('started')"
    )
    result = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" 2>&-', sys.executable, program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert (result.returncode, result.stdout) == (0, "started\n")
