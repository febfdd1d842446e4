"""Systems that run in turn, with times that are known."""

import pytest

from benchmarks.processes import WorkerError
from benchmarks.speed import turns
from benchmarks.speed.turns import Measurement, left_out_list, speed_table, take_turns


class WorkerDouble:
    """A process that takes the given seconds, the first run included; None is an error."""

    peak_bytes = 0

    def __init__(self, *seconds):
        self.seconds = iter(seconds)

    def call(self, function):
        seconds = next(self.seconds)
        if seconds is None:
            raise WorkerError("no memory")
        return {"seconds": seconds}


@pytest.fixture(autouse=True)
def without_rests(monkeypatch):
    monkeypatch.setattr(turns, "REST_SECONDS", 0)


def run(**seconds):
    workers = {name: WorkerDouble(*each) for name, each in seconds.items()}
    rounds = max(map(len, seconds.values())) - 1
    return take_turns(
        list(workers), lambda name: Measurement(name, workers[name], 100), rounds, "test"
    )


def test_medians_and_ratios_are_those_of_the_rounds():
    (ours, peer), left_out = run(ours=(9, 1, 2, 4), peer=(9, 2, 2, 2))
    assert not left_out
    assert (ours.first_seconds, ours.speed, peer.speed) == (9, 50, 50)
    assert ours.ratios(peer) == [2, 1, 0.5]
    assert "| `ours` | 50.0 | 1.00 (0.50–2.00) |" in speed_table([ours, peer], peer, "lines/s", {})


def test_a_round_in_which_a_system_was_far_slower_is_left_out_for_all():
    (ours, peer), left_out = run(ours=(9, 1, 1, 8.5, 1, 1), peer=(9, 2, 2, 1, 2, 2))
    assert (ours.seconds, peer.seconds) == ([1] * 4, [2] * 4)
    assert ours.ratios(peer) == [2] * 4
    assert left_out_list(left_out) == ("- `round 3` is left out: ours took 8.5 times its median.")


def test_a_system_that_is_always_slow_or_varies_a_little_is_kept():
    measurements, left_out = run(ours=(9, 1, 2.9, 1), peer=(9, 50, 60, 50), other=(9, 1, 1, 1))
    assert not left_out
    assert [each.seconds for each in measurements] == [[1, 2.9, 1], [50, 60, 50], [1, 1, 1]]


def test_a_system_that_fails_is_left_out():
    (ours,), left_out = run(ours=(9, 1, 1), peer=(9, 1, None))
    assert ours.seconds == [1, 1]
    assert left_out == {"peer": "no memory"}
