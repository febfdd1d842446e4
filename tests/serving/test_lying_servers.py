"""A sample of `python -m tests.claims.servers`: nothing falls through."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("tensorflow_serving")
from tests.serving.lies import make_cases
from tests.serving.lying_servers import ANSWERED, FALLEN, REFUSED, LyingServers, judge

SAMPLE = 120


@pytest.fixture(scope="module")
def cases():
    light = [case for case in make_cases(800) if not case.is_heavy]
    return random.Random(0).sample(light, SAMPLE)


@pytest.fixture(scope="module")
def servers(cases):
    servers = LyingServers(cases)
    servers.start()
    yield servers
    servers.close()


def test_nothing_that_servers_send_falls_through(cases, servers):
    def outcome(number):
        case = cases[number]
        deadline = 30.0 if case.expected == "answer" else 0.5
        return judge(case, number, servers.address(number), deadline)

    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(outcome, range(len(cases))))
    fallen = [
        (case.group, case.name, words)
        for case, (kind, words) in zip(cases, outcomes, strict=True)
        if kind == FALLEN
    ]
    assert fallen == []
    kinds = [kind for kind, _ in outcomes]
    assert kinds.count(ANSWERED) >= sum(case.expected == "answer" for case in cases) > 0
    assert kinds.count(REFUSED) > len(cases) / 2
