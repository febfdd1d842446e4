"""The parent's side of `benchmarks.worker`."""

import importlib.util
import json
import os
import subprocess
import sys
import time

# After this long, threads that wait actively for more work have gone to sleep.
REST_SECONDS = 0.3


class WorkerError(Exception):
    """A system could not be started or run; the message says why, in one line."""


class Worker:
    """A process with one system.

    Args:
        spec: A `benchmarks.tasks.SystemSpec`.
        log: Path of a file for whatever the process prints.
        python: The interpreter, if it is another one.

    Raises:
        WorkerError: If a package is not installed.
    """

    def __init__(self, spec, log, python=None):
        for package in spec.packages:
            if importlib.util.find_spec(package) is None:
                raise WorkerError(f"`{package}` is not installed")
        self.log = log
        self._idle_cpu_seconds = 0.0
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        if spec.backend is not None:
            environment["KERAS_BACKEND"] = spec.backend
        with log.open("w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [python or sys.executable, "-m", spec.worker, spec.loader],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                text=True,
                encoding="utf-8",
            )

    def load(self, task):
        """Loads a `Task`; returns what the system notes on itself."""
        return self.ask({"load": task.as_dict()})["note"]

    def run(self):
        """Translates the task's texts; returns seconds and translations."""
        time.sleep(REST_SECONDS)
        answer = self.ask({"run": True})
        self._idle_cpu_seconds += answer["idle_cpu_seconds"]
        return answer["seconds"], answer["translations"]

    def take_idle_cpu_seconds(self):
        """CPU time used while nothing was asked of it, since the last call."""
        seconds, self._idle_cpu_seconds = self._idle_cpu_seconds, 0.0
        return seconds

    def ask(self, message):
        """Sends a dictionary; returns the answer, a dictionary.

        Raises:
            WorkerError: If the process has ended, or answers with an error.
        """
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
        if "error" in answer:
            raise WorkerError(" ".join(answer["error"].split())[:300])
        return answer

    def close(self):
        """Ends the process."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
