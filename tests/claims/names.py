"""Names, links and addresses: what a name holds is read and written, and nothing else.

`python -m tests.claims.names --cases 2000` makes random names out of what URLs, patterns and
terminals are made of. Files of such names are written, read and found; a pattern finds each file
once through random links; URLs of other kinds are refused. Prints a table.
"""

import os
import random
from pathlib import Path

from tests.claims.forked_cases import Case
from tests.claims.programs import program

BITS = (
    *("::", "://", ":", "//", "/", "[", "]", "*", "?", "**", "%20", "~", "..", ".", " ", "\n", "#"),
    *("file", "local", "s3", "http", "reference", "simplecache", "zip", "memory", "x", "y", "1"),
    *("é", "日本", "\udce9", "\u202e", "$HOME", "`id`", "-", "--", ".gz", ".txt", "&", "=", "\\"),
)
KINDS = ("reference", "simplecache", "zip", "memory", "ftp", "local", "git", "S3", "dbfs", "data")


def random_name(rng):
    """A name of one file, of any bits that a file system takes."""
    name = "".join(rng.choices(BITS, k=rng.randint(1, 6))).replace("/", "")
    return name if name not in ("", ".", "..") else "x"


def written(rng):
    """A file of a random name is written, read and deleted, and all others stay."""
    from aiayn_keras.common.file_addresses import delete_file, read_file, whole_file

    name, others = random_name(rng), {random_name(rng) for _ in range(5)}
    for other in {*others, *name.split(":")} - {"", ".", "..", name}:
        Path(other).write_bytes(b"other")
    before = set(os.listdir())
    address = rng.choice((name, os.path.abspath(name), f"./{name}"))
    with whole_file(address) as path:
        path.write_bytes(b"own")
    assert Path(name).read_bytes() == read_file(address, 9) == b"own", address
    delete_file(address)
    assert set(os.listdir()) == before, address
    assert all(Path(other).read_bytes() == b"other" for other in before)


def found(rng):
    """A pattern of everything finds each of some random names, and so does each name itself."""
    from aiayn_keras.common.found_files import find_files

    Path("in").mkdir()
    names = {random_name(rng) for _ in range(8)}
    for name in names:
        Path("in", name).write_bytes(b"")
    visible = {name for name in names if not name.startswith(".")} or {"x"}
    Path("in", min(visible)).touch()
    expected = {"*"} if "*" in visible else visible  # a file of that very name comes first
    assert {os.path.basename(file.address) for file in find_files("in/*")} == expected
    for name in visible:
        for address in (f"in/{name}", os.path.abspath(f"in/{name}")):
            matches = [os.path.basename(file.address) for file in find_files(address)]
            assert matches == [name], address


def linked(rng):
    """Through random links to folders and files, `**` finds each file once."""
    from aiayn_keras.common.found_files import find_files

    folders = [Path("in")]
    for number in range(rng.randint(1, 6)):
        folders.append(rng.choice(folders) / f"d{number}")
    contents = set()
    for folder in folders:
        folder.mkdir()
        for number in range(rng.randint(0, 3)):
            (folder / f"{number}.txt").write_text(f"{folder}/{number}")
            contents.add(f"{folder}/{number}")
    (folders[-1] / "last.txt").write_text("last")
    files = [path for folder in folders for path in folder.glob("*.txt")]
    for number in range(rng.randint(1, 8)):
        link = rng.choice(folders) / f"l{number}"
        if rng.random() < 0.6:
            link.symlink_to(rng.choice(folders).absolute())
        else:
            rng.choice((os.link, os.symlink))(rng.choice(files).absolute(), f"{link}.txt")
    read = [Path(file.address).read_text() for file in find_files("in/**/*.txt")]
    assert sorted(read) == sorted([*contents, "last"])


def of_another_kind(rng):
    """A URL of another kind, or a chain of them."""
    from aiayn_keras.common.file_addresses import read_file, sizes_in, whole_file

    chain = "::".join(rng.choices(KINDS, k=rng.randint(1, 3)))
    address = f"{chain}://{''.join(rng.choices(BITS, k=4))}"
    uses = (lambda: read_file(address, 9), lambda: sizes_in(address), lambda: _write(whole_file))

    def _write(writer):
        with writer(address):
            pass

    try:
        rng.choice(uses)()
    finally:
        assert os.listdir() == [], address


def cases(seed):
    """Endless cases of all groups in turn."""
    rng = random.Random(seed)
    while True:
        for run in (written, found, linked, of_another_kind):
            own = random.Random(rng.random())
            expected = "refusal" if run is of_another_kind else "answer"
            message = "is a URL of the kind" if run is of_another_kind else ""
            name = run.__name__.replace("_", " ")
            yield Case(name, "", lambda run=run, own=own: run(own), expected, message)


main = program(__doc__, cases)

if __name__ == "__main__":
    main()
