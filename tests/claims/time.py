"""Time: a file that changes while a job reads it ends the job, at whatever moment it changes.

`python -m tests.claims.time --cases 2000` reads random files in parts of random sizes, and changes
them at a random moment, in one of several ways, or not at all. Then all lines are there. Prints a
table.
"""

import gzip
import os
import random
import time
from pathlib import Path

from tests.claims.forked_cases import Case
from tests.claims.programs import program


def _grow(path):
    with path.open("ab") as file:
        file.write(b"more\n")


def _cut(path):
    os.truncate(path, path.stat().st_size // 2)


def _replace(path):
    """Puts a file of equal size and time in its place, as copying programs do."""
    facts, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    other.replace(path)


def _rewrite(path):
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def _restore(path):
    """Writes other bytes of equal size in place, and puts the time of modification back."""
    time.sleep(0.02)  # the clock of files ticks every few milliseconds
    facts = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


CHANGES = (_grow, _cut, _replace, _rewrite, _restore, os.remove)


def read(rng, change, name):
    """Reads a file in parts, as a job does, and changes it before a random line."""
    from aiayn_keras.scale.job import Job
    from aiayn_keras.scale.parts import plan_parts, read_lines

    path, lines = Path(name), [f"{n} {rng.random()}" for n in range(rng.randint(1, 400))]
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    _, parts = plan_parts([name], rng.randint(10, 4000))
    moment, found = rng.randint(0, len(lines)), []
    for part in parts:
        for line in read_lines(part):
            if len(found) == moment and change is not None:
                change(path)
            found.append(line)
    if moment == len(lines) and change is not None:  # after the last line
        change(path)
    Job("out", parts).check_files()
    assert found == lines


def cases(seed):
    """Endless cases of all groups in turn."""
    rng = random.Random(seed)
    while True:
        for change in (None, *CHANGES):
            own, name = random.Random(rng.random()), rng.choice(("a.txt", "a.gz"))
            group = "unchanged" if change is None else change.__name__.strip("_")
            expected = "answer" if change is None else "refusal"
            message = "" if change is None else "has (changed|been deleted) while it was in use"
            run = lambda own=own, change=change, name=name: read(own, change, name)  # noqa: E731
            yield Case(group, name, run, expected, message)


main = program(__doc__, cases)

if __name__ == "__main__":
    main()
