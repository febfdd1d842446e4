"""The work on parts, done by processes of this machine or by a Ray cluster.

Work is a class: an object of it is made once in each worker, where it loads what it needs, and is
then called with one part after the other. What it returns about a part must be small; results are
written by the worker.
"""

import concurrent.futures
import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool

from aiayn_keras.scale.addresses import INSTALL

_work = None
"""The object of a local worker's process."""


def run_on_processes(work_class, arguments, parts, workers):
    """Works on parts in processes of this machine.

    Args:
        work_class: A class that can be imported, as its objects are made in other processes.
        arguments: Tuple of its constructor's arguments.
        parts: List of parts.
        workers: Number of processes, which share the cores.

    Yields:
        What an object of the class returns for each part, in the order in which they are done.

    Raises:
        RuntimeError: If a process was killed.
    """
    context = multiprocessing.get_context("spawn")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    shares = context.Queue()
    for worker in range(workers):
        shares.put(cores[worker::workers] or cores)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(shares, work_class, arguments)
    )
    try:
        futures = [pool.submit(_call, part) for part in parts]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A process was killed, by hand or for want of memory. The parts that are done are "
            "kept; the same command goes on."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start(shares, work_class, arguments):
    global _work
    share = shares.get()
    if share:
        os.sched_setaffinity(0, share)  # before a library counts the cores
    _work = work_class(*arguments)


def _call(part):
    return _work(part)


def run_on_ray(work_class, arguments, parts, workers=None, address=None):
    """Works on parts by Ray Data, which starts a part again whose worker or machine died.

    Args:
        work_class: As in `run_on_processes`.
        arguments: As in `run_on_processes`.
        parts: As in `run_on_processes`.
        workers: Number of Ray's actors; as many as the cluster has cores if not given.
        address: Of the cluster, as in `ray.init`; a cluster of this machine if not given.

    Yields:
        As `run_on_processes` does.

    Raises:
        ImportError: If Ray is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(f"Ray is not installed: {INSTALL}") from error
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    workers = workers or int(ray.cluster_resources().get("CPU", 1))
    rows = ray.data.from_items([{"part": part} for part in parts], override_num_blocks=len(parts))
    done = rows.map_batches(
        _RayWork,
        fn_constructor_args=(work_class, arguments),
        batch_size=1,
        concurrency=min(workers, len(parts)),
        num_cpus=1,
    )
    for row in done.iter_rows():
        yield row["result"]


class _RayWork:
    def __init__(self, work_class, arguments):
        self._work = work_class(*arguments)

    def __call__(self, batch):
        return {"result": [self._work(part) for part in batch["part"]]}
