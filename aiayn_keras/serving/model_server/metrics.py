"""Counters and histograms under TensorFlow Serving's names, as a page for Prometheus.

The library `prometheus_client` would rename the counters (`…_total`), and a kit's alert rules and
dashboard would not find them.
"""

import bisect
import threading
from collections import defaultdict

LOADS = ":tensorflow:cc:saved_model:load_attempt_count"
LOAD_MICROSECONDS = ":tensorflow:cc:saved_model:load_latency"
REQUESTS = ":tensorflow:serving:request_count"
REQUEST_MICROSECONDS = ":tensorflow:serving:request_latency"
RUN_MICROSECONDS = ":tensorflow:serving:runtime_latency"
QUEUE_MICROSECONDS = ":tensorflow:serving:batching_session:queuing_latency"

_KINDS = {
    LOADS: "counter",
    LOAD_MICROSECONDS: "counter",
    QUEUE_MICROSECONDS: "histogram",
    REQUESTS: "counter",
    REQUEST_MICROSECONDS: "histogram",
    RUN_MICROSECONDS: "histogram",
}
_LIMITS = tuple(10 * 1.8**power for power in range(33))
"""Upper limits of the buckets in microseconds, up to about twenty minutes."""


class _Histogram:
    def __init__(self):
        self.counts = [0] * (len(_LIMITS) + 1)
        self.sum = 0.0

    def add(self, value):
        self.counts[bisect.bisect_left(_LIMITS, value)] += 1
        self.sum += value

    def lines(self, name, labels):
        total = 0
        for count, limit in zip(self.counts, (*_LIMITS, None), strict=True):
            total += count
            limit = "+Inf" if limit is None else f"{limit:.6g}"
            yield f'{name}_bucket{{{labels},le="{limit}"}} {total}'
        yield f"{name}_sum{{{labels}}} {self.sum:.6f}"
        yield f"{name}_count{{{labels}}} {total}"


class Metrics:
    """The numbers of one server; threads may share it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._values = {
            name: defaultdict(int if kind == "counter" else _Histogram)
            for name, kind in _KINDS.items()
        }

    def count(self, name, by=1, **labels):
        """Increases a counter."""
        with self._lock:
            self._values[name][_label_text(labels)] += by

    def observe(self, name, seconds, **labels):
        """Adds a duration to a histogram of microseconds."""
        with self._lock:
            self._values[name][_label_text(labels)].add(seconds * 1e6)

    def page(self):
        """Writes all numbers in Prometheus' text format."""
        lines = []
        with self._lock:
            for name, values in self._values.items():
                lines.append(f"# TYPE {name} {_KINDS[name]}")
                for labels, value in sorted(values.items()):
                    if isinstance(value, _Histogram):
                        lines += value.lines(name, labels)
                    else:
                        lines.append(f"{name}{{{labels}}} {value}")
        return "\n".join(lines) + "\n"


def _label_text(labels):
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value):
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
