"""Beam search with other step functions: as a sampler of KerasHub, and for `search_tokens`.

`generate_tokens` extends prompts by any such sampler; a `.keras` file keeps one beside the weights.
"""

import functools
import json
import operator
import warnings
from pathlib import Path

import keras
import keras_hub
from keras import ops, tree

from aiayn_keras.backend import as_written
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.cached_decoding import (
    DecoderCache,
    ForeignCache,
    LayersCache,
    start_decoding,
)
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras_light.files import read_bytes, write_text

_SAMPLER_FILE, _MAX_SAMPLER_BYTES = "sampler.json", 1 << 20


@keras.saving.register_keras_serializable(package="aiayn_keras")
class BeamSampler(keras_hub.samplers.Sampler):
    """Beam search with a length penalty (paper 6.1: beam 4, α = 0.6), see `beam_search`.

    Args:
        num_beams: Number of beams W.
        length_penalty: The exponent α of the length penalty, 0 or greater; 0 is none.
        coverage_penalty: The factor β of the GNMT coverage penalty, 0 or greater; 0 is none. Only
            models of this package report what their attention has covered.
        no_repeat_ngram_size: No n-gram of this size is written twice; 0 allows all.
        length_penalty_offset: 5 for GNMT's length penalty, 0 for that of Hugging Face and
            CTranslate2, see `SearchOptions`.

    Raises:
        ValueError: For a number out of range, see `SearchOptions`. When called, unless there is
            exactly one end token, and for a coverage penalty in another package's model.

    Example:
        >>> model.compile(sampler=BeamSampler(num_beams=4, length_penalty=0.6))  # doctest: +SKIP
    """

    def __init__(
        self,
        num_beams=4,
        length_penalty=0.6,
        coverage_penalty=0.0,
        no_repeat_ngram_size=0,
        length_penalty_offset=5,
    ):
        super().__init__()
        self.options = SearchOptions(
            num_beams=num_beams,
            length_penalty=length_penalty,
            coverage_penalty=coverage_penalty,
            no_repeat_ngram_size=no_repeat_ngram_size,
            length_penalty_offset=length_penalty_offset,
            min_length=0,  # what follows a prompt may be nothing
        )

    def __call__(
        self,
        next,
        prompt,
        cache=None,
        index=1,
        mask=None,
        stop_token_ids=None,
        hidden_states=None,
        model=None,
        **kwargs,
    ):
        """KerasHub's sampler protocol: the best hypotheses' token ids `(B, L)`."""
        if stop_token_ids is None or len(stop_token_ids) != 1:
            raise ValueError(
                "`BeamSampler` needs exactly one `stop_token_ids`, the end token. "
                f"Received: stop_token_ids={stop_token_ids}."
            )
        if mask is None:
            mask = ops.broadcast_to(ops.arange(ops.shape(prompt)[1]) < index, ops.shape(prompt))
        step = next
        if not isinstance(cache, (DecoderCache, LayersCache)):
            _refuse_coverage(self.options)
            step, cache = _with_rows(next, cache, self.options.num_beams)
        inputs = SearchInputs(step, cache, prompt, mask, self.options, stop_token_ids[0])
        token_ids, _ = beam_search(inputs)
        # A prompt that leaves no room for an end is not a hypothesis, and stays as it is.
        return ops.where(ops.cast(mask, "bool"), prompt, token_ids[:, 0])

    def get_config(self):
        return {
            "num_beams": self.options.num_beams,
            "length_penalty": self.options.length_penalty,
            "coverage_penalty": self.options.coverage_penalty,
            "no_repeat_ngram_size": self.options.no_repeat_ngram_size,
            "length_penalty_offset": self.options.length_penalty_offset,
        }


