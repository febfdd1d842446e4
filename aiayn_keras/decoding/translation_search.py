"""The search for the translations of a batch of token ids, our own or that of another engine.

`TranslationSearch.find` is a pure function of tensors, to be compiled or exported. Engines are
other programs that can search; `"auto"` uses one if it finds the same as our own search.
"""

import abc
import contextlib
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from keras import ops

from aiayn_keras.backend import begin_computing, for_small_operations
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.cached_decoding import start_decoding_together
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras_light.search_numbers import max_pieces
from aiayn_keras_light.translating import SMALL_HIDDEN_DIM

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
            # Now that the engine is gone, the model is looked at before the search.
            return self.find(engine, models, options, own_find)(*tensors)

        return find_batch


@dataclass(frozen=True)
class TranslationSearch:
    """A search for the translations of batches of token ids.

    Attributes:
        backbones: Tuple of one `TransformerBackbone`, or of several whose probabilities are
            averaged.
        tokenizer: A `TransformerTokenizer`.
        options: `SearchOptions`.
        decoders: The `FrozenDecoder`s of the backbones, if they exist already.
    """

    backbones: tuple
    tokenizer: Any
    options: SearchOptions
    decoders: tuple | None = None

    def find(self, *tensors):
        """Finds the best translations of a batch; pure, to be compiled or exported.

        Args:
            *tensors: See `inputs`.

        Returns:
            Token ids `(B, N, L)`, best first, padded with 0 after the end token, and
            log-probabilities `(B, N)` in nats.
        """
        return beam_search(self.inputs(*tensors))

    def find_one(self, encoder_token_ids, encoder_padding_mask, *limits):
        """`find` for a batch of one: TensorFlow then knows the size and makes use of it."""
        sources = (ops.reshape(x, (1, -1)) for x in (encoder_token_ids, encoder_padding_mask))
        if limits:
            prompt, max_lengths, *rest = limits
            limits = ops.reshape(prompt, (1, -1)), ops.reshape(max_lengths, (1,)), *rest
        return self.find(*sources, *limits)

    def compiled(self, functions, models):
        """Makes the function that searches for the translations of a batch.

        Args:
            functions: `CompiledFunctions`, which keep it for other searches with these options.
            models: Tuple of the models of the backbones.

        Returns:
            `find`, compiled at its first call: a function of NumPy arrays that gives NumPy arrays.
        """
        begin_computing(*models)
        is_small = all(backbone.hidden_dim <= SMALL_HIDDEN_DIM for backbone in self.backbones)

        def find_batch(token_ids, *arrays):
            is_one = len(token_ids) == 1
            find = self.find_one if is_one else self.find
            key = find.__name__, self.options.compilation_key()
            with for_small_operations() if is_one and is_small else contextlib.nullcontext():
                outputs = functions.get(key, find, *models)(token_ids, *arrays)
            return tuple(map(ops.convert_to_numpy, outputs))

        return find_batch

    def inputs(
        self,
        encoder_token_ids,
        encoder_padding_mask,
        prompt=None,
        max_lengths=None,
        min_length=None,
    ):
        """Makes the `SearchInputs` of a batch.

        Limits that are not given as tensors are those of the options; given as tensors, they may
        differ from one call of a compiled function to the next.

        Args:
            encoder_token_ids: Integer tensor `(B, S)`, each row as `tokenize` gives it.
            encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
            prompt: Integer tensor `(B, L)`, the start token and the wordpieces that a translation
                begins with, padded with the padding token. L is the maximum length, start and end
                included.
            max_lengths: Integer tensor `(B,)`, maximum number of tokens between start and end, at
                most `L - 2`.
            min_length: Integer scalar, minimum number of tokens between start and end; ignored if
                `options.min_length` is 0.
        """
        tokenizer, options = self.tokenizer, self.options
        if prompt is None:
            num_tokens = ops.sum(ops.cast(encoder_padding_mask, "int32"), axis=1)
            num_pieces = num_tokens - len(tokenizer.source_ids)
            max_positions = self.max_sequence_length
            max_lengths = ops.minimum(max_pieces(num_pieces, options), max_positions - 1)
            max_sources = ops.shape(encoder_token_ids)[1] - len(tokenizer.source_ids)
            length = max_sources + options.extra_length + 2
            if options.max_length is not None:
                length = min(options.max_length, max_positions - 1) + 2
            is_start = ops.equal(ops.arange(length), 0)
            start = ops.expand_dims(ops.zeros_like(num_pieces) + tokenizer.start_token_id, axis=1)
            prompt = ops.where(is_start, start, tokenizer.pad_token_id)
        rules, rule_state = None, ()
        if options.constraint is not None:
            rules = options.constraint.rules(tokenizer)
            rule_state = rules.initial_state(
                encoder_token_ids, encoder_padding_mask, options.num_beams
            )
        next_token, cache = start_decoding_together(
            self.backbones,
            encoder_token_ids,
            encoder_padding_mask,
            ops.shape(prompt)[1],
            options.num_beams,
            track_coverage=bool(options.coverage_penalty),
            decoders=self.decoders,
        )
        return SearchInputs(
            next_token,
            cache,
            prompt,
            mask=ops.not_equal(prompt, tokenizer.pad_token_id),
            options=options,
            end_token_id=tokenizer.end_token_id,
            max_lengths=max_lengths,
            min_length=min_length,
            forbidden_token_ids=(
                tokenizer.pad_token_id,
                tokenizer.unk_token_id,
                tokenizer.start_token_id,
            ),
            rules=rules,
            rule_state=rule_state,
        )

    @property
    def max_sequence_length(self):
        """Maximum number of tokens of a text: the positions that all backbones have."""
        return min(backbone.max_sequence_length for backbone in self.backbones)
