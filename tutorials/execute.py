"""Makes notebooks from their sources and runs them, so that their outputs can be kept.

    python tutorials/execute.py                            # all
    python tutorials/execute.py tutorials/03_attention_by_hand.py

`NN_name.py`, here or in `solutions/`, is the source, `NN_name.ipynb` beside it is what this writes.
A notebook that fails, or that shows a warning, is not written.
"""

import copy
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from tqdm import tqdm

from address import repository, with_address

FOLDER = Path(__file__).resolve().parent
SOURCES = ["[0-9][0-9]*_*.py", "solutions/[0-9][0-9]*_*.py"]
CELL_TIMEOUT = 600  # seconds, as in `make tutorials`
# Where ipywidgets is not installed, tqdm would say so in every notebook.
ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "ignore:IProgress not found"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python"},
}
# What TensorFlow's C++ writes to stderr when it starts, whatever the log level; and grain, which
# Keras imports, where JAX is not installed.
NATIVE_LOG = re.compile(
    r"WARNING: All log messages before absl::InitializeLog"
    r"|[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ "
    r"|[IWE]0000 00:00:\d+\.\d+ "
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] "
    r"|To enable the following instructions: "
    r"|WARNING:absl:Failed to load jax profiler: "
)


def read_source(path):
    """The notebook of a `py:percent` file, without outputs; a cell's id comes from its text."""
    notebook = jupytext.read(path)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(copy.deepcopy(METADATA))
    seen = Counter()
    for cell in notebook.cells:
        cell.source = with_address(cell.source, repository())
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        seen[digest] += 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    return notebook


def run(notebook, folder=FOLDER):
    """Runs the cells in a fresh kernel whose working directory is `folder`.

    Raises:
        CellExecutionError: If a cell fails.
        CellTimeoutError: If a cell takes longer than `CELL_TIMEOUT`.
    """
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=CELL_TIMEOUT,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
    ).execute(env=ENVIRONMENT, stderr=subprocess.DEVNULL)  # a copy of what the cells show
    notebook.metadata = nbformat.from_dict(copy.deepcopy(METADATA))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(without_native_log, cell.outputs) if output]


def without_native_log(output):
    """The output without TensorFlow's start-up lines; None if nothing else is in it."""
    if output.output_type != "stream" or output.name != "stderr":
        return output
    lines = [line for line in output.text.splitlines(True) if not NATIVE_LOG.match(line)]
    if not "".join(lines).strip():
        return None
    return nbformat.from_dict({**output, "text": "".join(lines)})


def warnings_of(notebook):
    """Whatever the cells wrote to stderr."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output.text for output in outputs if output.get("name") == "stderr")


def write(notebook, path):
    """Writes the notebook in full, or not at all."""
    nbformat.validate(notebook)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(nbformat.writes(notebook).rstrip("\n") + "\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def all_sources():
    """The lessons in their order, then their solutions."""
    return [path for pattern in SOURCES for path in sorted(FOLDER.glob(pattern))]


def main(arguments):
    """Makes and runs the notebooks of the given sources; the exit status tells of failures."""
    sources = [Path(argument).resolve() for argument in arguments] or all_sources()
    failures = 0
    bar = tqdm(sources, unit="notebook")
    for source in bar:
        bar.set_postfix_str(source.stem)
        started = time.monotonic()
        notebook = read_source(source)
        try:
            run(notebook, source.parent)
            complaint = warnings_of(notebook)
        except (CellExecutionError, CellTimeoutError) as error:
            complaint = str(error)
        if not complaint:
            write(notebook, source.with_suffix(".ipynb"))
        failures += bool(complaint)
        outcome = f"not written:\n{complaint}" if complaint else "written"
        bar.write(f"{time.monotonic() - started:6.1f} s  {source.stem}: {outcome}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
