"""Engines: other programs that search for translations, where they find what our search finds.

`translate` asks `ModelEngines` for the function that does the search. An engine is a class with the
methods of `Engine`; `aiayn_keras.export` adds them to `ENGINES`.
"""

import abc
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


class ModelObstacleError(Exception):
    """The model has changed, and the engine that was made for it can no longer search with it."""


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
    def obstacle(models, options, is_made=False):
        """Says why this engine cannot do a search.

        Args:
            models: Tuple of the model and those of its ensemble.
            options: `SearchOptions`.
            is_made: Whether the engine has been made for the model. Looking at the model can then
                be left to `find`, which may do it while it searches.

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

        Raises:
            ModelObstacleError: If the model has changed so that `obstacle` now finds an obstacle.
        """


def choose_engine(engine, models, options, made=()):
    """Chooses the engine of a search.

    Args:
        engine: `"auto"`, `"keras"` or a name in `ENGINES`.
        models: Tuple of the model and those of its ensemble.
        options: `SearchOptions`.
        made: Names of the engines that have been made for the model, see `Engine.obstacle`.

    Returns:
        `"keras"` or a name in `ENGINES`.

    Raises:
        EngineError: For an unknown engine, or one that cannot do this search.
    """

    def obstacle(name):
        return ENGINES[name].obstacle(models, options, name in made)

    if engine == AUTO:
        automatic = (name for name, each in ENGINES.items() if each.is_automatic)
        return next((name for name in automatic if obstacle(name) is None), KERAS)
    if engine == KERAS:
        return KERAS
    if engine not in ENGINES:
        raise EngineError(
            f"`engine` must be one of {', '.join([AUTO, KERAS, *ENGINES])}. "
            f"Received: engine={engine!r:.60}."
        )
    reason = obstacle(engine)
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
            A function as `translate_in_batches` takes it. It raises an `EngineError` too, if the
            model has changed so that the engine can no longer use it.

        Raises:
            EngineError: As `choose_engine`.
            RuntimeError: In a forked process that cannot compute, see `begin_computing`.
        """
        name = choose_engine(engine, models, options, self._made)
        if name == KERAS:
            return own_find
        begin_computing()
        with self._lock:
            if name not in self._made:
                self._made[name] = ENGINES[name](models[0])
            made = self._made[name]

        def find_batch(*tensors):
            try:
                return made.find(options, own_find, *tensors)
            except ModelObstacleError:
                with self._lock:
                    if self._made.get(name) is made:
                        del self._made[name]
            # Without what was made, the model is looked at before the search.
            return self.find(engine, models, options, own_find)(*tensors)

        return find_batch
