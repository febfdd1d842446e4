"""Beam search as a sampler of KerasHub's, for `generate`."""

import functools

import keras
import keras_hub
from keras import ops, tree

from aiayn_keras.decoding.beam_search import beam_search
from aiayn_keras.decoding.decoder_step import DecoderCache, ForeignCache
from aiayn_keras.decoding.search_options import SearchOptions


@keras.saving.register_keras_serializable(package="aiayn_keras")
class BeamSampler(keras_hub.samplers.Sampler):
    """Beam search with a length penalty (paper 6.1: beam 4, α = 0.6), see `beam_search`.

    Args:
        num_beams: Number of beams W.
        length_penalty: The exponent α of the length penalty, 0 or greater; 0 is none.
        coverage_penalty: The factor β of the GNMT coverage penalty, 0 or greater; 0 is none. Only
            models of this package say what their attention has covered.
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
        if not isinstance(cache, DecoderCache):
            step, cache = self._with_foreign_cache(next, cache)
        token_ids, _ = beam_search(step, cache, prompt, mask, self.options, stop_token_ids[0])
        # A prompt that leaves no room for an end is no hypothesis, and stays as it is.
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
