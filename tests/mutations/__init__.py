"""Mistakes that the tests must notice; `python -m tests.mutants` makes them one by one."""

from tests.mutations import layers, search, training

MUTATIONS = [*layers.MUTATIONS, *search.MUTATIONS, *training.MUTATIONS]
