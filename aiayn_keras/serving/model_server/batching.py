"""Batches of requests, by the rules of TensorFlow Serving's scheduler and BatchingSession.

Requests to the same signature of the same version are joined, row by row, into batches of at most
`max_batch_size` rows. Each signature has a queue of batches, and only the last one is open. It is
computed when it is full, when it has waited for `batch_timeout_micros`, or when a request does not
fit and opens a new one. Rows are not padded to `allowed_batch_sizes`, as that would only take time
here.
"""

import collections
import concurrent.futures
import threading
import time

import numpy as np

from aiayn_keras.serving.model_server.refusals import RefusedError, invalid

_NO_ROWS = (
    "The request has no rows. With batching, TensorFlow Serving never answers such a request, and "
    "keeps one of its threads for it: send none."
)
"""The one error that is not the real server's, which gives none."""
_WRONG_SUM = (
    "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of "
    "the input tensors"
)


class _Task:
    """A request: its inputs, number of rows, time of arrival, and answer to come."""

    def __init__(self, inputs, num_rows):
        self.inputs, self.num_rows = inputs, num_rows
        self.arrived = time.monotonic()
        self.answer = concurrent.futures.Future()


class _Batch:
    def __init__(self):
        self.tasks, self.num_rows, self.opened = [], 0, time.monotonic()

    def add(self, task):
        self.tasks.append(task)
        self.num_rows += task.num_rows


def check_batchable(inputs, specs, max_batch_size):
    """Refuses what BatchingSession refuses, in its words, and what it never answers.

    Args:
        inputs: Dictionary from each input's name to an array.
        specs: Dictionary from each input's name to a `tf.TensorSpec`.
        max_batch_size: Maximum number of rows.

    Raises:
        RefusedError: With `INVALID_ARGUMENT`.
    """
    arrays = list(inputs.values())
    if not all(array.ndim for array in arrays):
        raise invalid("Batching Run() input tensors must have at least one dimension")
    if len({len(array) for array in arrays}) > 1:
        raise invalid("Batching Run() input tensors must have equal 0th-dimension size")
    num_rows = len(arrays[0])
    if num_rows > max_batch_size:
        raise invalid(
            f"Task size {num_rows} is larger than maximum input batch size {max_batch_size}"
        )
    if any(array.ndim != specs[name].shape.rank for name, array in inputs.items()):
        raise invalid(_WRONG_SUM)
    if not num_rows:
        raise invalid(_NO_ROWS)


class Batcher:
    """Threads that compute batches of requests.

    Args:
        parameters: `BatchingParameters`.
        observe_wait: Function of the seconds that a request has waited for its batch.
    """

    def __init__(self, parameters, observe_wait=lambda seconds: None):
        self._limits = parameters
        self._observe_wait = observe_wait
        self._seconds_open = parameters.batch_timeout_micros / 1e6
        self._queues = collections.OrderedDict()  # deques of batches, by `compute` functions' keys
        self._changed = threading.Condition()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"batches {number}", daemon=True)
            for number in range(parameters.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, version, signature, inputs):
        """Puts a request into a batch.

        Args:
            version: A `ServedVersion`.
            signature: Name of a signature.
            inputs: Dictionary of arrays with the same number of rows; see `check_batchable`.

        Returns:
            A `concurrent.futures.Future` of the outputs, a dictionary of arrays.

        Raises:
            RefusedError: With `UNAVAILABLE`, if the maximum number of batches is waiting.
        """
        task = _Task(inputs, len(next(iter(inputs.values()))))
        with self._changed:
            if self._is_closed:
                raise RefusedError("UNAVAILABLE", "The server is shutting down")
            queue = self._queues.setdefault((version, signature), collections.deque())
            if not queue or queue[-1].num_rows + task.num_rows > self._limits.max_batch_size:
                if len(queue) >= self._limits.max_enqueued_batches:
                    raise RefusedError(
                        "UNAVAILABLE",
                        "The batch scheduling queue to which this task was submitted is full; "
                        f"currently {len(queue)} batches enqueued and max_enqueued_batches is "
                        f"{self._limits.max_enqueued_batches}",
                    )
                queue.append(_Batch())
            queue[-1].add(task)
            self._changed.notify()
        return task.answer

    def close(self, seconds=10.0):
        """Computes what waits, and ends the threads.

        Args:
            seconds: Maximum time to wait for them.

        Returns:
            Whether they have ended.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self):
        while (found := self._next_batch()) is not None:
            (version, signature), batch = found
            _compute(version, signature, batch, self._observe_wait)
            del found, version, batch  # an unloaded version must not stay in memory

    def _next_batch(self):
        """Waits for a batch; gives it with its queue's key, or None at the end."""
        with self._changed:
            while True:
                now, next_time = time.monotonic(), None
                for key, queue in self._queues.items():
                    ready = self._ready_time(queue)
                    if ready <= now:
                        batch = queue.popleft()
                        if queue:
                            self._queues.move_to_end(key)  # each queue in turn
                        else:
                            del self._queues[key]
                        self._changed.notify()  # other batches may be ready for other threads
                        return key, batch
                    next_time = ready if next_time is None else min(next_time, ready)
                if self._is_closed:
                    return None
                self._changed.wait(None if next_time is None else next_time - now)

    def _ready_time(self, queue):
        """The time from which the first batch of a queue may be computed."""
        is_open = len(queue) == 1 and queue[0].num_rows < self._limits.max_batch_size
        return queue[0].opened + self._seconds_open if is_open and not self._is_closed else 0.0


def _compute(version, signature, batch, observe_wait):
    """Answers the requests of a batch."""
    now = time.monotonic()
    tasks = [task for task in batch.tasks if task.answer.set_running_or_notify_cancel()]
    for task in tasks:
        observe_wait(now - task.arrived)
    if not tasks:
        return
    try:
        outputs = version.run(signature, _joined([task.inputs for task in tasks]))
        ends = np.cumsum([task.num_rows for task in tasks])
        if any(value.ndim == 0 or len(value) != ends[-1] for value in outputs.values()):
            raise RefusedError("FAILED_PRECONDITION", _WRONG_SUM)
    except Exception as error:
        for task in tasks:
            task.answer.set_exception(error)
        return
    for task, end in zip(tasks, ends, strict=True):
        rows = slice(end - task.num_rows, end)
        task.answer.set_result({name: value[rows] for name, value in outputs.items()})


def _joined(requests):
    """Joins the inputs of requests, whose rows must be of equal length."""
    joined = {}
    for name in requests[0]:
        arrays = [inputs[name] for inputs in requests]
        if len({array.shape[1:] for array in arrays}) > 1:
            raise RefusedError(
                "FAILED_PRECONDITION",
                f"Tensors with name '{name}' from different tasks have different shapes and "
                "padding is turned off.Set pad_variable_length_inputs to true, or ensure that all "
                "tensors with the same namehave equal dimensions starting with the first dim.",
            )
        joined[name] = np.concatenate(arrays)
    return joined
