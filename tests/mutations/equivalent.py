"""Mutants that no test on TensorFlow can notice: nothing changes that anybody is promised."""

# By id of the mutant, or a pattern for several: the reason.
EQUIVALENT = {
    "backend/kernels.py:float32_matmul_transposed:sign:*": "not run on TensorFlow",
    "backend/kernels.py:initial_length:comparison:2": "not run on TensorFlow",
    "backend/kernels.py:swap_heads:constant:[89]": "not run on TensorFlow; noticed on the others",
    "backend/kernels.py:swap_heads:constant:1[01]": "not run on TensorFlow; noticed on the others",
    **{
        f"backend/kernels.py:project_together:{mistake}": "not run on TensorFlow"
        for mistake in (
            *("arithmetic:1", "boolean:2", "comparison:3", "condition:1", "constant:2"),
            "dropped_call:*",
        )
    },
    "backend/kernels.py:cast_preprocessed:condition:2": "the same cast on TensorFlow",
    **{
        f"backend/projected_loss.py:{function}": "not run on TensorFlow"
        for function in ("_on_devices*", "_in_chunks*", "_cross_entropy:*", "*_cross_entropy.*")
    },
    "data/pair_batches.py:<module>:constant:*": "the tests set the size of a chunk themselves",
    "aiayn_keras_light/text_batches.py:<module>:constant:*": "tests take the limits from there",
    "decoding/cached_decoding.py:DecoderCache.usual_length:*": "a room that is too short grows",
    "decoding/candidates.py:TokenLimits.candidates:constant:[67]": "it is the quicker sum alone",
    "decoding/candidates.py:TokenLimits.candidates:sign:2": "the second axis is the last",
    "decoding/candidates.py:top_log_probs:sign:*": "the second axis is the last",
    "decoding/constraints/constraint.py:AutomatonRules.initial_state:arithmetic:1": "0 - 0",
    "decoding/constraints/constraint.py:_numbers:constant:1": "below 0, too",
    "decoding/frozen_decoder.py:FrozenDecoder.embed:sign:1": "the second axis is the last",
    "decoding/frozen_decoder.py:_FrozenAttention._split:sign:1": "the second axis is the last",
    "decoding/recording.py:_trace:boolean:1": "all have as many rows",
    "decoding/candidates.py:_near_divisor:*": "any size of blocks finds the same candidates",
    "decoding/cached_decoding.py:start_decoding_together:boolean:[23]": "as many on both sides",
    "decoding/cached_decoding.py:start_decoding_together.next_token:constant:[23]": "not read",
    "decoding/candidates.py:top_candidates:condition:1": "fewer stages find the same candidates",
    "decoding/candidates.py:top_candidates:constant:9": "fewer stages find the same candidates",
    "data/token_batches.py:interleave:constant:3": "an order that is as random",
    "layers/positional_embedding.py:PositionalEmbedding.call:dropped_call:1": "TensorFlow casts it",
    "layers/positional_embedding.py:PositionalEmbedding.build:forgotten_step:1": "no weights",
    "layers/masks.py:join_masks:constant:[24]": "only the length is read, which all features have",
}
