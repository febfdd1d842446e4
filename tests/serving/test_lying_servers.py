"""A sample of `python -m tests.claims.servers`: each case ends in an answer or a clear error."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("tensorflow_serving")
from tests.serving.lies import Case, make_cases, wrong_arguments
from tests.serving.lying_servers import ANSWERED, FALLEN, REFUSED, LyingServers, judge

SAMPLE = 120


@pytest.fixture(scope="module")
def cases():
    # Python leaves the socket of a reset TLS handshake to the garbage collector, which warns.
    light = [case for case in make_cases(800) if not case.is_heavy and case.protocol != "https"]
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


def test_wrong_arguments_are_refused_before_anything_is_sent():
    cases = [Case(**case) for case in wrong_arguments()]
    nobody = {"rest": "http://127.0.0.1:1", "grpc": "127.0.0.1:1"}
    outcomes = [judge(case, 0, nobody[case.protocol], deadline=0.2) for case in cases]
    assert {
        case.name: words
        for case, (kind, words) in zip(cases, outcomes, strict=True)
        if kind != REFUSED
    } == {}
    assert all(words.startswith("ValueError: ") for _, words in outcomes)
