"""Engines: other programs that search for translations, where they find what our search finds.

`translate` asks `ModelEngines` for the function that does the search. An engine is a class with the
methods of `Engine`; `aiayn_keras.export` adds them to `ENGINES`.
"""

import abc
import functools
import threading
from typing import ClassVar

from aiayn_keras.backend import begin_computing

AUTO = "auto"
"""The first engine that is fast here and can do what is asked, otherwise our own search."""
KERAS = "keras"
"""Our own search."""
ENGINES = {}
"""The other engines by name, a class each."""


class EngineError(ValueError):
    """The engine that was asked for cannot do this search; the message says why."""


class Engine(abc.ABC):
    """A program that does the search of `translate` for one model.

    Args:
        model: A `TransformerSeq2SeqLM`.

    Attributes:
        is_automatic: Whether `"auto"` may choose it: it finds the same translations as our search,
            and is faster wherever `obstacle` finds no obstacle.
    """

    is_automatic: ClassVar[bool] = False

    @staticmethod
    @abc.abstractmethod
    def obstacle(models, options):
        """Says why this engine cannot do a search.

        Args:
            models: Tuple of the model and those of its ensemble.
            options: `SearchOptions`.

        Returns:
            The reason, to follow "the engine cannot be used: "; None if there is none.
        """

    @abc.abstractmethod
    def find(self, options, own_find, *tensors):
        """Searches like `TranslationSearch.find`.

        Args:
            options: `SearchOptions`.
            own_find: Our own search, for sentences that this engine would treat differently.
            *tensors: NumPy arrays as `TranslationSearch.inputs` takes them.

        Returns:
            Token ids `(B, N, L)` and log-probabilities `(B, N)`.
        """


def choose_engine(engine, models, options):
    """Chooses the engine of a search.

    Args:
        engine: `"auto"`, `"keras"` or a name in `ENGINES`.
        models: Tuple of the model and those of its ensemble.
        options: `SearchOptions`.

    Returns:
        `"keras"` or a name in `ENGINES`.

    Raises:
        EngineError: For an unknown engine, or one that cannot do this search.
    """
    if engine == AUTO:
        automatic = (name for name, each in ENGINES.items() if each.is_automatic)
        usable = (name for name in automatic if ENGINES[name].obstacle(models, options) is None)
        return next(usable, KERAS)
    if engine == KERAS:
        return KERAS
    if engine not in ENGINES:
        raise EngineError(
            f"`engine` must be one of {', '.join([AUTO, KERAS, *ENGINES])}. "
            f"Received: engine={engine!r:.60}."
        )
    reason = ENGINES[engine].obstacle(models, options)
    if reason is not None:
        raise EngineError(
            f"The engine {engine} cannot be used: {reason}. With `engine`=auto or keras, our own "
            "search does it."
        )
    return engine


class ModelEngines:
    """The engines that one model has used; each holds a copy of its weights."""

    def __init__(self):
        self._made, self._lock = {}, threading.Lock()

    def find(self, engine, models, options, own_find):
        """Chooses the function that searches for the translations of a batch.

        Args:
            engine: As in `choose_engine`.
            models: Tuple of the model and those of its ensemble.
            options: `SearchOptions`.
            own_find: Our own search, compiled.

        Returns:
            A function as `translate_in_batches` takes it.

        Raises:
            EngineError: As `choose_engine`.
            RuntimeError: In a forked process that cannot compute, see `begin_computing`.
        """
        name = choose_engine(engine, models, options)
        if name == KERAS:
            return own_find
        begin_computing()
        with self._lock:
            if name not in self._made:
                self._made[name] = ENGINES[name](models[0])
        return functools.partial(self._made[name].find, options, own_find)
