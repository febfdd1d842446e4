"""Repeated calls of a server that is unavailable."""

import logging
import re
import time

import pytest

from aiayn_keras.serving import NotListeningError, RequestRefusedError, ServerUnavailableError
from aiayn_keras.serving.translation_client import FIRST_WAIT, MAX_WAIT, call_with_retries


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping advances, as a list of one number, and the list of sleeps."""
    now, sleeps = [1000.0], []

    def sleep(seconds):
        sleeps.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    return now, sleeps


def test_waits_double_up_to_the_maximum(clock):
    _, sleeps = clock

    def call(seconds):
        raise ServerUnavailableError("busy")

    with pytest.raises(ServerUnavailableError):
        call_with_retries(call, deadline=60, connect_timeout=5)
    for i, seconds in enumerate(sleeps):
        shortest = min(FIRST_WAIT * 2**i, MAX_WAIT)
        assert shortest <= seconds <= shortest + FIRST_WAIT
    assert max(sleeps) >= MAX_WAIT
    assert sum(sleeps) <= 60


def test_an_address_where_nobody_listens_is_soon_given_up(clock):
    _, sleeps = clock

    def call(seconds):
        raise NotListeningError("refused")

    with pytest.raises(NotListeningError):
        call_with_retries(call, deadline=60, connect_timeout=5)
    assert 2 < sum(sleeps) <= 5
    sleeps.clear()
    with pytest.raises(NotListeningError):
        call_with_retries(call, deadline=1, connect_timeout=5)
    assert 0 < sum(sleeps) <= 1


def test_a_server_that_restarts_during_a_long_request_is_waited_for(clock):
    now, _ = clock
    errors = [ServerUnavailableError("broken"), NotListeningError("refused")]

    def call(seconds):
        if not errors:
            return "done"
        if len(errors) == 2:
            now[0] += 20.0  # longer than `connect_timeout`
        raise errors.pop(0)

    assert call_with_retries(call, deadline=60, connect_timeout=5) == "done"


def test_every_attempt_gets_the_seconds_that_are_left(clock):
    now, _ = clock
    start, left = now[0], []

    def call(seconds):
        left.append(seconds - (start + 10 - now[0]))
        now[0] += 1.0  # the server takes its time to refuse
        raise ServerUnavailableError("busy")

    with pytest.raises(ServerUnavailableError):
        call_with_retries(call, deadline=10, connect_timeout=5)
    assert len(left) > 3
    assert left == pytest.approx([0.0] * len(left), abs=1e-6)
    assert now[0] <= start + 11


def test_the_answer_of_a_later_attempt_is_returned(clock):
    answers = [ServerUnavailableError("busy"), ServerUnavailableError("busy"), "done"]

    def call(seconds):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert call_with_retries(call, deadline=10, connect_timeout=5) == "done"


def test_a_refused_request_is_not_repeated(clock):
    _, sleeps = clock

    def call(seconds):
        raise RequestRefusedError("no such model")

    with pytest.raises(RequestRefusedError, match="no such model"):
        call_with_retries(call, deadline=10, connect_timeout=5)
    assert sleeps == []


def test_the_first_wait_is_logged_with_its_reason_and_the_end_of_retries(clock, caplog):
    _, sleeps = clock
    logged_before = []

    def call(seconds):
        logged_before.append(len(caplog.messages))
        raise ServerUnavailableError("http://host: connection refused.")

    with caplog.at_level(logging.INFO, "aiayn_keras"), pytest.raises(ServerUnavailableError):
        call_with_retries(call, deadline=10, connect_timeout=5)
    (message,) = caplog.messages
    wanted = r"http://host: connection refused. Trying again until \d\d:\d\d:\d\d \(10 s\)."
    assert re.fullmatch(wanted, message)
    assert len(sleeps) > 3
    assert logged_before[:2] == [0, 1]  # said at once, before the first pause


def test_nothing_is_logged_when_the_server_answers(clock, caplog):
    with caplog.at_level(logging.INFO, "aiayn_keras"):
        assert call_with_retries(lambda seconds: "done", deadline=10, connect_timeout=5) == "done"
    assert caplog.messages == []
