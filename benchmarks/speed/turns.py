"""Systems run in turn, and the tables of their results."""

import time
from statistics import median

from tqdm import tqdm

from benchmarks.processes import WorkerError
from benchmarks.report import digits, markdown_table
from benchmarks.speed.systems import name_in

# After this long, threads that wait actively for more work have gone to sleep.
REST_SECONDS = 0.3
# A round in which a system takes more than this many times its median is left out for all systems,
# and the list of what is left out says so: another program needed the machine.
MAX_SLOWNESS = 3


class Measurement:
    """One system's runs.

    Args:
        name: Name of the system.
        worker: A `benchmarks.processes.Worker` that keeps an object with a method `run`, which
            returns a dictionary with `seconds` and other facts.
        work: Number of units, such as sentences, per run.
        **facts: Other facts about it.

    Attributes:
        first_seconds: Time of the first run, in which shapes are compiled.
        seconds: Time of every later run.
        facts: Dictionary of facts about it, with the answer of the last run.
    """

    def __init__(self, name, worker, work, **facts):
        self.name, self.worker, self.work, self.facts = name, worker, work, facts
        self.seconds = []
        self.worker.idle_cpu_seconds = 0.0
        self.first_seconds = self._run()

    def run(self):
        """Runs it once more."""
        self.seconds.append(self._run())

    def _run(self):
        time.sleep(REST_SECONDS)
        answer = self.worker.call("run")
        seconds = answer.pop("seconds")
        self.facts |= answer
        return seconds

    @property
    def speed(self):
        """Median units per second."""
        return self.work / median(self.seconds)

    def ratios(self, reference):
        """The speed relative to another, round by round."""
        rounds = zip(self.seconds, reference.seconds, strict=False)
        return [(self.work / ours) / (reference.work / theirs) for ours, theirs in rounds]

    def as_dict(self):
        return {
            "name": self.name,
            "speed": self.speed,
            "seconds": self.seconds,
            "first_seconds": self.first_seconds,
            "peak_bytes": self.worker.peak_bytes,
            **self.facts,
        }


def take_turns(names, start, rounds, title):
    """Starts systems, then runs them in turn, every other round in reverse order.

    Args:
        names: List of names.
        start: Function from a name to a `Measurement`.
        rounds: Number of rounds after the first run.
        title: Title of the progress bar.

    Returns:
        List of `Measurement`, and a dictionary of reasons for the systems and rounds left out.
    """
    measurements, left_out = {}, {}
    with tqdm(total=len(names) * (rounds + 1), desc=title, disable=None) as bar:
        for name in names:
            bar.set_postfix_str(f"{name}, first run")
            try:
                measurements[name] = start(name)
            except WorkerError as error:
                left_out[name] = str(error)
            bar.update()
        for number in range(rounds):
            for name in list(measurements)[:: -1 if number % 2 else 1]:
                bar.set_postfix_str(name)
                try:
                    measurements[name].run()
                except WorkerError as error:
                    left_out[name] = str(error)
                    del measurements[name]
                bar.update()
    left_out |= _drop_slow_rounds(measurements.values())
    return list(measurements.values()), left_out


def _drop_slow_rounds(measurements):
    """Drops the times of rounds in which a system was far slower than usual; returns reasons."""
    slow = {}
    for measurement in measurements:
        usual = median(measurement.seconds)
        for number, seconds in enumerate(measurement.seconds):
            if seconds > MAX_SLOWNESS * usual:
                slow[number] = f"{measurement.name} took {seconds / usual:.1f} times its median"
    for measurement in measurements:
        kept = [each for number, each in enumerate(measurement.seconds) if number not in slow]
        measurement.seconds = kept
    return {f"round {number + 1}": reason for number, reason in sorted(slow.items())}


def reference_of(measurements, baseline):
    """The measurement with ratio 1: the baseline, or the first if it is missing."""
    return next((m for m in measurements if m.name == baseline), measurements[0])


def speed_table(measurements, reference, unit, columns, checkout=None):
    """A Markdown table of medians and ratios.

    Args:
        measurements: List of `Measurement`.
        reference: The one with which the others are compared.
        unit: Unit of speed.
        columns: Dictionary of heads, and functions from a `Measurement` to a cell.
        checkout: The folder given by `--against`; ratios to its systems form an extra column.
    """
    names = {m.name: m for m in measurements}
    cells = {
        "system": lambda m: f"`{m.name}`",
        unit: lambda m: digits(m.speed),
        f"× `{reference.name}`": lambda m: _ratio(m, reference),
    }
    if checkout is not None:
        cells[f"× `@{checkout.name}`"] = lambda m: _ratio(m, names.get(name_in(checkout, m.name)))
    cells |= columns
    return markdown_table(list(cells), [[cell(m) for cell in cells.values()] for m in measurements])


def _ratio(measurement, reference):
    """Median of the ratios of the rounds, with minimum and maximum."""
    if reference is None:
        return ""
    ratios = measurement.ratios(reference)
    text = f"{median(ratios):.2f}"
    if len(ratios) > 1 and measurement is not reference:
        text += f" ({min(ratios):.2f}–{max(ratios):.2f})"
    return text


def left_out_list(left_out):
    """A Markdown list of the systems and rounds left out, and the reasons."""
    return "\n".join(f"- `{name}` is left out: {reason}." for name, reason in left_out.items())
