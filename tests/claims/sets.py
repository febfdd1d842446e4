"""Sets of aligned files: right pairs, or the names of files that do not meet.

`python -m tests.claims.sets --cases 2000` makes random sets of two languages, in one folder or two,
with the language before or behind the number. In half of them, one file is missing or has another
number: then nothing is paired. Prints a table.
"""

import random
from pathlib import Path

from tests.claims.forked_cases import Case
from tests.claims.programs import program

LAYOUTS = (
    ("*.en", "*.de", "{}.en", "{}.de"),
    ("en/*", "de/*", "en/{}", "de/{}"),
    ("en/*.txt", "de/*.txt", "en/{}.txt", "de/{}.txt"),
    ("en-*.gz", "de-*.txt", "en-{}.gz", "de-{}.txt"),
    ("en/*.en", "de/*.de", "en/{}.en", "de/{}.de"),
    ("en/**/*.en", "de/**/*.de", "en/a/{}.en", "de/a/{}.de"),
    ("en*.1", "de*.2", "en{}.1", "de{}.2"),
)


def random_keys(rng):
    """What differs between the names of one side: numbers, letters, or both."""
    makes = (
        lambda: str(rng.randint(0, 200)),
        lambda: f"{rng.randint(0, 99):05d}",
        lambda: "".join(rng.choices("ab", k=3)),
        lambda: f"part-{rng.randint(0, 20)}_of_{rng.randint(20, 30)}",
        lambda: f"news{rng.randint(2010, 2020)}::{rng.choice('xy')}",
    )
    make = rng.choice(makes)
    return sorted({make() for _ in range(rng.randint(2, 8))} | {"0", "z"})


def plan(layout, sources, targets):
    """The pairs of the files of some keys, as pairs of contents."""
    from aiayn_keras.common.found_files import find_files
    from aiayn_keras.scale.parts import pair_files

    *patterns, source, target = layout
    for form, keys in ((source, sources), (target, targets)):
        for key in keys:
            path = Path(form.format(key))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(key)
    pairs = pair_files(patterns, [find_files(pattern) for pattern in patterns])
    return [tuple(Path(file.address).read_text() for file in pair) for pair in pairs]


def whole(rng):
    """Every source meets the target of its key."""
    keys = random_keys(rng)
    pairs = plan(rng.choice(LAYOUTS), keys, keys)
    assert sorted(pairs) == [(key, key) for key in keys]


def broken(rng):
    """One target is missing, or has another key."""
    keys = random_keys(rng)
    targets = list(keys)
    gone = targets.pop(rng.randrange(len(targets)))
    if rng.random() < 0.5:
        targets.append(f"{gone}7")
    plan(rng.choice(LAYOUTS), *rng.sample((keys, targets), 2))


def cases(seed):
    """Endless cases of both groups in turn."""
    rng = random.Random(seed)
    while True:
        for run, expected, message in (
            (whole, "answer", ""),
            (broken, "refusal", r"Without a partner: \S+"),
        ):
            own = random.Random(rng.random())
            yield Case(run.__name__, "", lambda run=run, own=own: run(own), expected, message)


main = program(__doc__, cases)

if __name__ == "__main__":
    main()
