"""The way of a sentence from text to text: encoded once, searched, written (paper 6.1)."""

from aiayn_keras.decoding.beam_sampler import BeamSampler
from aiayn_keras.decoding.decoder_cache import coverage_bonus, keep_sentences, reorder_hypotheses
from aiayn_keras.decoding.length_penalty import length_penalty

__all__ = [
    "BeamSampler",
    "coverage_bonus",
    "keep_sentences",
    "length_penalty",
    "reorder_hypotheses",
]
