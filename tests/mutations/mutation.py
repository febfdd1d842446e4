"""What a mistake in the package is."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """A mistake in one module of the package.

    Attributes:
        module: Path of the module, relative to the package.
        mistake: What is wrong then, in words.
        old: Text that occurs once in the module.
        new: What stands there instead.
        tests: Paths of the tests that must notice, relative to `tests`.
    """

    module: str
    mistake: str
    old: str
    new: str
    tests: tuple[str, ...]


def mistakes_in(module, tests, *mistakes):
    """Mutations of one module, each `(mistake, old, new)`, that the same tests must notice."""
    return [Mutation(module, *mistake, tests=tuple(tests.split())) for mistake in mistakes]
