"""Measurements, and the tables made of them."""

import importlib.metadata
import importlib.util
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

# Share of the time in which a system used the processor though it was another's turn, from which
# on its row says so.
BUSY_SHARE = 0.01


@dataclass
class Measurement:
    """What one system did in one case.

    Attributes:
        name: The system.
        precision: What it computes in.
        work: Number of units, such as sentences, of a run.
        first_seconds: Time of the first run.
        translations: List of strings.
        note: What it says about itself.
        seconds: Time of every later run.
        idle_cpu_seconds: CPU time used while others ran.
    """

    name: str
    precision: str
    work: int
    first_seconds: float
    translations: list[str]
    note: str = ""
    seconds: list[float] = field(default_factory=list)
    idle_cpu_seconds: float = 0.0

    @property
    def speed(self):
        """Median units per second."""
        return self.work / median(self.seconds)

    def ratios(self, reference):
        """How many times faster than another, round by round."""
        return [
            theirs / ours for ours, theirs in zip(self.seconds, reference.seconds, strict=False)
        ]

    def agreement(self, other):
        """Share of translations that are equal to another's."""
        pairs = zip(self.translations, other.translations, strict=True)
        return sum(ours == theirs for ours, theirs in pairs) / len(self.translations)

    def as_dict(self):
        return {
            "name": self.name,
            "precision": self.precision,
            "speed": self.speed,
            "seconds": self.seconds,
            "first_seconds": self.first_seconds,
            "note": self.note,
            "translations": self.translations,
        }


def speed_table(measurements, reference, unit):
    """A Markdown table of medians and ratios.

    Args:
        measurements: List of `Measurement`.
        reference: The one that others are compared with.
        unit: Of speed.
    """
    rows = []
    for measurement in measurements:
        ratios = measurement.ratios(reference)
        ratio = f"{median(ratios):.2f}"
        if len(ratios) > 1 and measurement is not reference:
            ratio += f" ({min(ratios):.2f}–{max(ratios):.2f})"
        rows.append(
            [
                f"`{measurement.name}`",
                measurement.precision,
                _digits(measurement.speed),
                ratio,
                f"{measurement.agreement(reference):.1%}",
                f"{measurement.first_seconds:.1f}",
                "; ".join(filter(None, [measurement.note, _busy(measurement, measurements)])),
            ]
        )
    heads = [
        "system",
        "precision",
        unit,
        f"× `{reference.name}`",
        "same translations",
        "first run, s",
        "notes",
    ]
    return markdown_table(heads, rows, "llrrrrl")


def _busy(measurement, measurements):
    others = sum(sum(m.seconds) for m in measurements if m is not measurement)
    if measurement.idle_cpu_seconds <= BUSY_SHARE * others:
        return ""
    return f"used {measurement.idle_cpu_seconds:.2f} s of CPU while idle"


def agreement_table(measurements):
    """A Markdown table of the share of equal translations of every two systems."""
    heads = ["", *(str(i + 1) for i in range(len(measurements)))]
    rows = [
        [f"{i + 1} `{row.name}`", *(f"{row.agreement(column):.0%}" for column in measurements)]
        for i, row in enumerate(measurements)
    ]
    return markdown_table(heads, rows, "l" + "r" * len(measurements))


def differences(reference, measurement, sources):
    """Source, reference's and system's translation wherever they differ."""
    rows = zip(sources, reference.translations, measurement.translations, strict=True)
    return [row for row in rows if row[1] != row[2]]


def markdown_table(heads, rows, alignment):
    """A Markdown table.

    Args:
        heads: List of strings.
        rows: List of lists of strings.
        alignment: An `l` or `r` for every column.
    """
    rules = [":---" if letter == "l" else "---:" for letter in alignment]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))


def machine():
    """Processor, and versions of what is measured."""
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


def _digits(number):
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}"
