"""Requests are joined, split and refused as BatchingSession does it."""

import contextlib
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from aiayn_keras.serving.model_server.batching import Batcher, check_batchable
from aiayn_keras.serving.model_server.configuration import BatchingParameters
from aiayn_keras.serving.model_server.refusals import RefusedError

SECONDS = 60
LONG = 3_600_000_000
"""An hour, in microseconds: a batch is never computed for its age."""


class Version:
    """A double of a version: doubles numbers when the gate is open, and notes its batches."""

    def __init__(self, is_open=True):
        self.batches, self.arrived = [], threading.Semaphore(0)
        self.gate = threading.Event()
        if is_open:
            self.gate.set()

    def run(self, signature, inputs):
        self.arrived.release()
        assert self.gate.wait(SECONDS)
        self.batches.append((signature, inputs["x"].tolist()))
        if signature == "wrong":
            return {"y": np.zeros(1)}
        if signature == "broken":
            raise RefusedError("INVALID_ARGUMENT", "broken on purpose")
        return {"y": 2 * inputs["x"]}


def limits(size=4, timeout=0, enqueued=8, threads=1):
    return BatchingParameters(size, timeout, enqueued, threads)


@contextlib.contextmanager
def batcher_of(**values):
    waits = []
    batcher = Batcher(limits(**values), waits.append)
    batcher.waits = waits
    try:
        yield batcher
    finally:
        assert batcher.close(SECONDS)


def submit(batcher, version, *numbers, signature="double"):
    return batcher.submit(version, signature, {"x": np.array(numbers)})


def rows(answer):
    return answer.result(SECONDS)["y"].tolist()


def test_a_full_batch_is_computed_and_each_request_gets_its_rows():
    version = Version()
    with batcher_of(timeout=LONG) as batcher:
        answers = [submit(batcher, version, *numbers) for numbers in ([1], [2, 3], [4])]
        assert [rows(answer) for answer in answers] == [[2], [4, 6], [8]]
        assert version.batches == [("double", [1, 2, 3, 4])]
        assert len(batcher.waits) == 3


def test_a_request_that_does_not_fit_closes_the_batch():
    version = Version()
    with batcher_of(timeout=LONG) as batcher:
        first, second = submit(batcher, version, 1, 2, 3), submit(batcher, version, 4, 5)
        assert rows(first) == [2, 4, 6]
        third = submit(batcher, version, 6, 7)
        assert (rows(second), rows(third)) == ([8, 10], [12, 14])
    assert [numbers for _, numbers in version.batches] == [[1, 2, 3], [4, 5, 6, 7]]


def test_an_open_batch_is_computed_after_its_time():
    version = Version()
    with batcher_of(timeout=1000) as batcher:
        assert rows(submit(batcher, version, 5)) == [10]


def test_signatures_and_versions_do_not_mix():
    one, two = Version(), Version()
    with batcher_of(timeout=1000) as batcher:
        answers = [
            submit(batcher, one, 1),
            submit(batcher, two, 2),
            submit(batcher, one, 3, signature="other"),
        ]
        assert [rows(answer) for answer in answers] == [[2], [4], [6]]
    assert sorted(one.batches) == [("double", [1]), ("other", [3])]
    assert two.batches == [("double", [2])]


def test_a_full_queue_refuses_with_the_servers_words_and_serves_again():
    version = Version(is_open=False)
    with batcher_of(enqueued=2) as batcher:
        running = submit(batcher, version, 0, 0, 0, 0)
        assert version.arrived.acquire(timeout=SECONDS)  # it is in the queue no longer
        waiting = [submit(batcher, version, 1, 1, 1, 1), submit(batcher, version, 2, 2, 2)]
        fits = submit(batcher, version, 3)
        with pytest.raises(RefusedError, match="2 batches enqueued and max_enqueued") as error:
            submit(batcher, version, 4)
        assert error.value.code == "UNAVAILABLE"
        version.gate.set()
        assert [rows(each) for each in (running, *waiting, fits)] == [
            [0, 0, 0, 0],
            [2, 2, 2, 2],
            [4, 4, 4],
            [6],
        ]
        assert rows(submit(batcher, version, 4)) == [8]


def test_several_batches_run_at_a_time():
    version = Version(is_open=False)
    with batcher_of(threads=2) as batcher:
        answers = [submit(batcher, version, *4 * [number]) for number in (1, 2)]
        for _ in answers:
            assert version.arrived.acquire(timeout=SECONDS)
        version.gate.set()
        assert [rows(answer)[0] for answer in answers] == [2, 4]


def test_a_request_that_was_given_up_is_not_computed():
    version = Version(is_open=False)
    with batcher_of() as batcher:
        running = submit(batcher, version, 1)
        assert version.arrived.acquire(timeout=SECONDS)
        given_up, waiting = submit(batcher, version, 2), submit(batcher, version, 3)
        assert given_up.cancel()
        version.gate.set()
        assert (rows(running), rows(waiting)) == ([2], [6])
    assert [numbers for _, numbers in version.batches] == [[1], [3]]


@pytest.mark.parametrize(
    ("signature", "code", "message"),
    [
        ("broken", "INVALID_ARGUMENT", "broken on purpose"),
        ("wrong", "FAILED_PRECONDITION", "Batched output tensor's 0th dimension"),
    ],
)
def test_an_error_is_that_of_every_request_in_the_batch(signature, code, message):
    version = Version()
    with batcher_of(timeout=LONG) as batcher:
        answers = [submit(batcher, version, 1, 2, signature=signature) for _ in range(2)]
        for answer in answers:
            with pytest.raises(RefusedError, match=message) as error:
                answer.result(SECONDS)
            assert error.value.code == code


def test_rows_of_different_lengths_that_meet_fail_together():
    version = Version()
    with batcher_of(timeout=LONG) as batcher:
        rows = [np.ones((2, length), int) for length in (3, 5)]
        answers = [batcher.submit(version, "double", {"x": each}) for each in rows]
        for answer in answers:
            with pytest.raises(RefusedError, match="Tensors with name 'x' from different tasks"):
                answer.result(SECONDS)


def test_closing_computes_what_waits_and_refuses_more():
    version = Version()
    batcher = Batcher(limits(timeout=LONG))
    waiting = submit(batcher, version, 1)
    assert batcher.close(SECONDS)
    assert rows(waiting) == [2]
    with pytest.raises(RefusedError, match="shutting down"):
        submit(batcher, version, 2)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": np.array("a"), "y": np.array(["a"])}, "must have at least one dimension"),
        ({"x": np.array(["a", "b"]), "y": np.array(["a"])}, "equal 0th-dimension size"),
        ({"x": np.array(5 * ["a"])}, "Task size 5 is larger than maximum input batch size 4"),
        ({"x": np.array([["a", "b"]])}, "Batched output tensor's 0th dimension"),
        ({"x": np.array([], object)}, "never answers such a request"),
    ],
)
def test_what_cannot_be_batched_is_refused(inputs, message):
    specs = {name: SimpleNamespace(shape=SimpleNamespace(rank=1)) for name in inputs}
    with pytest.raises(RefusedError, match=message) as error:
        check_batchable(inputs, specs, 4)
    assert error.value.code == "INVALID_ARGUMENT"
