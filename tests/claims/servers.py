"""Lying servers: hundreds of slow, endless, broken and wrong answers for the clients.

`python -m tests.claims.servers` makes servers from a seed, sends each of them a request with a
deadline of two seconds, and prints a table: how many cases were tried, answered, refused with a
clear error of the package, and how many fell through, i.e. ended in any other exception, a wrong
answer, more than a second after the deadline, or with too much memory. Exits with 1 if any did.

The servers run in one process, and each concurrent client in one of its own; a client that does not
return is killed.
"""

import collections
import contextlib
import multiprocessing
import os
import resource
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

import click

from tests.serving.lies import make_cases
from tests.serving.lying_servers import ANSWERED, FALLEN, REFUSED, LyingServers, judge

DEADLINE, SPARE_SECONDS = 2.0, 1.0
"""Seconds for a request, and how far it may exceed them."""

PATIENCE = 20.0
"""Seconds after which a client is killed."""

MEGABYTE = 1 << 20
MAX_GROWTH = 1000
"""MB of memory that a client may need for a request, more than ten times its maximum answer."""

CLIENTS = 6
fork = multiprocessing.get_context("fork")


@dataclass
class Outcome:
    """The outcome of a case: one of three words, the error message, the time and the memory."""

    case: object
    kind: str
    words: str
    seconds: float
    megabytes: float


class Client:
    """A process that tries one case at a time; replaced if it had to be killed."""

    def __init__(self, servers):
        self._servers = servers
        self.number = None
        self._start_process()

    def _start_process(self):
        self.pipe, theirs = fork.Pipe()
        self._process = fork.Process(target=_try_cases, args=(self._servers, theirs), daemon=True)
        self._process.start()
        self._before = _memory(self._process.pid, "VmRSS")
        theirs.close()

    def give(self, number):
        """Starts a case."""
        self.number, self._start = number, time.monotonic()
        self.pipe.send(number)

    def take(self):
        """Returns the outcome of the case, or None while it is running."""
        case = self._servers.cases[self.number]
        seconds = time.monotonic() - self._start
        try:
            if self.pipe.poll():
                kind, words, seconds, megabytes = self.pipe.recv()
                return Outcome(case, kind, words, seconds, megabytes)
            if seconds < PATIENCE:
                return None
            words = f"no end after {seconds:.0f} s"
        except (EOFError, OSError):
            words = "the process died"
        megabytes = (
            _memory(self._process.pid, "VmHWM") / MEGABYTE if self._process.is_alive() else 0
        )
        self.stop()
        self._start_process()
        return Outcome(case, FALLEN, words, seconds, megabytes)

    def stop(self):
        """Ends the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _try_cases(servers, pipe):
    before = _memory("self", "VmRSS")
    with contextlib.suppress(EOFError):
        while True:
            number = pipe.recv()
            _forget_peak()
            limit = _memory("self", "VmSize") + 4 * MAX_GROWTH * MEGABYTE
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            start = time.monotonic()
            address = servers.address(number)
            kind, words = judge(servers.cases[number], number, address, DEADLINE)
            seconds = time.monotonic() - start
            if seconds > DEADLINE + SPARE_SECONDS:
                kind, words = FALLEN, f"{seconds:.1f} s; {words}"
            megabytes = (_memory("self", "VmHWM") - before) / MEGABYTE
            if megabytes > MAX_GROWTH:
                kind, words = FALLEN, f"{megabytes:.0f} MB; {words}"
            words = words[:1000].encode("utf-8", "backslashreplace").decode()
            pipe.send((kind, words, seconds, megabytes))


def _forget_peak():
    """Lets the greatest resident memory be measured anew (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def _memory(process, field):
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])


def _run_servers(servers, pipe):
    servers.start()
    pipe.send(servers.grpc_port)
    with contextlib.suppress(EOFError):
        pipe.recv()
    os._exit(0)  # threads that are still playing would wait for minutes


def run_cases(cases, report):
    """Runs the servers and the clients.

    Args:
        cases: List of `lies.Case`.
        report: Function called with each outcome.
    """
    servers = LyingServers(cases)
    pipe, theirs = fork.Pipe()
    process = fork.Process(target=_run_servers, args=(servers, theirs), daemon=True)
    process.start()
    servers.grpc_port = pipe.recv()
    light = [number for number, case in enumerate(cases) if not case.is_heavy]
    heavy = [number for number, case in enumerate(cases) if case.is_heavy]
    for numbers, num_clients in ((light, CLIENTS), (heavy, 1)):
        _share(servers, numbers, num_clients, report)
    pipe.send(None)
    process.join()


def _share(servers, numbers, num_clients, report):
    """Distributes the cases with these numbers to clients."""
    clients = [Client(servers) for _ in range(num_clients)]
    left = collections.deque(numbers)
    busy = []
    while left or busy:
        for client in clients:
            if left and client not in busy:
                client.give(left.popleft())
                busy.append(client)
        wait([client.pipe for client in busy], timeout=0.2)
        for client in list(busy):
            outcome = client.take()
            if outcome is not None:
                busy.remove(client)
                report(outcome)
    for client in clients:
        client.stop()


def table(outcomes):
    """Yields a Markdown table with a row for each group and one for all."""
    yield "| group | tried | answered | refused | fallen through | longest, s | peak, MB |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    groups = collections.defaultdict(list)
    for outcome in outcomes:
        groups[outcome.case.group].append(outcome)
    for name, rows in [*sorted(groups.items()), ("all", outcomes)]:
        counts = collections.Counter(row.kind for row in rows)
        cells = [len(rows), counts[ANSWERED], counts[REFUSED], counts[FALLEN]]
        cells.append(f"{max(row.seconds for row in rows):.1f}")
        cells.append(f"{max(row.megabytes for row in rows):.0f}")
        yield f"| {name} | {' | '.join(map(str, cells))} |"


@click.command()
@click.option("--cases", "count", type=click.IntRange(min=1), default=800, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Seed of the cases.")
@click.option("--verbose", is_flag=True, help="Print every case, not only those fallen through.")
def main(count, seed, verbose):
    """Ask lying servers, and count the clients' answers, refusals and failures."""
    outcomes, start = [], time.monotonic()

    def report(outcome):
        outcomes.append(outcome)
        if verbose or outcome.kind == FALLEN:
            case = outcome.case
            took = f"{outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB"
            click.echo(f"{outcome.kind}: {case.group}, {case.name} ({took}): {outcome.words}")

    run_cases(make_cases(count, seed), report)
    click.echo("\n".join(table(outcomes)))
    click.echo(f"{time.monotonic() - start:.0f} s")
    sys.exit(any(outcome.kind == FALLEN for outcome in outcomes))


if __name__ == "__main__":
    main()
