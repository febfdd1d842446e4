"""`generate`: prompts extended by a KerasHub sampler, and beam search as such a sampler."""

import functools

import keras
import keras_hub
from keras import ops, tree

from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.cached_decoding import (
    DecoderCache,
    ForeignCache,
    LayersCache,
    start_decoding,
)
from aiayn_keras.decoding.search_options import SearchOptions


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
            step, cache = self._with_foreign_cache(next, cache)
        inputs = SearchInputs(step, cache, prompt, mask, self.options, stop_token_ids[0])
        token_ids, _ = beam_search(inputs)
        # A prompt that leaves no room for an end is not a hypothesis, and stays as it is.
        return ops.where(ops.cast(mask, "bool"), prompt, token_ids[:, 0])

    def _with_foreign_cache(self, next, cache):
        """Another model's step function and rows as `beam_search` takes them."""
        if self.options.coverage_penalty:
            raise ValueError(
                "`coverage_penalty` must be 0 in a model that does not tell its attention. "
                f"Received: coverage_penalty={self.options.coverage_penalty}."
            )

        def next_token(token_ids, cache, index):
            logits, hidden_states, rows = next(token_ids, cache.rows, index)
            return logits, hidden_states, ForeignCache(rows)

        repeat = functools.partial(ops.repeat, repeats=self.options.num_beams, axis=0)
        return next_token, ForeignCache(tree.map_structure(repeat, cache))

    def get_config(self):
        return {
            "num_beams": self.options.num_beams,
            "length_penalty": self.options.length_penalty,
            "coverage_penalty": self.options.coverage_penalty,
            "no_repeat_ngram_size": self.options.no_repeat_ngram_size,
            "length_penalty_offset": self.options.length_penalty_offset,
        }


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
    next_token, cache = start_decoding(
        backbone,
        inputs["encoder_token_ids"],
        inputs["encoder_padding_mask"],
        ops.shape(prompt)[1],
        sampler.options.num_beams if shared else None,
        track_coverage=shared and bool(sampler.options.coverage_penalty),
    )
    return sampler(
        next=next_token,
        prompt=prompt,
        cache=cache,
        index=1,
        mask=inputs["decoder_padding_mask"],
        stop_token_ids=stop_token_ids,
        model=model,
    )


def until_end(token_ids, stop_token_ids, prompt_mask):
    """True up to and including the first stop token behind the prompt."""
    is_end = ops.zeros_like(token_ids)
    for stop_token_id in stop_token_ids:
        is_end = ops.logical_or(is_end, ops.equal(token_ids, stop_token_id))
    is_end = ops.logical_and(is_end, ops.logical_not(ops.cast(prompt_mask, "bool")))
    is_end = ops.cast(is_end, "int32")
    return ops.equal(ops.cumsum(is_end, axis=1) - is_end, 0)
