"""Refusal of a forked process, in which a backend would wait forever.

A file of its own since everything that computes asks it. A fork copies the memory of a process but
not its threads: locks that they held are never released, and work that is handed to them is never
done. Processes that are spawned, or forked by `multiprocessing`'s server, start their own threads.
"""

import os

import keras

_first_process = None
"""Id of the process whose backend has started threads, of this one or of one it was forked from."""


def note_model():
    """Notes that a model is built, for which TensorFlow and JAX start threads, PyTorch does not."""
    global _first_process
    if _first_process is None and keras.config.backend() != "torch":
        _first_process = os.getpid()


def begin_computing():
    """Notes that a model is used.

    Raises:
        RuntimeError: In a process that was forked after a model was used, or on TensorFlow and JAX
            built, in the process that it was forked from.
    """
    global _first_process
    if _first_process is None:
        _first_process = os.getpid()
    if _first_process != os.getpid():
        raise RuntimeError(
            f"This process, {os.getpid()}, was forked after process {_first_process} had built or "
            f"used a model: the threads of {keras.config.backend()} were not copied, and it would "
            'wait for them forever. Start it with `multiprocessing.get_context("spawn")` or '
            '`"forkserver"` or as a command of its own, or fork before the first model is built.'
        )