def search_tokens(
    next_token, start_token_ids, end_token_id, cache=(), forbidden_token_ids=(), **options
):
    """Finds the best sequences of tokens by any step function: a table, or a model of your own.

    `BeamSampler` gives KerasHub's models the best sequence; this gives all, with their scores.

    Args:
        next_token: Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), anything,
            cache)`: the distribution of the token at `index`, given those before it. The W
            hypotheses of a sequence are consecutive rows. JAX traces it, so it must compute
            with tensors and keep the shapes of its cache.
        start_token_ids: Integers `(B,)`, the first token of every sequence.
        end_token_id: The token that ends a sequence. As in `translate`, it only does so if it is
            among the W best continuations of a step.
        cache: Nested tensors that `next_token` keeps from step to step. Their first axis is B; they
            are repeated for the W hypotheses.
        forbidden_token_ids: Tokens that are never chosen, such as padding.
        **options: Fields of `SearchOptions` except `constraint`; the defaults: W = 4 `num_beams`,
            `length_penalty` 0.6, N = 1 `num_return_sequences`, `min_length` 1. `max_length` is
            needed.

    Returns:
        Integer tensor `(B, N, max_length + 2)` with start and end, best first, 0 after the end,
        and float32 log-probabilities `(B, N)` in nats of all that follows the start. A sequence
        that was not found has zeros and log-probability -inf.

    Raises:
        TypeError: For an option that `SearchOptions` does not have; for tokens that are not
            integers.
        ValueError: As `SearchOptions`; without a `max_length`; for a `constraint`, which needs a
            tokenizer, or a `coverage_penalty`, since the attention is not known; for tokens that
            the logits do not have, or logits with a different number of rows.

    Example:
        >>> log_probs = keras.ops.log([[0.01, 0.59, 0.4], [0.01, 0.29, 0.7], [0.98, 0.01, 0.01]])
        >>> def next_token(token_ids, cache, index):
        ...     last = keras.ops.take(token_ids, index - 1, axis=1)
        ...     return keras.ops.take(log_probs, last, axis=0), None, cache
        >>> ids, scores = search_tokens(next_token, [1], end_token_id=2, max_length=3, num_beams=2)
        >>> keras.ops.convert_to_numpy(ids).tolist()
        [[[1, 1, 2, 0, 0]]]
    """
    options = SearchOptions(**options)
    if options.max_length is None:
        raise ValueError("`search_tokens` needs a `max_length`, the token limit of a sequence.")
    if options.constraint is not None:
        raise ValueError("`constraint` needs the tokenizer of a model: use its `translate`.")
    _refuse_coverage(options)
    start = ops.convert_to_tensor(start_token_ids)
    if start.ndim != 1 or not keras.backend.is_int_dtype(start.dtype):
        raise TypeError(
            "`start_token_ids` must be integers, one for each sequence. Received: "
            f"start_token_ids={start_token_ids!r:.60}."
        )
    start = ops.expand_dims(ops.cast(start, "int32"), axis=1)
    is_start = ops.equal(ops.arange(options.max_length + 2), 0)
    prompt = ops.where(is_start, start, 0)
    mask = ops.broadcast_to(is_start, ops.shape(prompt))
    step, cache = _with_rows(next_token, cache, options.num_beams)
    end_token_id = operator.index(end_token_id)
    forbidden = tuple(map(operator.index, forbidden_token_ids))

    def checked_step(token_ids, cache, index):
        logits, *rest = step(token_ids, cache, index)
        _check_logits(logits, token_ids, [end_token_id, *forbidden])
        return logits, *rest

    return beam_search(
        SearchInputs(
            checked_step, cache, prompt, mask, options, end_token_id, forbidden_token_ids=forbidden
        )
    )


def _check_logits(logits, token_ids, known):
    """Refuses logits that have too few tokens or rows, which JAX would read all the same."""
    rows, width = logits.shape
    if None not in (rows, token_ids.shape[0]) and rows != token_ids.shape[0]:
        raise ValueError(
            f"`next_token` must give logits for each of the {token_ids.shape[0]} rows of its token "
            f"ids. Received: logits of shape {tuple(logits.shape)}."
        )
    if not 0 <= min(known) <= max(known) < width:
        raise ValueError(
            f"`end_token_id` and `forbidden_token_ids` must be from 0 to {width - 1}, since the "
            f"logits have {width} tokens. Received: end_token_id={known[0]}, "
            f"forbidden_token_ids={known[1:]}."
        )


def _refuse_coverage(options):
    if options.coverage_penalty:
        raise ValueError(
            "`coverage_penalty` must be 0 for a model that does not return its attention. "
            f"Received: coverage_penalty={options.coverage_penalty}."
        )


