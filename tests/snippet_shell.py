"""The shell blocks of a page, run by bash; commands that cannot be run are recorded instead."""

import os
import subprocess
import sys
from pathlib import Path

# A function goes before the program of its name; it leaves its words, each with a line's end.
_RECORD = """
{name}() {{ {{ printf '%s\\n' {name} "$@"; echo; }} >> "$RECORD"; {action}; }}
"""
_RECORD_SOME = """
{name}() {{
    case "$*" in
        {not_run}) {{ printf '%s\\n' {name} "$@"; echo; }} >> "$RECORD" ;;
        *) command {name} "$@" ;;
    esac
}}
"""
_CURL = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }'
CLONE = 'ln -sfn . "$(basename "${!#}" .git)"'


def run_shell(text, folder, record, not_run):
    """Runs a block in bash, which stops at the first command that fails.

    Args:
        text: The block.
        folder: Working directory.
        record: File for the words of the commands that are not run.
        not_run: Their names, or names and the words that they begin with, such as
            `aiayn-keras train`.

    Returns:
        What it prints, the list of commands that were not run, each a list of words, and an error
        or an empty string.
    """
    functions, some = _CURL, {}
    for name in not_run:
        program, _, words = name.partition(" ")
        if words:
            some.setdefault(program, []).append(f"'{words}'*")
        else:
            functions += _RECORD.format(name=name, action=CLONE if name == "git" else "true")
    for program, beginnings in some.items():
        functions += _RECORD_SOME.format(name=program, not_run=" | ".join(beginnings))
    record.write_text("")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        ["bash", "-c", f"set -e -o pipefail\n{functions}\n{text}"],
        cwd=folder,
        env={**environment, "RECORD": str(record)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    commands = [part.splitlines() for part in record.read_text("utf-8").split("\n\n") if part]
    error = f"exit code {ran.returncode}: {ran.stderr}" if ran.returncode else ""
    return ran.stdout, commands, error
