"""Cases of hostile input, each in a forked process whose memory and time are limited.

A claims program gives `Case`s to `run_cases`, and `print_table` shows the results. The caller
imports once what its cases need, and runs no operation of TensorFlow, whose threads would not
survive the fork.
"""

import contextlib
import dataclasses
import functools
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click

MEGABYTE = 2**20
CLEAR_ERRORS = (ValueError, OSError, ImportError, RuntimeError)
UNEXPECTED_ERRORS = (RecursionError, NotImplementedError)
MAX_MESSAGE_LENGTH = 2_000
"""Maximum number of characters of a clear message."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One hostile input.

    Attributes:
        group: Row of the table.
        name: Name of the case in its group.
        run: Arguments of the command `aiayn-keras`; or a function without arguments. It prints its
            answer, and raises a `ValueError`, `OSError`, `ImportError` or `RuntimeError` to refuse.
        expected: `"answer"`, `"refusal"` or `"either"`.
        message: Regular expression that the message of a refusal must match.
        check: Function that tells whether an answer, the text on stdout, is right.
        stdin: File for the standard input of the process.
    """

    group: str
    name: str
    run: Callable[[], object] | Sequence[str]
    expected: str = "either"
    message: str = ""
    check: Callable[[str], bool] | None = None
    stdin: str | Path = os.devnull


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of a case's process.

    Attributes:
        bytes: Memory of its own, beyond that of the process from which it is forked.
        seconds: Time by the clock.
    """

    bytes: int = 3 * 2**30
    seconds: float = 30.0


@dataclasses.dataclass(frozen=True)
class Result:
    """The end of a case.

    Attributes:
        case: The `Case`.
        exit_code: Exit code of its process, or the negative number of the signal that ended it.
        output: Text on stdout.
        errors: Text on stderr.
        seconds: Time by the clock.
        peak_bytes: Maximum memory of its own and of processes that it started, beyond that of the
            process from which it was forked. Files mapped into memory, such as libraries, do not
            count.
        over: `"time"` or `"memory"` if it was killed for that.
    """

    case: Case
    exit_code: int
    output: str
    errors: str
    seconds: float
    peak_bytes: int
    over: str | None = None

    @property
    def message(self) -> str:
        """The line of the refusal, from `Error: ` on; empty if there is none."""
        found = re.search(r"^Error: .*\Z", self.errors.strip(), re.MULTILINE | re.DOTALL)
        return found.group() if found else ""

    @property
    def fault(self) -> str | None:
        """A short reason why the case fell through, or None."""
        case = self.case
        if self.over is not None:
            return f"over the limit of {self.over}"
        if "Traceback (most recent call last)" in self.errors:
            return "traceback"
        if self.exit_code not in (0, 1, 2):
            return f"exit code {self.exit_code}"
        if self.exit_code == 0:
            if case.expected == "refusal":
                return "accepted"
            right = case.check is None or case.check(self.output)
            return None if right else "wrong answer"
        if case.expected == "answer":
            return "refused"
        return self._fault_of_message()

    def _fault_of_message(self):
        message = self.message
        if not message.removeprefix("Error: "):
            return "silent failure"
        if "\n" in message:
            return "more than one line"
        if len(message) > MAX_MESSAGE_LENGTH:
            return f"message of {len(message)} characters"
        if "--debug" in message:
            return "unexpected exception"
        if not re.search(self.case.message, message):
            return f"message without {self.case.message!r}"
        return None


def run_cases(cases: Iterable[Case], limits: Limits | None = None) -> Iterator[Result]:
    """Runs cases, one after the other, each in a forked process and an empty folder of its own.

    Args:
        cases: `Case`s; the next one is taken when the one before has ended.
        limits: `Limits`.

    Yields:
        A `Result` for each case.
    """
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="case-") as folder:
            yield _run(case, Path(folder), limits or Limits())


def _run(case, folder, limits):
    base, start = _own_bytes(os.getpid()), time.monotonic()
    work = folder / "work"
    work.mkdir()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        _run_child(case, folder, work, limits)
    try:
        status, peak, over = _wait(process, start, limits, base + limits.bytes)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)  # what it started and left behind
    return Result(
        case,
        os.waitstatus_to_exitcode(status),
        (folder / "stdout").read_text("utf-8", errors="backslashreplace"),
        (folder / "stderr").read_text("utf-8", errors="backslashreplace"),
        time.monotonic() - start,
        max(0, peak - base),
        over,
    )


def _wait(process, start, limits, max_bytes):
    """Waits for a process, killed where it passes a limit: its status, peak memory, and limit."""
    over, peak = None, 0
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status, peak, over
        peak = max(peak, _own_bytes(process))
        if over is None and (peak > max_bytes or time.monotonic() - start > limits.seconds):
            over = "memory" if peak > max_bytes else "time"
            os.kill(process, signal.SIGKILL)
        time.sleep(0.005)


def _run_child(case, folder, work, limits):
    """Runs a case in the process that was forked for it; does not return."""
    code = 70
    try:
        os.setsid()
        _limit_memory(limits.bytes)
        os.chdir(work)
        _redirect(case.stdin, folder)
        code = _exit_code_of(case.run)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _limit_memory(limit):
    """Lets a request for far more memory than the limit fail at once, before it is resident."""
    data = _bytes_of_status("self", "VmData")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (data + 2 * limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _redirect(stdin, folder):
    """Redirects the standard streams to files, for Python and for libraries in C++."""
    streams = ((stdin, os.O_RDONLY), (folder / "stdout", os.O_RDWR), (folder / "stderr", os.O_RDWR))
    for number, (path, flags) in enumerate(streams):
        opened = os.open(path, flags | os.O_CREAT if number else flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _exit_code_of(run):
    try:
        if callable(run):
            run()
        else:
            from aiayn_keras_cli import main

            main([str(argument) for argument in run], prog_name="aiayn-keras")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except CLEAR_ERRORS as error:
        if isinstance(error, UNEXPECTED_ERRORS):
            raise
        click.echo(f"Error: {' '.join(str(error).split())}", err=True)
        return 1
    return 0


def _own_bytes(process):
    """Resident memory, without mapped files, of a process and all that it started."""
    return sum(_bytes_of_status(each, "RssAnon") for each in [process, *_members(process)])


@functools.lru_cache(1)
def _members_at(process, moment):
    """The other processes of the session that a process leads."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may have ended
            session = path.read_text("utf-8", "replace").rpartition(")")[2].split()[3]
            if int(session) == process and path.parent.name != str(process):
                found.append(path.parent.name)
    return found


