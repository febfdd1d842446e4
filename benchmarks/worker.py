"""A process that calls functions when asked: `python -m benchmarks.worker [CHECKOUT]`.

Started by `benchmarks.processes`. Reads JSON objects, one per line, from standard input and answers
each with one on standard output; ends with its input. `{"function": "module:name", "arguments":
{...}}` calls a function; with `"keep": true` its result is kept here, and `{"function": "name"}`
calls a method of the object kept last. Only the standard library is imported here, so that a system
may run in its own environment.

CHECKOUT is a folder whose `aiayn_keras` is imported instead of the one beside `benchmarks`.
"""

import gc
import importlib
import json
import os
import sys
import time

from benchmarks.memory import resident_bytes


class Worker:
    """The object kept last, and calls to it or to functions."""

    def __init__(self):
        self.kept = None

    def answer(self, function, arguments, keep=False):
        """Calls a function of a module or a method of the kept object."""
        if keep:
            self.kept = None
            gc.collect()
        module, _, name = function.rpartition(":")
        owner = importlib.import_module(module) if module else self.kept
        result = getattr(owner, name)(**arguments)
        if keep:
            self.kept, result = result, None
        return {"result": result, "peak_bytes": resident_bytes("VmHWM")}


def main(checkout=None):
    """Answers messages until the input ends."""
    if checkout is not None:
        sys.path.insert(0, checkout)
    # Whatever a library prints must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker()
    idle_since = time.process_time()
    for line in sys.stdin:
        idle_cpu_seconds = time.process_time() - idle_since
        try:
            answer = worker.answer(**json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer | {"idle_cpu_seconds": idle_cpu_seconds}) + "\n")
        answers.flush()
        idle_since = time.process_time()


if __name__ == "__main__":
    main(*sys.argv[1:])
