"""Resident memory of processes, as reported by Linux."""

import contextlib
import threading
from pathlib import Path

MEGABYTE = 2**20


def resident_bytes(field, process="self"):
    """Memory of a process.

    Args:
        field: `"VmRSS"` for its present memory, `"VmHWM"` for its peak.
        process: Its number.

    Returns:
        Bytes; 0 if the system does not report it or the process has ended.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


class PeakMemory:
    """Peak resident memory since the last call."""

    def __init__(self):
        self.start = resident_bytes("VmRSS")
        self.growth()

    def growth(self):
        """Bytes of the peak above the memory at the start, or None if it cannot be reset."""
        peak = resident_bytes("VmHWM")
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return None
        return peak - self.start


@contextlib.contextmanager
def peak_of_children(interval=0.2):
    """A context that watches this process' children.

    Yields:
        List whose only element is the highest peak of any child so far, in bytes.
    """
    peak, ended = [0], threading.Event()
    own_command = _command("self")

    def watch():
        while not ended.wait(interval):
            for child in _children():
                if _command(child) != own_command:  # else it is a fork that has yet to start
                    peak[0] = max(peak[0], resident_bytes("VmHWM", child))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _children():
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from path.read_text().split()


def _command(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
