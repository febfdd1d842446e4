"""Origin of a result: commit, versions and processor, without a name or a path of the machine."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("keras", "keras-hub", "tensorflow", "sacrebleu", "sentencepiece", "numpy")
CODE = ("aiayn_keras", "aiayn_keras_cli", "aiayn_keras_light", "experiments")


def commit():
    """The running commit, with "-changed" if the code has uncommitted changes."""
    head = _git("rev-parse", "HEAD")
    if not head:
        return "unknown"
    is_changed = _git("status", "--porcelain", "--", *(f"{name}/**.py" for name in CODE))
    return f"{head}-changed" if is_changed else head


def versions():
    """Versions of Python and of the packages that the figures depend on."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def processor():
    """Number of cores and the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.processor()}"


def _git(*arguments):
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
