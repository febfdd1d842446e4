"""Differences from other implementations, on every installed backend.

Prints a Markdown table: `python -m tests.fidelity.report`.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys

import numpy as np

BACKENDS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}


def is_installed(module):
    return module is None or importlib.util.find_spec(module) is not None


def measure():
    """`[forward, gradient]` by reference, on the backend of this process."""
    from tests.fidelity.registry import COMPARISONS

    measured = {}
    for comparison in COMPARISONS:
        measured[comparison.reference] = None
        if is_installed(comparison.needs):
            found = comparison.run()
            # `np.max`, for with NaN Python's `max` depends on the order.
            largest = [np.max(list(part.values())) for part in (found.forward, found.gradient)]
            measured[comparison.reference] = [float(x) for x in largest]
    bounds = {comparison.reference: comparison.bound for comparison in COMPARISONS}
    return {"measured": measured, "bounds": bounds}


def measure_on(backend):
    """The same, in a process of its own."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [sys.executable, "-m", "tests.fidelity.report", "--this-backend"],
        env=environment,
        capture_output=True,
        text=True,
    )
    if result.returncode:
        sys.exit(result.stderr)
    return json.loads(result.stdout.splitlines()[-1])


def markdown_table(measured, bounds):
    """Formats the results of `measure` as a table; values beyond their bound are bold."""
    columns = [f"{BACKENDS[name]} {part}" for name in measured for part in ("forward", "gradient")]
    rows = [["reference", "bound", *columns]]
    for reference, bound in bounds.items():
        found = [by_reference[reference] or [None, None] for by_reference in measured.values()]
        cells = [_cell(difference, bound) for pair in found for difference in pair]
        rows.append([reference, f"{bound:.0e}", *cells])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _cell(difference, bound):
    if difference is None:
        return "–"
    return f"{difference:.1e}" if difference <= bound else f"**{difference:.1e}**"


def main():
    if "--this-backend" in sys.argv:
        print(json.dumps(measure()))
        return
    results = {backend: measure_on(backend) for backend in BACKENDS if is_installed(backend)}
    bounds = next(iter(results.values()))["bounds"]
    print(markdown_table({name: result["measured"] for name, result in results.items()}, bounds))
    packages = [name for name in ("keras", *BACKENDS, "transformers") if is_installed(name)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    print(f"\nmax|a − b| / max|b| of the worst tensor, float32; {versions}.")


if __name__ == "__main__":
    main()
