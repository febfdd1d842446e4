"""One computation at a time, and a bounded number of requests that wait for it."""

import contextlib
import threading

SECONDS_BETWEEN_LOOKS = 0.05


class BusyError(RuntimeError):
    """Too many requests wait already."""


class GoneError(RuntimeError):
    """The client has gone, and nobody waits for the answer: a newer keystroke has superseded it."""


class Turns:
    """Lets one thread at a time compute.

    Args:
        most_waiting: Number of threads that may wait beside the one that computes.
    """

    def __init__(self, most_waiting):
        self._places = threading.BoundedSemaphore(most_waiting + 1)
        self._model = threading.Lock()

    @contextlib.contextmanager
    def turn(self, is_gone):
        """Waits until nobody else computes.

        Args:
            is_gone: Function that says whether the client has gone.

        Yields:
            A function that raises a `GoneError` if the client has gone.

        Raises:
            BusyError: If too many threads wait.
            GoneError: If the client has gone meanwhile.
        """

        def check_wanted():
            if is_gone():
                raise GoneError

        if not self._places.acquire(blocking=False):
            raise BusyError
        with contextlib.ExitStack() as stack:
            stack.callback(self._places.release)
            while not self._model.acquire(timeout=SECONDS_BETWEEN_LOOKS):
                check_wanted()
            stack.callback(self._model.release)
            check_wanted()
            yield check_wanted
