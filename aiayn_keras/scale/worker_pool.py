"""Workers for parts: processes of this machine, or the actors of a Ray cluster.

Work is a class. Each worker creates one object of it, which loads what it needs, and then calls the
object with one part after another. The object writes its results itself; what it returns goes to
the process of the job.

Local workers are forked from a server process that has imported this package and has run nothing:
a worker starts in a moment and shares the memory of the libraries.

Ray's own pools would be shorter, but would not finish every job. `ray.util.ActorPool` gives a part
to an actor that does not have a machine yet, and does not replace a dead actor or free the core of
an idle one, so that a job waits forever on a cluster that has lost a node; hence `_give_part` and
`_replace`. Ray's restarts (`max_restarts`) also bind each part to one actor. Threads of Ray
Data are still reading when an error or Ctrl-C ends the job, and Ray ends the process of a thread
that asks it for anything after its shutdown.
"""

import collections
import concurrent.futures
import contextlib
import logging
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray

from aiayn_keras.common.file_addresses import INSTALL
from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES
from aiayn_keras_light.usable_cores import usable_cores

logger = logging.getLogger(__name__)

THIS_MACHINE = "local"
"""Instead of the address of a Ray cluster: a cluster of this machine that lives as long as the job.
"""
RAY_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Defaults for a cluster of this machine: Ray reports no usage statistics, and does not hide
accelerators from workers that request none."""
MAX_DEATHS = 10
"""Number of workers that may die over one part before the part is blamed, not the machines."""

_SECONDS_OF_SILENCE = 60
"""Time without a result after which a message says that no worker has started."""
_ACTOR_VARIABLES = {"TF_NUM_INTRAOP_THREADS": "1"}
"""An actor has one core; Ray itself limits the threads of other libraries."""
_PRELOADED = ["aiayn_keras.scale.preparation", "aiayn_keras.scale.translation"]
"""Modules that the server process imports for all local workers."""

_work = None
"""The object of the work in the process of a local worker."""
_counts, _place = None, 0
"""There, too: an array with the lines that each of the workers has done, and its place in it."""


def count_lines(number):
    """Counts lines of a part while it is worked on, for `progress` of `WorkerPool.run`."""
    if _counts is not None:
        _counts[_place] += number


@dataclass(frozen=True)
class WorkerPool:
    """The workers for parts: processes of this machine, or actors of a Ray cluster.

    Attributes:
        workers: Number of processes or actors. By default one for each core of the machine or the
            cluster, or for each accelerator of the cluster if it has any and the work uses them.
        ray: Address of a Ray cluster as in `ray.init`, `THIS_MACHINE`, or `None` for processes.
        starting: Context manager, as a function without arguments, in which processes of this
            machine import the package, such as one that hides start-up messages of libraries.
    """

    workers: int | None = None
    ray: str | None = None
    starting: Callable = field(default=contextlib.nullcontext, compare=False)

    def run(self, work_class, arguments, parts, *, uses_accelerator=False, progress=None):
        """Works on parts while the generator is open; closing it ends the workers.

        Args:
            work_class: A class that other processes can import.
            arguments: Tuple of its constructor's arguments.
            parts: List of parts.
            uses_accelerator: Whether a worker needs a GPU of its own if the cluster has any.
            progress: Function that is called, whenever processes have finished no part for some
                seconds, with the number of lines that they have counted with `count_lines`; None
                for none. Actors do not count.

        Yields:
            The result of calling an object of the class with each part, in the order of completion.

        Raises:
            ImportError: If Ray is requested but not installed.
            ConnectionError: If no Ray cluster answers at its address.
            RuntimeError: If a process of this machine was killed, or too many workers on Ray died
                over one part.
            Exception: Any error that the work raised.
        """
        if parts and self.ray is None:
            workers = min(self.workers or usable_cores(), len(parts))
            yield from _run_on_processes(
                work_class, arguments, parts, workers, self.starting, progress
            )
        elif parts:
            yield from _run_on_ray(self, work_class, arguments, parts, uses_accelerator)


# ---- Processes of this machine ----


def _cores():
    """The cores that this process may use; empty if the system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _run_on_processes(work_class, arguments, parts, workers, starting, progress):
    """Works on parts in processes that share the cores."""
    cores = _cores()
    context = _start_context(starting, max(1, len(cores) // workers))
    shares, counts, finished = context.Queue(), RawArray("Q", workers), queue.SimpleQueue()
    life, ours = context.Pipe(duplex=False)
    for worker in range(workers):
        shares.put((worker, cores[worker::workers] or cores))
    start = (life, _stderr(), dict(os.environ), shares, counts, work_class, arguments)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=start
    )
    try:
        for part in parts:
            pool.submit(_call, part).add_done_callback(finished.put)
        for _ in parts:
            yield _next_of(finished, counts, progress).result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A worker process was killed, by hand or for lack of memory, or could not start (a "
            'program needs `if __name__ == "__main__":` around its call). The same command goes on '
            "with the unfinished parts."
        ) from error
    except BaseException:  # nobody waits for the parts that are being worked on
        ours.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        life.close()
        ours.close()


def _next_of(finished, counts, progress):
    """Waits for the next finished part, and reports the lines that are done meanwhile."""
    while True:
        try:
            return finished.get(timeout=SECONDS_BETWEEN_LINES)
        except queue.Empty:
            if progress is not None:
                progress(sum(counts))


def _start_context(starting=contextlib.nullcontext, threads=1):
    """The way to start workers: forked from a server on Linux, spawned elsewhere.

    PyTorch counts the machine's cores when the server imports it, before a worker has its share of
    them: with more threads than cores, products take four times as long.
    """
    if sys.platform != "linux":  # libraries of macOS do not survive a fork
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with starting(), _environment_variable("OMP_NUM_THREADS", str(threads)):
        forkserver.ensure_running()
    return context


@contextlib.contextmanager
def _environment_variable(name, value):
    """Sets an environment variable for a while; one that the user has set stays."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def _stderr():
    """This process's stderr as an object that can be sent, or `None` if it has none."""
    try:
        return Connection(os.dup(2), readable=False)
    except OSError:
        return None


def _start(life, stderr, environment, shares, counts, work_class, arguments):
    global _work, _counts, _place
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the job's process decides
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    if stderr is not None:
        os.dup2(stderr.fileno(), 2)
    os.environ.update(environment)  # it may have changed since the server was started
    _counts = counts
    _place, share = shares.get()
    if share:
        os.sched_setaffinity(0, share)  # before a library counts the cores
    _work = _make_work(work_class, arguments)  # an error here would look like a killed process


def _end_with(life):
    """Ends this process when the job's process closes its end of a pipe, or is killed."""
    with contextlib.suppress(EOFError, OSError):
        life.recv()
    os._exit(1)


def _call(part):
    try:
        return _work(part)
    except Exception as error:
        sent = _sendable(error)
        if sent is error:
            raise
        raise sent from error


# ---- Work ----


def _make_work(work_class, arguments):
    """Creates a worker's object; if that fails, one that raises the error for every part."""
    try:
        return work_class(*arguments)
    except Exception as error:
        return _Failure(error)


class _Failure:
    """Work that could not be loaded."""

    def __init__(self, error):
        self._error = error

    def __call__(self, part):
        raise self._error


def _sendable(error):
    """The error, or one with the same text if pickle cannot recreate it from its message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


# ---- Actors of a Ray cluster ----


def _run_on_ray(pool, work_class, arguments, parts, uses_accelerator):
    """Works on parts with actors; if a worker or machine dies, its part is given to another."""
    for name, value in RAY_VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise ImportError(f"Ray is not installed: {INSTALL}") from error
    options = {"include_dashboard": False} if pool.ray == THIS_MACHINE else {}
    was_open = ray.is_initialized()  # then its cluster is used
    if not was_open:
        try:
            ray.init(pool.ray, log_to_driver=False, logging_level="ERROR", **options)
        except ConnectionError as error:  # Ray speaks of an option `--address` of its own
            raise ConnectionError(
                f"No Ray cluster answers at the address {pool.ray!r}. Start one on this machine "
                "with `ray start --head`, or give the address of a running one; ray:// needs "
                "`ray[client]` here and on the cluster's first machine."
            ) from error
    try:
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if uses_accelerator else 0
        actor_class = ray.remote(_Actor).options(
            num_cpus=1, num_gpus=1 if gpus else 0, runtime_env={"env_vars": _ACTOR_VARIABLES}
        )
        wanted = pool.workers or gpus or max(1, int(resources.get("CPU", 1)))
        crew = _Crew(ray, lambda: actor_class.remote(work_class, arguments))
        try:
            yield from crew.work_on(parts, wanted)
        finally:
            if was_open:  # otherwise they end with Ray
                crew.dismiss()
    finally:
        if not was_open:
            ray.shutdown()


class _Crew:
    """The actors of a job; each one that dies is replaced."""

    def __init__(self, ray, make_actor):
        self._ray, self._make_actor = ray, make_actor
        # From a call's reference to its actor, its part (None while the actor loads the work), and
        # the number of workers that have died over it.
        self._running = {}
        self._todo = collections.deque()  # parts, each with the number of workers it has killed

    def work_on(self, parts, workers):
        """Gives a part to each free actor, and yields the results."""
        self._todo.extend((part, 0) for part in parts)
        for _ in range(min(workers, len(parts))):
            self._start(0)
        left = len(parts)
        while left:
            done, _ = self._ray.wait(list(self._running), timeout=_SECONDS_OF_SILENCE)
            if not done:
                self._report_if_nobody_works()
                continue
            actor, part, deaths = self._running.pop(done[0])
            try:
                answer = self._ray.get(done[0])
            except self._signs_of_death() as error:
                self._replace(actor, part, deaths + 1, error)
                continue
            self._give_part(actor)
            if answer is not None:
                result, error = answer
                if error is not None:
                    raise error
                left -= 1
                yield result

    def dismiss(self):
        """Ends all remaining actors."""
        for actor, _, _ in self._running.values():
            self._end(actor)

    def _start(self, deaths):
        """Creates an actor, which gets its first part once it has a machine and has loaded."""
        actor = self._make_actor()
        self._running[actor.start.remote()] = actor, None, deaths

    def _give_part(self, actor):
        if self._todo:
            part, deaths = self._todo.popleft()
            self._running[actor.work.remote(part)] = actor, part, deaths
        else:
            self._end(actor)  # an actor without a machine may need its core

    def _replace(self, actor, part, deaths, error):
        """Creates a new actor in place of a dead one, whose part is put first in the queue."""
        if getattr(error, "actor_init_failed", False):
            raise RuntimeError(
                f"A worker on Ray could not start. Every machine needs this package. Ray says: "
                f"{error}"
            ) from error
        if deaths > MAX_DEATHS:
            number = getattr(part, "number", part)
            work = "loaded the work" if part is None else f"worked on part {number}"
            raise RuntimeError(
                f"{deaths} workers on Ray died while they {work}: perhaps this needs more memory "
                "than a machine has. The same command goes on with the unfinished parts."
            ) from error
        self._end(actor)  # it may only have been out of reach
        if part is not None:
            self._todo.appendleft((part, deaths))
        self._start(deaths if part is None else 0)

    def _end(self, actor):
        with contextlib.suppress(Exception):  # it may be dead
            self._ray.kill(actor)

    def _signs_of_death(self):
        errors = self._ray.exceptions
        return errors.RayActorError, errors.OutOfMemoryError, errors.ObjectLostError

    def _report_if_nobody_works(self):
        if all(part is None for _, part, _ in self._running.values()):
            logger.info(
                "None of %d workers has started yet: they are loading, or waiting for a free core "
                "in the cluster.",
                len(self._running),
            )


class _Actor:
    """A worker on Ray."""

    def __init__(self, work_class, arguments):
        self._work = _make_work(work_class, arguments)

    def start(self):
        """Returns once the work is loaded."""

    def work(self, part):
        """Works on a part; returns the result and `None`, or `None` and the error raised."""
        try:
            return self._work(part), None
        except Exception as error:  # Ray would wrap it in an error of its own
            sent = _sendable(error)
            sent.add_note(traceback.format_exc())
            return None, sent
