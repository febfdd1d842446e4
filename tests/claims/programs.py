"""The command of a program of proof whose cases need no more than files.

It stands alone, since several programs share it.
"""

import itertools

import click

from tests.claims.forked_cases import Limits, print_table, run_cases


def program(text, cases):
    """Makes the command that runs cases and prints their table.

    Args:
        text: Its help.
        cases: Function from a seed to an iterable of `Case`s.
    """

    @click.command(help=text)
    @click.option("--cases", "count", default=2000, show_default=True, help="Number of cases.")
    @click.option("--seed", default=0, show_default=True)
    def main(count, seed):
        import aiayn_keras.scale.job
        import aiayn_keras.scale.parts  # noqa: F401 - loaded once, before the first fork

        some = itertools.islice(cases(seed), count)
        results = list(run_cases(some, Limits(seconds=60.0)))
        raise SystemExit(1 if print_table(results) else 0)

    return main
