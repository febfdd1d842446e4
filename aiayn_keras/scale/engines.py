"""The workers for parts: processes of this machine, or the actors of a Ray cluster."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from aiayn_keras.scale.ray_actors import run_on_ray
from aiayn_keras.scale.work import WORKER_VARIABLES, can_be_sent, make_work

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
        """Works on parts, for as long as the generator is open: the workers end when it is closed.

        Args:
            work_class: A class that can be imported, as its objects are made in other processes.
            arguments: Tuple of its constructor's arguments.
            parts: List of parts.
            uses_accelerator: Whether a worker needs a GPU for itself, if a cluster has any.

        Yields:
            What an object of the class returns for each part, in the order in which they are done.

        Raises:
            ImportError: If Ray is wanted and not installed.
            RuntimeError: If a process of this machine was killed, or too many workers on Ray died
                over one part.
            Exception: What the work raised, on either.
        """
        if parts and self.ray is None:
            workers = min(self.workers or _count_cores(), len(parts))
            yield from _run_on_processes(work_class, arguments, parts, workers)
        elif parts:
            yield from run_on_ray(
                self.ray, self.workers, work_class, arguments, parts, uses_accelerator
            )


def _count_cores():
    return len(_cores()) or os.cpu_count() or 1


def _cores():
    """The cores that this process may use, where the system tells."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _run_on_processes(work_class, arguments, parts, workers):
    """Works on parts in processes, which share the cores."""
    context, cores = multiprocessing.get_context("spawn"), _cores()
    shares = context.Queue()
    life, ours = context.Pipe(duplex=False)
    for worker in range(workers):
        shares.put(cores[worker::workers] or cores)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(life, shares, work_class, arguments)
    )
    try:
        with _variables(WORKER_VARIABLES):  # processes are started as parts are submitted
            futures = [pool.submit(_call, part) for part in parts]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A process was killed, by hand or for want of memory, or could not start (a program "
            'needs `if __name__ == "__main__":` around its call). The same command goes on with '
            "the parts that are not done."
        ) from error
    except BaseException:  # nobody waits for the parts that are being worked on
        ours.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        life.close()
        ours.close()


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


def _start(life, shares, work_class, arguments):
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the job's is asked
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    share = shares.get()
    if share:
        os.sched_setaffinity(0, share)  # before a library counts the cores
    _work = make_work(work_class, arguments)  # an error here would be told as a killed process


def _end_with(life):
    """Ends this process when the job's closes its end of a pipe, or is killed."""
    with contextlib.suppress(EOFError, OSError):
        life.recv()
    os._exit(1)


def _call(part):
    try:
        return _work(part)
    except Exception as error:
        sent = can_be_sent(error)
        if sent is error:
            raise
        raise sent from error
