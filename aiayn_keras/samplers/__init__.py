"""The search for a translation (paper 6.1)."""

from aiayn_keras.samplers.beam_sampler import BeamSampler
from aiayn_keras.samplers.compilation import (
    bfloat16_products,
    compile_inference,
    compiles_by_default,
    in_parallel,
    run_one_operation_at_a_time,
    use_one_core_per_batch,
)
from aiayn_keras.samplers.decoder_cache import (
    add_attention,
    add_position,
    append_position,
    coverage_bonus,
    empty_cache,
    initial_length,
    keep_sentences,
    reorder_hypotheses,
    write_position,
)
from aiayn_keras.samplers.kernels import float32_matmul, pack_kernel, swap_heads
from aiayn_keras.samplers.length_penalty import length_penalty

__all__ = [
    "BeamSampler",
    "add_attention",
    "add_position",
    "append_position",
    "bfloat16_products",
    "compile_inference",
    "compiles_by_default",
    "coverage_bonus",
    "empty_cache",
    "float32_matmul",
    "in_parallel",
    "initial_length",
    "keep_sentences",
    "length_penalty",
    "pack_kernel",
    "reorder_hypotheses",
    "run_one_operation_at_a_time",
    "swap_heads",
    "use_one_core_per_batch",
    "write_position",
]
