"""The work on parts, done by processes of this machine or by a Ray cluster.

Work is a class: an object of it is made once in each worker, where it loads what it needs, and is
then called with one part after the other. What it returns about a part must be small; results are
written by the worker.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from aiayn_keras.data.addresses import INSTALL

THIS_MACHINE = "local"
"""In place of the address of a Ray cluster: one of this machine alone, for as long as the job."""
RAY_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray sends nothing to its makers, and leaves accelerators visible to workers that ask for none."""

WORKER_VARIABLES = {"AIAYN_KERAS_LAZY": "1"}
"""A worker loads what its work needs: tokenizing needs no Keras."""
RAY_WORKER_VARIABLES = {**WORKER_VARIABLES, "TF_NUM_INTRAOP_THREADS": "1"}
"""A worker has one core, as Ray counts; other libraries are told so by Ray."""

_work = None
"""The object of a local worker's process."""


@dataclass(frozen=True)
class Engine:
    """The workers for parts: processes of this machine, or actors of a Ray cluster.

    Attributes:
        workers: Number of processes of this machine, or of Ray's actors; if not given, one for
            each core of the machine or the cluster, or for each of the cluster's accelerators
            where there are any and the work uses them.
        ray: Address of a Ray cluster as in `ray.init`, `THIS_MACHINE`, or `None` for processes.
    """

    workers: int | None = None
    ray: str | None = None

    def run(self, work_class, arguments, parts, *, uses_accelerator=False):
        """Works on parts.

        Args:
            work_class: A class that can be imported, as its objects are made in other processes.
            arguments: Tuple of its constructor's arguments.
            parts: List of parts.
            uses_accelerator: Whether a worker needs a GPU for itself, if a cluster has any.

        Yields:
            What an object of the class returns for each part, in the order in which they are done.

        Raises:
            ImportError: If Ray is wanted and not installed.
            RuntimeError: If a process of this machine was killed.
            Exception: What the work raised, on either.
        """
        if not parts:
            return iter(())
        if self.ray is None:
            workers = min(self.workers or _count_cores(), len(parts))
            return _run_on_processes(work_class, arguments, parts, workers)
        return self._run_on_ray(work_class, arguments, parts, uses_accelerator)

    def _run_on_ray(self, work_class, arguments, parts, uses_accelerator):
        """Works on parts by Ray Data, which starts a part again whose worker or machine died."""
        os.environ.update(RAY_VARIABLES)
        try:
            import ray
            import ray.data
        except ImportError as error:
            raise ImportError(f"Ray is not installed: {INSTALL}") from error
        options = {"address": self.ray}
        if self.ray == THIS_MACHINE:
            options["include_dashboard"] = False
        was_open = ray.is_initialized()
        if not was_open:
            ray.init(log_to_driver=False, logging_level="ERROR", **options)
        try:
            ray.data.DataContext.get_current().enable_progress_bars = False
            resources = ray.cluster_resources()
            gpus = int(resources.get("GPU", 0)) if uses_accelerator else 0
            workers = self.workers or gpus or int(resources.get("CPU", 1))
            rows = [{"part": part} for part in parts]
            done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                _RayWork,
                fn_constructor_args=(work_class, arguments),
                batch_size=1,
                concurrency=min(workers, len(parts)),
                num_cpus=1,
                num_gpus=1 if gpus else 0,
                runtime_env={"env_vars": RAY_WORKER_VARIABLES},
            )
            for row in done.iter_rows():
                if isinstance(row["result"], Exception):
                    raise row["result"]
                yield row["result"]
        finally:
            if not was_open:
                ray.shutdown()


def _count_cores():
    return len(_cores()) or os.cpu_count() or 1


def _cores():
    """The cores that this process may use, where the system tells."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _run_on_processes(work_class, arguments, parts, workers):
    """Works on parts in processes, which share the cores."""
    context, cores = multiprocessing.get_context("spawn"), _cores()
    shares = context.Queue()
    for worker in range(workers):
        shares.put(cores[worker::workers] or cores)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(shares, work_class, arguments)
    )
    try:
        with _variables(WORKER_VARIABLES):  # processes are started as parts are submitted
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


@contextlib.contextmanager
def _variables(values):
    """Sets environment variables for as long as the block runs."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(shares, work_class, arguments):
    global _work
    share = shares.get()
    if share:
        os.sched_setaffinity(0, share)  # before a library counts the cores
    _work = work_class(*arguments)


def _call(part):
    return _work(part)


class _RayWork:
    """Ray Data's batches of one part, for a work class."""

    def __init__(self, work_class, arguments):
        self._work = work_class(*arguments)

    def __call__(self, batch):
        (part,) = batch["part"]
        try:
            return {"result": [self._work(part)]}
        except Exception as error:  # Ray would hide it in one of its own
            return {"result": [error]}
