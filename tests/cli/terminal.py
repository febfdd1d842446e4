"""A program on a terminal of its own, with a test as the person who types and reads."""

import os
import re
import select
import subprocess
import sys
import time

# `pty.spawn` joins the terminal of the program with the pipes of this process.
_SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_A, CTRL_C, CTRL_D, CTRL_P = map(chr, (1, 3, 4, 16))


class Terminal:
    """Runs `python ARGUMENT ...` on a pseudo-terminal.

    Args:
        *arguments: Of Python.
        **environment: Variables to set.
    """

    def __init__(self, *arguments, **environment):
        path = os.pathsep.join(sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SPAWN, sys.executable, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "TERM": "dumb", **environment},
        )
        self._unread = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def type(self, text):
        """Types a text; a line needs its end."""
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def read_until(self, ending, seconds=60):
        """Reads up to and including a text."""
        assert self._comes(ending, seconds), f"{ending!r} did not come, but {self._unread!r}"
        read, found, self._unread = self._unread.partition(ending)
        return read + found

    def interrupt(self, ending):
        """Presses Ctrl-C, and reads up to what follows.

        Python heeds a Ctrl-C that comes between the prompt and the waiting for a key with the next
        key only: what does not work is pressed again.
        """
        for _ in range(60):
            self.type(CTRL_C)
            if self._comes(ending, 1):
                break
        return self.read_until(ending, 1)

    def ask(self, line, prompt="> "):
        """Lines that answer a line, at the prompt."""
        self.type(f"{line}\n")
        shown = self.read_until(f"\n{prompt}").removesuffix(f"\n{prompt}")
        return [line.rstrip("\r") for line in shown.split("\n")[1:]]  # the first is what was typed

    def exit_code(self):
        """Waits for the end of the program; the rest of its output can still be read."""
        return self._process.wait(60)

    def _comes(self, ending, seconds):
        end = time.monotonic() + seconds
        while ending not in self._unread:
            more = self._read(end - time.monotonic())
            if not more:
                return False
            self._unread += _ESCAPE.sub("", more)
        return True

    def _read(self, seconds):
        ready, _, _ = select.select([self._process.stdout], [], [], max(seconds, 0))
        return os.read(self._process.stdout.fileno(), 1 << 16).decode() if ready else ""
