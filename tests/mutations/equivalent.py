"""Mutants that no test on TensorFlow can notice: nothing changes that anybody is promised."""

# By id of the mutant, or a pattern for several: the reason.
EQUIVALENT = {
    "backend/kernels.py:float32_matmul_transposed:sign:*": "not run on TensorFlow",
    "backend/kernels.py:initial_length:comparison:2": "not run on TensorFlow",
    "backend/kernels.py:swap_heads:constant:11": "not run on TensorFlow; noticed on the others",
    "data/packed_batches.py:<module>:constant:*": "the tests set the size of a chunk themselves",
    "decoding/candidates.py:_near_divisor:*": "any size of blocks finds the same candidates",
    "decoding/cached_decoding.py:start_decoding_together:boolean:[23]": "as many on both sides",
    "decoding/candidates.py:top_candidates:condition:1": "fewer stages find the same candidates",
    "decoding/candidates.py:top_candidates:constant:9": "fewer stages find the same candidates",
    "layers/positional_embedding.py:PositionalEmbedding.build:forgotten_step:1": "no weights",
    "layers/masks.py:join_masks:constant:[24]": "only the length is read, which all features have",
}