def _members(process):
    return _members_at(process, int(10 * time.monotonic()))  # looked up ten times a second


def _bytes_of_status(process, field):
    try:
        text = Path(f"/proc/{process}/status").read_text("utf-8")
    except OSError:
        return 0
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def print_table(results: Sequence[Result], echo: Callable[[str], object] = click.echo) -> int:
    """Prints a row for each group of results, and a line for each case that fell through.

    Args:
        results: `Result`s of `run_cases`.
        echo: Function that prints a line.

    Returns:
        Number of cases that fell through.
    """
    groups = list(dict.fromkeys(result.case.group for result in results))
    row = "{:<22} {:>6} {:>9} {:>8} {:>7} {:>9} {:>9}".format
    echo(row("group", "tried", "answered", "refused", "fallen", "longest", "peak"))
    for group in [*groups, "all"]:
        own = [result for result in results if group in (result.case.group, "all")]
        fallen = sum(result.fault is not None for result in own)
        answered = sum(result.fault is None and result.exit_code == 0 for result in own)
        seconds = max((result.seconds for result in own), default=0)
        peak = max((result.peak_bytes for result in own), default=0) / MEGABYTE
        counts = (len(own), answered, len(own) - answered - fallen, fallen)
        echo(row(group, *counts, f"{seconds:.1f} s", f"{peak:,.0f} MB"))
    fallen = [result for result in results if result.fault is not None]
    for result in fallen:
        last = (result.errors.strip().splitlines() or [""])[-1]
        echo(f"{result.case.group}: {result.case.name}: {result.fault}: {last[:200]}")
    return len(fallen)
