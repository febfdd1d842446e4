"""Mutants that no test can notice, because they change nothing that anybody is promised."""

# By id of the mutant, or a pattern for several: the reason.
EQUIVALENT = {
    "data/packed_batches.py:<module>:constant:*": "the tests set the size of a chunk themselves",
    "decoding/candidates.py:_near_divisor:*": "any size of blocks finds the same candidates",
    "decoding/candidates.py:top_candidates:constant:9": "fewer stages find the same candidates",
}
