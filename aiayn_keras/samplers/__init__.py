"""The search for a translation (paper 6.1)."""

from aiayn_keras.samplers.beam_sampler import BeamSampler
from aiayn_keras.samplers.compilation import compile_inference, compiles_by_default
from aiayn_keras.samplers.length_penalty import length_penalty

__all__ = ["BeamSampler", "compile_inference", "compiles_by_default", "length_penalty"]
