"""A process that keeps one system loaded and trains when asked; see `benchmarks.worker`.

Nothing but NumPy is imported here, so that a system may run in an environment of its own.
"""

import importlib
import json
import os
import resource
import sys
import time

from benchmarks.train_tasks import TrainTask, count_flops, real_target_tokens


def _load(loader, task):
    module, function = loader.split(":")
    return getattr(importlib.import_module(module), function)(task)


def _describe(trainer, task):
    return {
        "tokens": real_target_tokens(trainer.batches),
        "flops": count_flops(task, trainer.batches),
        "shapes": len({batch["labels"].shape for batch in trainer.batches}),
    }


def main(loader):
    # Whatever a library prints must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    trainer = None
    for line in sys.stdin:
        message = json.loads(line)
        answer = {}
        try:
            if "load" in message:
                task = TrainTask(**message["load"])
                trainer = _load(loader, task)
                answer |= _describe(trainer, task)
            elif "peak" in message:
                answer["flops_per_second"] = trainer.measure_peak()
                count = trainer.count_compilations
                answer["compilations"] = None if count is None else count()
            else:
                start = time.perf_counter()
                answer["loss"] = float(trainer.run())
                answer["seconds"] = time.perf_counter() - start
                answer["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        except Exception as error:
            answer["error"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
