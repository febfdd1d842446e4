"""Work on parts, as a worker makes and calls it.

Work is a class: an object of it is made once in each worker, where it loads what it needs, and is
then called with one part after the other. What it returns about a part goes to the job's process;
results are written by the worker.
"""

import abc
import pickle

from aiayn_keras.common.text_files import CorpusError

WORKER_VARIABLES = {"AIAYN_KERAS_LAZY": "1"}
"""A worker loads what its work needs: tokenizing needs no Keras."""


class PartWork(abc.ABC):
    """Work on the parts of a `Job`."""

    @abc.abstractmethod
    def write(self, part):
        """Writes the results of a `Part`, and then its `Manifest`, which it returns.

        Raises:
            CorpusError: If its file is damaged; there is no manifest then.
        """

    def __call__(self, part):
        """The number of a `Part`, and its `Manifest` or the `CorpusError`."""
        try:
            return part.number, self.write(part)
        except CorpusError as error:
            return part.number, error


def make_work(work_class, arguments):
    """Makes a worker's object of some work.

    Args:
        work_class: A class that can be imported.
        arguments: Tuple of its constructor's arguments.

    Returns:
        Its object; if it cannot be made, one that raises the error for every part.
    """
    try:
        return work_class(*arguments)
    except Exception as error:
        return _Failure(error)


def can_be_sent(error):
    """An error that another process can read: itself, or what it says.

    Pickle makes an exception anew from its message alone, which those with a constructor of their
    own do not take.
    """
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _Failure:
    """Stands for work that could not be made."""

    def __init__(self, error):
        self._error = error

    def __call__(self, part):
        raise self._error
