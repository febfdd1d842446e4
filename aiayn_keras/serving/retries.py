"""Repeated calls of a server that is unavailable, up to a deadline."""

import logging
import time

import tenacity

from aiayn_keras.serving.errors import ServerUnavailableError

logger = logging.getLogger(__name__)

FIRST_WAIT, MAX_WAIT = 0.1, 5.0
"""Seconds between two calls; the first is doubled, with jitter, up to the longest."""


def call_with_retries(call, deadline):
    """Calls a function again while it raises `ServerUnavailableError`; logs that it waits.

    Args:
        call: Function of the number of seconds that are left.
        deadline: Seconds for all calls and the pauses between them.

    Returns:
        The result of `call`.

    Raises:
        ServerUnavailableError: That of the last call, if the next pause would miss the deadline.
        ServingError: Any other error, at once.
    """
    end = time.monotonic() + deadline
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ServerUnavailableError),
        wait=tenacity.wait_exponential(FIRST_WAIT, MAX_WAIT)
        + tenacity.wait_random(0.0, FIRST_WAIT),
        stop=tenacity.stop_before_delay(deadline),
        before_sleep=lambda state: _log_first_wait(state, deadline),
        reraise=True,
    )
    return retrying(lambda: call(max(end - time.monotonic(), 1e-3)))


def _log_first_wait(state, deadline):
    """Says before the first pause what happened, and until when calls are repeated."""
    if state.attempt_number == 1:
        seconds_left = deadline - state.seconds_since_start
        end = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds_left))
        reason = str(state.outcome.exception()).rstrip(".")
        logger.info("%s. Trying again until %s (%g s).", reason, end, deadline)