def _with_rows(next, rows, num_beams):
    """A step function and its cache as `beam_search` takes them, rows repeated for every beam."""

    def next_token(token_ids, cache, index):
        logits, hidden_states, rows = next(token_ids, cache.rows, index)
        return logits, hidden_states, ForeignCache(rows)

    repeat = functools.partial(ops.repeat, repeats=num_beams, axis=0)
    return next_token, ForeignCache(tree.map_structure(repeat, rows))


def generate_tokens(backbone, sampler, inputs, stop_token_ids, model):
    """Extends prompts by a sampler of KerasHub's kind.

    Args:
        backbone: A `TransformerBackbone`.
        sampler: A `keras_hub.samplers.Sampler`.
        inputs: Dictionary of four integer tensors, those of the encoder `(B, S)` and those of the
            decoder `(B, L)`.
        stop_token_ids: Tuple of the ids that end a text.
        model: Handed to the sampler.

    Returns:
        Token ids `(B, L)`.

    Raises:
        ValueError: If L exceeds the backbone's positions.
    """
    prompt = inputs["decoder_token_ids"]
    length, limit = prompt.shape[1], backbone.max_sequence_length
    if length is not None and length > limit:
        raise ValueError(
            f"`max_length` must be at most {limit}, the positions of the model. "
            f"Received: max_length={length}."
        )
    # The beams of a sentence share one cache; other samplers repeat and gather its rows.
    shared = isinstance(sampler, BeamSampler)
    next_token, cache = as_written(start_decoding)(
        backbone,
        inputs["encoder_token_ids"],
        inputs["encoder_padding_mask"],
        ops.shape(prompt)[1],
        sampler.options.num_beams if shared else None,
        track_coverage=shared and bool(sampler.options.coverage_penalty),
    )
    hidden_states = None
    if isinstance(sampler, keras_hub.samplers.ContrastiveSampler):  # it compares with earlier ones
        _, first, _ = next_token(prompt, cache, 1)
        later = ops.zeros((*ops.shape(prompt), first.shape[-1]), first.dtype)[:, 1:]
        hidden_states = ops.concatenate([ops.expand_dims(first, axis=1), later], axis=1)
    search = as_written(sampler) if type(sampler) is BeamSampler else sampler
    return search(
        next=as_written(next_token),
        prompt=prompt,
        cache=cache,
        index=1,
        mask=inputs["decoder_padding_mask"],
        stop_token_ids=stop_token_ids,
        hidden_states=hidden_states,
        model=model,
    )


def write_sampler(folder, sampler):
    """Writes a sampler into a folder, unless it is None.

    Args:
        folder: Path of the folder.
        sampler: A `keras_hub.samplers.Sampler`.
    """
    if sampler is not None:
        content = json.dumps(keras.saving.serialize_keras_object(sampler), indent=1)
        write_text(Path(folder) / _SAMPLER_FILE, content + "\n")


def read_sampler(folder, default):
    """Reads a sampler from a folder, with a warning if its class is not known here.

    Args:
        folder: Path of the folder.
        default: What is returned if the folder has none, or its class is not known.
    """
    path = Path(folder) / _SAMPLER_FILE
    if not path.exists():
        return default
    config = json.loads(read_bytes(path, _MAX_SAMPLER_BYTES))
    try:
        return keras.saving.deserialize_keras_object(config)
    except (TypeError, ValueError) as error:
        warnings.warn(
            f"`generate` uses {type(default).__name__}, since the sampler of the file cannot be "
            "made here: register its class with `keras.saving.register_keras_serializable`, or "
            f"give it to `compile`. Keras says: {' '.join(str(error).split()):.200}",
            stacklevel=2,
        )
        return default


def until_end(token_ids, stop_token_ids, prompt_mask):
    """True up to and including the first stop token after the prompt."""
    is_end = ops.zeros_like(token_ids)
    for stop_token_id in stop_token_ids:
        is_end = ops.logical_or(is_end, ops.equal(token_ids, stop_token_id))
    is_end = ops.logical_and(is_end, ops.logical_not(ops.cast(prompt_mask, "bool")))
    is_end = ops.cast(is_end, "int32")
    return ops.equal(ops.cumsum(is_end, axis=1) - is_end, 0)
