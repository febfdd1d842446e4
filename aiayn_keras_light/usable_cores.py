"""The number of cores that this process may use.

It stands alone, since the search, trainings, jobs and servers all need it, some without Keras.
"""

import functools
import math
import os
from pathlib import Path

_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def usable_cores():
    """Returns the number of cores that this process may use, at least 1.

    It is limited by the affinity of the process and by the quota of a container, such as that of
    `docker run --cpus 2`, which the machine's number of cores does not reflect. Quotas are read
    as in https://github.com/joblib/loky/blob/3.5.5/loky/backend/context.py (`_cpu_count_cgroup`).
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota, period = _quota()
    return max(1, min(allowed or 1, math.ceil(quota / period) if quota > 0 < period else math.inf))


@functools.cache  # each search of a sentence asks for it
def _quota():
    """Microseconds of processor time per period, and of the period; both are 0 without a limit."""
    try:
        if (_CONTROL_GROUPS / "cpu.max").exists():
            quota, period = (_CONTROL_GROUPS / "cpu.max").read_text().split()
        else:
            quota, period = (
                (_CONTROL_GROUPS / "cpu" / name).read_text()
                for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            )
        return (0, 0) if quota == "max" else (int(quota), int(period))
    except (OSError, ValueError):
        return 0, 0
