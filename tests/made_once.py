"""Shares what takes seconds to make: one process of a run makes it for all of them."""

import os
import shutil
import tempfile
from pathlib import Path

import filelock


def made_once(tmp_path_factory, path, make):
    """Folder or file of this process alone, a copy of what one process of the run has made.

    Args:
        tmp_path_factory: The fixture.
        path: Path below a folder of the run; its last part is the copy's name.
        make: Function of the path at which it writes.

    Returns:
        Path of the copy, which no other process reads.
    """
    of_run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        of_run = of_run.parent  # https://pytest-xdist.readthedocs.io/en/stable/how-to.html
    made = of_run / "made_once" / path
    made.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{made}.lock"):
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=made.parent) as folder:
                make(Path(folder) / made.name)
                (Path(folder) / made.name).rename(made)
    copy = tmp_path_factory.mktemp("copies") / made.name
    return shutil.copytree(made, copy) if made.is_dir() else shutil.copy(made, copy)
