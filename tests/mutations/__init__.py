"""Small mistakes that a syntax tree can make in the numerical core; see `tests.mutants`."""
