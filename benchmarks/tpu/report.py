"""The tables of projections."""

from benchmarks.report import digits, markdown_table
from benchmarks.tpu.chips import read_topology
from benchmarks.tpu.programs import Configuration

PAPER_STEPS = {"base": 100_000, "big": 300_000}
PAPER_TOKENS = 25_000
NOTICE = (
    "A projection from compiled programs and published figures of chips, never run on a TPU or a "
    "GPU. "
    "Roofline: every operation takes the longer of its matrix products at the chip's peak and its "
    "bytes at the bandwidth of its memory; exchanges are added; only copies and exchanges that the "
    "program itself starts early run beside others. Compiler: the same with the cycles that XLA's "
    "own cost model for TPUs expects of an operation, vector work included; it has none for GPUs."
)


def training_table(records):
    """A Markdown table of training steps, one row per configuration."""
    heads = [
        "model, chips", "tokens a chip", "MFU, roofline", "MFU, compiler", "target tokens/s",
        "hours for the paper's steps", "useful FLOPs", "HBM, GB: state, temporary, peak",
        "GB moved", "collectives, MB", "largest costs by the compiler",
    ]  # fmt: skip
    return markdown_table(heads, [_training_row(one) for one in records], "l" + "r" * 9 + "l")


def _training_row(record):
    configuration = _configuration(record)
    per_chip = configuration.target_tokens / read_topology(configuration.topology).num_chips
    head = [_title(configuration), f"{per_chip:,.0f}"]
    if "refusal" in record:
        return [*head, *[""] * 8, f"does not compile: {record['refusal']}"]
    roofline, expected = record["roofline_seconds"], record["expected_seconds"]
    return [
        *head,
        f"{mfu(record, roofline):.0%}",
        f"{mfu(record, expected):.0%}",
        _between(*(configuration.target_tokens / time for time in (expected, roofline))),
        _between(*(paper_hours(configuration, time) for time in (roofline, expected))),
        f"{record['model_flops'] / record['matrix_flops']:.0%}",
        _memory(record),
        f"{record['memory_bytes'] / 1e9:.1f}",
        _collectives(record),
        _costs(record),
    ]


def search_table(records):
    """A Markdown table of searches, one row per configuration."""
    heads = [
        "model, chips", "sentences a chip", "source, target", "beams",
        "µs to encode and make a step, roofline",
        "the same, compiler", "HBM, GB: weights, temporary, peak", "calls to the host",
        "largest costs by the compiler",
    ]  # fmt: skip
    return markdown_table(heads, [_search_row(one) for one in records], "l" + "r" * 7 + "l")


def _search_row(record):
    configuration = _configuration(record)
    lengths = f"{configuration.source_length}, {configuration.target_length}"
    head = [_title(configuration), str(configuration.rows), lengths, str(configuration.num_beams)]
    if "refusal" in record:
        return [*head, *[""] * 4, f"does not compile: {record['refusal']}"]
    return [
        *head,
        *(f"{record[f'{kind}_seconds'] * 1e6:,.0f}" for kind in ("roofline", "expected")),
        _memory(record),
        str(record["host_callbacks"]),
        _costs(record),
    ]


def mfu(record, seconds):
    """Share of the chip's peak that the model's own operations use in this time."""
    return record["model_flops"] / seconds / read_topology(record["topology"]).chip.flops


def paper_hours(configuration, seconds):
    """Hours for the number of target tokens in the paper's training, not counting padding."""
    tokens = PAPER_STEPS.get(configuration.preset, PAPER_STEPS["base"]) * PAPER_TOKENS
    return tokens / configuration.target_tokens * seconds / 3600


def _configuration(record):
    return Configuration(**{name: record[name] for name in Configuration._fields})


def _title(configuration):
    title = f"{configuration.preset}, {configuration.topology}"
    if configuration.num_layers:
        title += f", {configuration.num_layers} layers"
    if configuration.model_parallel > 1:
        title += f", {configuration.model_parallel} chips a model"
    return title


def _between(low, high):
    return f"{digits(low)}–{digits(high)}"


def _memory(record):
    return ", ".join(
        f"{record['memory'][name] / 1e9:.1f}" for name in ("arguments", "temporary", "peak")
    )


def _collectives(record):
    kinds = sorted(record["collectives"].items())
    return "; ".join(f"{one['count']} {kind} {one['bytes'] / 1e6:.0f}" for kind, one in kinds)


def _costs(record, number=3):
    whole = record["expected_seconds"]
    return "; ".join(
        f"{name} {seconds / whole:.0%}" for name, seconds in record["expected_costs"][:number]
    )
