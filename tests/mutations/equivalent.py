"""Mutants that no test can notice, because they change nothing that anybody is promised."""

# By id of the mutant, or a pattern for several: the reason.
EQUIVALENT = {
    "decoding/candidates.py:_near_divisor:*": "any size of blocks finds the same candidates",
}
