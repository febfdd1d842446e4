"""The one way of starting a process: the parent's side of `benchmarks.worker`."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


class WorkerError(Exception):
    """A process that could not be started or failed; the message gives the reason in one line."""


class Worker:
    """A process that calls functions on request.

    Args:
        log: Path of a file for the output of the process.
        backend: Keras backend; None if Keras is not used.
        checkout: Folder with another version of `aiayn_keras` to import.
        python: The interpreter, if it is a different one.
        with_gpus: True to let it use GPUs.

    Attributes:
        idle_cpu_seconds: CPU time that it used while idle.
        peak_bytes: Its peak resident memory.
    """

    def __init__(self, log, backend=None, checkout=None, python=None, with_gpus=False):
        self.log = Path(log)
        self.idle_cpu_seconds, self.peak_bytes = 0.0, 0
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        if not with_gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        folders = [*([checkout] if checkout else []), ROOT, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, map(str, folders)))
        if backend is not None:
            environment["KERAS_BACKEND"] = backend
        command = [python or sys.executable, "-m", "benchmarks.worker"]
        with self.log.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [*command, *([str(checkout)] if checkout else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                text=True,
                encoding="utf-8",
            )

    def call(self, function, **arguments):
        """Calls a function, or a method of the object kept last.

        Args:
            function: `"module:name"` of a function, or the name of a method.
            **arguments: Values that JSON can hold.

        Returns:
            Its result.

        Raises:
            WorkerError: If it raises an error, or the process ends.
        """
        return self._ask({"function": function, "arguments": arguments})

    def keep(self, function, **arguments):
        """Calls a function whose result is kept in the process and replaces what was kept."""
        self._ask({"function": function, "arguments": arguments, "keep": True})

    def _ask(self, message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise WorkerError(f"its process ended: {lines[-1] if lines else 'no message'}")
        answer = json.loads(line)
        self.idle_cpu_seconds += answer["idle_cpu_seconds"]
        if "error" in answer:
            raise WorkerError(" ".join(answer["error"].split())[:300])
        self.peak_bytes = answer["peak_bytes"]
        return answer["result"]

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
