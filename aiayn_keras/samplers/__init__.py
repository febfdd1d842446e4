"""The search for a translation (paper 6.1)."""

from aiayn_keras.samplers.beam_sampler import BeamSampler
from aiayn_keras.samplers.compilation import (
    compile_inference,
    compiles_by_default,
    in_parallel,
)
from aiayn_keras.samplers.decoder_cache import (
    add_attention,
    add_position,
    append_position,
    coverage_bonus,
    empty_cache,
    initial_length,
    reorder_hypotheses,
    write_position,
)
from aiayn_keras.samplers.length_penalty import length_penalty
from aiayn_keras.samplers.matmul import float32_matmul

__all__ = [
    "BeamSampler",
    "add_attention",
    "add_position",
    "append_position",
    "compile_inference",
    "compiles_by_default",
    "coverage_bonus",
    "empty_cache",
    "float32_matmul",
    "in_parallel",
    "initial_length",
    "length_penalty",
    "reorder_hypotheses",
    "write_position",
]
