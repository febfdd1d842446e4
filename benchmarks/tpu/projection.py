"""The projection for one configuration, compiled, counted and stored as a file."""

import json
import time
from collections import Counter, defaultdict

from benchmarks.tpu.chips import read_topology
from benchmarks.tpu.hlo import read_program
from benchmarks.tpu.programs import build_model, lower
from benchmarks.tpu.roofline import Cost, costs_of, duration

MAX_COSTS = 10
REFUSALS = ("RESOURCE_EXHAUSTED", "UNIMPLEMENTED", "INVALID_ARGUMENT")


def project(configuration, folder, keep_text=False):
    """Returns the results for a configuration; those in the folder are not computed again.

    Args:
        configuration: A `Configuration`.
        folder: `pathlib.Path` of a folder for the results.
        keep_text: Whether the compiled program is written there as well.

    Returns:
        Dictionary of the configuration's fields and of results; if it does not compile, with
        `refusal`, the compiler's message, instead of results.
    """
    path = folder / f"{configuration.name}.json"
    if path.exists():
        return json.loads(path.read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    model, scope = build_model(configuration)
    results = configuration._asdict()
    results["parameters"] = model.count_params()
    if configuration.program == "train":
        results["model_flops"] = configuration.chip_flops(model.backbone)
    start = time.perf_counter()
    try:
        with scope():
            compiled = lower(configuration, model).compile()
    except Exception as error:
        if not is_refusal(error):
            raise
        results["refusal"] = str(error).strip().partition("\n")[0][:300]
    else:
        text = compiled.as_text()
        results["compile_seconds"] = time.perf_counter() - start
        results["memory"] = memory_of(compiled.memory_analysis())
        if keep_text:
            path.with_suffix(".hlo").write_text(text, encoding="utf-8")
        results |= count(text, configuration)
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


def is_refusal(error):
    """True if the compiler says that the chips cannot run the program, for lack of memory say."""
    is_xla = type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError")
    return is_xla and str(error).startswith(REFUSALS)


def memory_of(analysis):
    """Bytes on a chip: arguments, temporary arrays, and the peak including the program itself."""
    arguments, temporary = analysis.argument_size_in_bytes, analysis.temp_size_in_bytes
    results = analysis.output_size_in_bytes - analysis.alias_size_in_bytes
    peak = arguments + temporary + results + analysis.generated_code_size_in_bytes
    return {"arguments": arguments, "temporary": temporary, "peak": peak}


def count(text, configuration):
    """Counts what a compiled program does.

    Args:
        text: The text of the program.
        configuration: The `Configuration`.

    Returns:
        Dictionary of its FLOPs and bytes on one chip, collectives by kind, calls to the host,
        seconds by the roofline and by the compiler, and the largest costs by name.
    """
    topology = read_topology(configuration.topology)
    costs = costs_of(read_program(text), topology.num_chips)
    collectives = defaultdict(lambda: {"count": 0, "bytes": 0.0})
    for cost in costs:
        for one in cost.collectives:
            collectives[one.kind]["count"] += cost.rounds
            collectives[one.kind]["bytes"] += cost.rounds * one.num_bytes
    return {
        "matrix_flops": sum(cost.rounds * cost.flops for cost in costs),
        "memory_bytes": sum(cost.rounds * cost.num_bytes for cost in costs),
        "collectives": dict(collectives),
        "host_callbacks": count_host_callbacks(text),
        "roofline_seconds": duration(costs, topology, Cost.seconds),
        "expected_seconds": duration(costs, topology, Cost.expected_seconds),
        "roofline_costs": _largest(costs, lambda cost: cost.seconds(topology)),
        "expected_costs": _largest(costs, lambda cost: cost.expected_seconds(topology)),
    }


def count_host_callbacks(text):
    """Instructions with which a program waits for the computer that holds the chip."""
    marks = ("callback", " infeed(", " outfeed(", "is_host_transfer=true")
    return sum(any(mark in line for mark in marks) for line in text.splitlines() if " = " in line)


def _largest(costs, seconds):
    """The largest costs by name, without what runs beside other work."""
    totals = Counter()
    for cost in costs:
        if not cost.starts:
            totals[cost.label] += seconds(cost)
    return totals.most_common(MAX_COSTS)


def largest_rows(configuration, folder):
    """The maximum rows per copy of the model that fit, to an eighth; needs many compilations.

    Args:
        configuration: A `Configuration` that fits.
        folder: See `project`.
    """

    def fits(rows):
        return "refusal" not in project(configuration._replace(rows=rows), folder)

    return bisect_largest(fits, configuration.rows)


def bisect_largest(fits, start):
    """The maximum number that fits, to an eighth of it, starting from one that does.

    Args:
        fits: Function of a positive integer that is true up to a number, and false above.
        start: An integer that fits.
    """
    most, least_too_many = start, None
    while least_too_many is None or least_too_many - most > max(1, most // 8):
        tried = 2 * most if least_too_many is None else (most + least_too_many) // 2
        if fits(tried):
            most = tried
        else:
            least_too_many = tried
    return most
