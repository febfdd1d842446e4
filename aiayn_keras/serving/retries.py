"""Trying again, and when to stop."""

import time

import tenacity

from aiayn_keras.serving.errors import ServerUnavailableError

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds; doubled in between, with jitter


def call_with_retries(call, deadline):
    """Calls until there is an answer, as long as the server is only unavailable.

    Args:
        call: Function of the seconds that are left.
        deadline: Seconds for everything.

    Returns:
        What `call` returns.

    Raises:
        ServerUnavailableError: The last one, if waiting longer would miss the deadline.
        ServingError: Any other at once.
    """
    end = time.monotonic() + deadline
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(ServerUnavailableError),
        wait=tenacity.wait_exponential(FIRST_WAIT, LONGEST_WAIT)
        + tenacity.wait_random(0.0, FIRST_WAIT),
        stop=tenacity.stop_before_delay(deadline),
        reraise=True,
    )
    return retrying(lambda: call(max(end - time.monotonic(), 1e-3)))
