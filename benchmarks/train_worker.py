"""A process that keeps one system loaded and trains when asked; see `benchmarks.worker`.

Nothing but NumPy is imported here, so that a system may run in an environment of its own.
"""

import importlib
import resource
import sys
import time

from benchmarks.answers import answer_messages
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
    trainer = None

    def answer_of(message):
        nonlocal trainer
        if "load" in message:
            task = TrainTask(**message["load"])
            trainer = _load(loader, task)
            return _describe(trainer, task)
        if "peak" in message:
            count = trainer.count_compilations
            return {
                "flops_per_second": trainer.measure_peak(),
                "compilations": None if count is None else count(),
            }
        start = time.perf_counter()
        loss = float(trainer.run())
        return {
            "loss": loss,
            "seconds": time.perf_counter() - start,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }

    answer_messages(answer_of)


if __name__ == "__main__":
    main(sys.argv[1])
