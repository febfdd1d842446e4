"""Address of the repository in the notebooks: their badges, and the cells that clone it in Colab.

    python tutorials/address.py    # writes the address of pyproject.toml into all, runs none

The address is `Repository` in pyproject.toml, under `[project.urls]`.
"""

import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SUFFIXES = (".ipynb", ".py")
HOST, NAME = "https://github.com/", "aiayn_keras"
BADGE = re.compile(r"(?<=https://colab\.research\.google\.com/github/)[^/\s]+/[^/\s]+(?=/blob/)")
CLONE = re.compile(r'(?<=git clone --depth 1 )[^\s"\\]+')


def repository():
    """The address.

    Raises:
        ValueError: If it is not on GitHub, where Colab opens notebooks, or does not end with
            `aiayn_keras`, the folder that the cells in Colab enter.
    """
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text("utf-8"))["project"]
    address = project["urls"]["Repository"]
    if not re.fullmatch(rf"{HOST}[\w.-]+/{NAME}", address):
        raise ValueError(
            f"`Repository` in pyproject.toml must be {HOST}OWNER/{NAME}. Received: {address}"
        )
    return address


def with_address(text, address):
    """The text of a source, a notebook or a cell with this address in badges and clone commands."""
    return CLONE.sub(address, BADGE.sub(address.removeprefix(HOST), text))


def notebooks():
    """Paths of all notebooks and their sources."""
    return [path for path in sorted(FOLDER.rglob("[0-9][0-9]*_*")) if path.suffix in SUFFIXES]


def main():
    """Writes the address into sources and notebooks, and names the files that it changes."""
    address = repository()
    for path in notebooks():
        before = path.read_text("utf-8")
        after = with_address(before, address)
        if after != before:
            path.write_text(after, "utf-8")
            print(path.relative_to(FOLDER))


if __name__ == "__main__":
    main()
