"""Tabulates how installed backends differ: `python -m tests.backend_agreement.report`."""

import itertools
import os
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from tests.backend_agreement.comparison import (
    BACKENDS,
    CLAIMS,
    ask,
    is_installed,
    number_of_hypotheses,
)


def table(answers):
    """Markdown of the largest differences: a row for each two backends, a column for each claim.

    Args:
        answers: Dictionary of `tests.backend_agreement.comparison.ask`'s answers by backend.
    """
    some = next(iter(answers.values()))
    titles = {claim: f"{claim.name} ({claim.unit})" for claim in CLAIMS}
    rows = [("backends", *titles.values())]
    rows.append(tuple("---" for _ in rows[0]))
    rows.append(("allowed", *(f"{claim.limit:.0e}" if claim.limit else "0" for claim in CLAIMS)))
    for pair in itertools.combinations(answers, 2):
        differences = (
            claim.difference(*(answers[backend] for backend in pair)) for claim in CLAIMS
        )
        rows.append(
            (
                " and ".join(pair),
                *(
                    f"{difference} of {number_of_hypotheses(some)}"
                    if isinstance(difference, int)
                    else f"{difference:.1e}"
                    for difference in differences
                ),
            )
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main():
    from tests.backend_agreement.toy import save_toy

    with tempfile.TemporaryDirectory() as folder:
        save_toy(folder)
        installed = [backend for backend in BACKENDS if is_installed(backend)]
        print(table({backend: ask(backend, folder) for backend in installed}), end="")


if __name__ == "__main__":
    main()
