"""The work on parts, done by the actors of a Ray cluster.

Ray's actors and not Ray Data: threads of the latter are still reading when an error or Ctrl-C ends
the job, and Ray ends the process of a thread that asks it for anything after its shutdown. Ray does
not restart them: it would bind a part to an actor that may never find a machine again, and restart
for ever one that dies while it loads.
"""

import collections
import contextlib
import logging
import os
import traceback

from aiayn_keras.common.addresses import INSTALL
from aiayn_keras.scale.work import WORKER_VARIABLES, can_be_sent, make_work

logger = logging.getLogger(__name__)

THIS_MACHINE = "local"
"""In place of the address of a Ray cluster: one of this machine alone, for as long as the job."""
RAY_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""For a cluster of this machine alone, unless they are set: Ray sends nothing to its makers, and
leaves accelerators visible to workers that ask for none."""

MAX_DEATHS = 10
"""Deaths of workers over one part; after one more it is the part's fault, not the machines'."""
SECONDS_OF_SILENCE = 60
"""Time after which it is told that no worker has found a machine."""

_ACTOR_VARIABLES = {**WORKER_VARIABLES, "TF_NUM_INTRAOP_THREADS": "1"}
"""A worker has one core, as Ray counts; other libraries are told so by Ray."""


def run_on_ray(address, workers, work_class, arguments, parts, uses_accelerator):
    """Works on parts by actors; a part whose worker or machine dies is given to another.

    Args:
        address: Address of a cluster as in `ray.init`, or `THIS_MACHINE`. Where Ray is open in this
            process, its cluster is taken.
        workers: Number of actors, or `None`: as in `Engine`.
        work_class: A class that can be imported, as its objects are made in other processes.
        arguments: Tuple of its constructor's arguments.
        parts: List of parts.
        uses_accelerator: Whether an actor needs a GPU for itself, if the cluster has any.

    Yields:
        What an object of the class returns for each part, in the order in which they are done.

    Raises:
        ImportError: If Ray is not installed.
        RuntimeError: If more than `MAX_DEATHS` workers died over a part, or none can start.
        Exception: What the work raised.
    """
    for name, value in RAY_VARIABLES.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise ImportError(f"Ray is not installed: {INSTALL}") from error
    options = {"include_dashboard": False} if address == THIS_MACHINE else {}
    was_open = ray.is_initialized()
    if not was_open:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **options)
    try:
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if uses_accelerator else 0
        actor_class = ray.remote(_Worker).options(
            num_cpus=1, num_gpus=1 if gpus else 0, runtime_env={"env_vars": _ACTOR_VARIABLES}
        )
        wanted = workers or gpus or max(1, int(resources.get("CPU", 1)))
        crew = _Crew(ray, lambda: actor_class.remote(work_class, arguments))
        try:
            yield from crew.work_on(parts, wanted)
        finally:
            if was_open:  # else they end with Ray
                crew.dismiss()
    finally:
        if not was_open:
            ray.shutdown()


class _Crew:
    """The actors of a job, of which one is made anew whenever one dies."""

    def __init__(self, ray, make_actor):
        self._ray, self._make_actor = ray, make_actor
        self._running = {}  # from a call's reference to actor, part or None, deaths
        self._todo = collections.deque()  # parts and the number of workers that died over each

    def work_on(self, parts, workers):
        """Gives a part to every actor that is free, and what comes of it to the caller."""
        self._todo.extend((part, 0) for part in parts)
        for _ in range(min(workers, len(parts))):
            self._start(0)
        left = len(parts)
        while left:
            done, _ = self._ray.wait(list(self._running), timeout=SECONDS_OF_SILENCE)
            if not done:
                self._tell_if_nobody_works()
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
        """Ends all actors that are left."""
        for actor, _, _ in self._running.values():
            self._end(actor)

    def _start(self, deaths):
        """Makes an actor, which gets its first part once it has found a machine and loaded."""
        actor = self._make_actor()
        self._running[actor.start.remote()] = actor, None, deaths

    def _give_part(self, actor):
        if self._todo:
            part, deaths = self._todo.popleft()
            self._running[actor.work.remote(part)] = actor, part, deaths
        else:
            self._end(actor)  # its machine may be wanted for the part of one that dies

    def _replace(self, actor, part, deaths, error):
        """Makes another actor in place of a dead one, whose part comes next."""
        if getattr(error, "actor_init_failed", False):
            raise RuntimeError(
                f"A worker on Ray could not start. Every machine needs this package. Ray says: "
                f"{error}"
            ) from error
        if deaths > MAX_DEATHS:
            work = "loaded the work" if part is None else f"worked on part {_name_of(part)}"
            raise RuntimeError(
                f"{deaths} workers on Ray died while they {work}: perhaps it wants more memory "
                "than a machine has. The same command goes on with the parts that are not done."
            ) from error
        self._end(actor)  # it may have been out of reach only
        if part is not None:
            self._todo.appendleft((part, deaths))
        self._start(deaths if part is None else 0)

    def _end(self, actor):
        with contextlib.suppress(Exception):  # such as for one that is dead
            self._ray.kill(actor)

    def _signs_of_death(self):
        errors = self._ray.exceptions
        return errors.RayActorError, errors.OutOfMemoryError, errors.ObjectLostError

    def _tell_if_nobody_works(self):
        if all(part is None for _, part, _ in self._running.values()):
            logger.info(
                "None of %d workers has started yet: they wait for machines of the cluster with a "
                "free core, or are loading.",
                len(self._running),
            )


def _name_of(part):
    return getattr(part, "number", part)


class _Worker:
    """An actor with its own object of the work."""

    def __init__(self, work_class, arguments):
        self._work = make_work(work_class, arguments)

    def start(self):
        """Returns when the work is loaded."""

    def work(self, part):
        """Works on a part; gives the result and `None`, or `None` and what was raised."""
        try:
            return self._work(part), None
        except Exception as error:  # Ray would hide it in one of its own
            sent = can_be_sent(error)
            sent.add_note(traceback.format_exc())
            return None, sent
