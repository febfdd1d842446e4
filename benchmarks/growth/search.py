"""Growth of our decoding time, memory and number of compilations.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.growth.search --backend tensorflow --output FOLDER
    python -m benchmarks.growth.search --backend jax --architecture transformer_tiny --output FOLDER

Writes `scaling.png`, `scaling.json` and `scaling.md`. Random weights translate random words into
translations of a fixed length. One of batch size, beams, source length and output length varies
while the others stay at 16 sentences, 4 beams, 32 and 32 tokens. Times are for a whole batch, the
medians of runs after a first one that is not counted. Growth of peak memory is relative to one
sentence; on JAX it includes the compiler's memory for the new shape.
"""

import json
import os
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

import click
from tqdm import tqdm

from benchmarks.growth.counts import cache_bytes, count_compilations, texts_of_many_lengths
from benchmarks.memory import MEGABYTE, PeakMemory
from benchmarks.random_models import build_random_model, random_texts
from benchmarks.report import machine, markdown_table

USUAL = {"batch": 16, "beams": 4, "source": 32, "output": 32}
GRID = {
    "batch": (1, 4, 16, 64, 256),
    "beams": (1, 2, 4, 8, 12),
    "source": (8, 16, 32, 64, 128, 256),
    "output": (8, 16, 32, 64, 128),
}
LABELS = {
    "batch": "batch size (sentences)",
    "beams": "number of beams",
    "source": "source length (tokens)",
    "output": "output length (tokens)",
}
REPEATS = 3
VOCABULARY_SIZES = {"transformer_tiny": 10_000, "transformer_base": 32_000}


def measure_architecture(name, grid, bar):
    """Times of one architecture along every axis of the grid.

    Yields:
        Dictionaries of the point, `architecture`, `axis`, `seconds` and bytes.
    """
    vocabulary_size = VOCABULARY_SIZES[name]
    model = build_random_model(name, vocabulary_size)
    times = {}
    for axis, values in grid.items():
        memory = None
        for value in values:
            point = {**USUAL, axis: value}
            key = tuple(point.values())
            bar.set_postfix_str(f"{name}, {axis} {value}")
            if key not in times:
                times[key] = _time(model, point, vocabulary_size)
            record = {"architecture": name, "axis": axis, **point, "seconds": times[key]}
            record["cache_bytes"] = point["batch"] * cache_bytes(
                model.backbone, point["beams"], point["source"], point["output"]
            )
            if axis == "batch":  # the first axis, on which each value needs more than the last
                if memory is None:
                    memory = PeakMemory()
                else:
                    record["growth_bytes"] = memory.growth()
            bar.update()
            yield record


def _time(model, point, vocabulary_size):
    texts = random_texts(point["batch"], point["source"] - 1, vocabulary_size)
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        model.translate(
            texts,
            num_beams=point["beams"],
            length_penalty=0.0,
            min_length=point["output"],
            max_length=point["output"],
            batch_size=point["batch"],
            engine="keras",
        )
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:])


def draw(records, title, path):
    """Four panels, seconds along every axis, a curve for every architecture."""
    from matplotlib.figure import Figure

    from aiayn_keras.plotting import COLORS

    curves = defaultdict(lambda: ([], []))
    for record in records:
        x, y = curves[record["axis"], record["architecture"]]
        x.append(record[record["axis"]])
        y.append(record["seconds"])
    names = list(dict.fromkeys(architecture for _, architecture in curves))
    figure = Figure(figsize=(9.5, 7), layout="constrained")
    panels = figure.subplots(2, 2, sharey=True)
    for axes, axis in zip(panels.flat, LABELS, strict=True):
        for name, color, marker in zip(names, COLORS, "osD^v<", strict=False):
            x, y = curves[axis, name]
            axes.plot(x, y, color=color, marker=marker, label=name.replace("_", " "))
        _set_scales(axes, x)
        axes.set_xlabel(LABELS[axis])
        others = [f"{LABELS[one].split(' (')[0]} {USUAL[one]}" for one in LABELS if one != axis]
        axes.set_title(", ".join(others), fontsize=9, color="#555555")
    for axes in panels[:, 0]:
        axes.set_ylabel("seconds for a batch")
    panels[0, 0].legend(frameon=False, loc="upper left")
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)


def _set_scales(axes, ticks):
    """Logarithmic scales with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ticks)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        axis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def times_table(records):
    """A Markdown table of all points."""
    rows = [
        [
            record["architecture"],
            record["axis"],
            *(str(record[axis]) for axis in LABELS),
            f"{record['seconds']:.3g}",
            f"{record['batch'] * record['output'] / record['seconds']:.0f}",
            _megabytes(record["cache_bytes"] / record["batch"]),
            _megabytes((record.get("growth_bytes") or 0) / record["batch"]),
        ]
        for record in records
    ]
    heads = ["architecture", "varied", *LABELS.values(), "time, s", "target tokens/s"]
    heads += ["cache, MB a sentence", "growth of peak memory, MB a sentence"]
    return markdown_table(heads, rows)


def _megabytes(number):
    return f"{number / MEGABYTE:.2f}" if number else ""


def compilations(backend):
    """Counts compilations on the smallest model, with texts of 1 to 100 words."""
    model = build_random_model(
        "transformer_tiny", 64, num_layers=1, hidden_dim=16, intermediate_dim=16
    )
    counts = count_compilations(model, texts_of_many_lengths(96, 100), batch_sizes=(1, 5, 64))
    text = (
        f"Translating 96 texts of 1 to 100 words in {counts['calls']} calls of 1, 5 and 64 texts, "
        f"{backend} traced the search {counts['traces']} times, for {counts['shapes']} shapes."
    )
    if backend == "tensorflow":
        text += " A shape of TensorFlow's may leave batch and length open."
    elif backend == "torch":
        text += " PyTorch compiles nothing: it runs the search once for every batch."
    return counts, text


@click.command()
@click.option("--backend", type=click.Choice(["tensorflow", "jax", "torch"]), default="tensorflow")
@click.option(
    "--architecture",
    "architectures",
    type=click.Choice(list(VOCABULARY_SIZES)),
    multiple=True,
    default=list(VOCABULARY_SIZES),
)
@click.option("--largest", type=click.IntRange(min=1), default=256, help="Leave out larger values.")
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder.")
def main(backend, architectures, largest, output):
    """Measure how decoding grows with batch, beams and lengths."""
    os.environ["KERAS_BACKEND"] = backend
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    grid = {axis: [value for value in values if value <= largest] for axis, values in GRID.items()}
    num_points = len(architectures) * sum(map(len, grid.values()))
    records = []
    with tqdm(total=num_points, desc="points", disable=None) as bar:
        for name in architectures:
            records += measure_architecture(name, grid, bar)
    counts, sentence = compilations(backend)

    output.mkdir(parents=True, exist_ok=True)
    results = {
        "machine": machine(),
        "backend": backend,
        "points": records,
        "compilations": counts,
    }
    (output / "scaling.json").write_text(json.dumps(results, indent=1))
    report = f"{machine()}; backend {backend}\n\n{times_table(records)}\n\n{sentence}\n"
    (output / "scaling.md").write_text(report)
    draw(records, f"Beam search on {backend}, float32", output / "scaling.png")
    click.echo(report)
    click.echo(f"Written: {output}/scaling.png, scaling.json, scaling.md.")
    if backend != "torch" and counts["traces"] > counts["shapes"]:
        raise click.ClickException("The search was compiled more than once for a shape.")


if __name__ == "__main__":
    main()
