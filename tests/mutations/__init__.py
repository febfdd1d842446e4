"""Mistakes that the tests must notice; `python -m tests.mutants` makes them one by one."""

from tests.mutations import data, layers, search, training

MUTATIONS = [
    *layers.MUTATIONS,
    *search.MUTATIONS,
    *training.MUTATIONS,
    *data.MUTATIONS,
]
