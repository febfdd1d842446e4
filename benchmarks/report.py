"""The machine, and Markdown tables."""

import importlib.metadata
import importlib.util
import os
import platform
from pathlib import Path


def markdown_table(heads, rows, alignment=None):
    """A Markdown table.

    Args:
        heads: List of strings.
        rows: List of lists of strings.
        alignment: An `l` or `r` for every column; only the first is `l` by default.
    """
    alignment = alignment or "l".ljust(len(heads), "r")
    rules = [":---" if letter == "l" else "---:" for letter in alignment]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def digits(number):
    """Formats a speed with its meaningful digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def machine():
    """Processor, and versions of the measured packages."""
    packages = ("keras", "tensorflow", "jax", "torch", "ctranslate2", "transformers")
    versions = [
        f"{package} {importlib.metadata.version(package)}"
        for package in packages
        if importlib.util.find_spec(package)
    ]
    return f"{os.cpu_count()} × {_processor()}, Python {platform.python_version()}; " + ", ".join(
        versions
    )


def _processor():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
