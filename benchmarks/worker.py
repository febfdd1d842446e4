"""A process that keeps one system loaded and runs it when asked.

Reads a JSON object a line from standard input and answers with one on standard output:
`{"load": task}` and `{"run": true}`. Ends with its input. Started by `benchmarks.processes`.
"""

import gc
import importlib
import sys
import time

from benchmarks.answers import answer_messages
from benchmarks.tasks import Task


def _load(loader, task):
    module, function = loader.split(":")
    return getattr(importlib.import_module(module), function)(task)


def _run(system, task):
    """Translates all texts; seconds and translations."""
    requests = [[text] for text in task.texts] if task.batch_size == 1 else [task.texts]
    start = time.perf_counter()
    translations = []
    for request in requests:
        translations += system.translate(request)
    return {"seconds": time.perf_counter() - start, "translations": translations}


def main(loader):
    system = task = None
    idle_since = time.process_time()

    def answer_of(message):
        nonlocal system, task, idle_since
        answer = {"idle_cpu_seconds": time.process_time() - idle_since}
        try:
            if "load" in message:
                system = None
                gc.collect()
                task = Task(**message["load"])
                system = _load(loader, task)
                return answer | {"note": system.note}
            return answer | _run(system, task)
        finally:
            idle_since = time.process_time()

    answer_messages(answer_of)


if __name__ == "__main__":
    main(sys.argv[1])
