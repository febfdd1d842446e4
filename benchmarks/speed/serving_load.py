"""Latency and throughput of a served model, with several clients at once.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.speed.serving_load --model DIR --source SENTENCES --output FOLDER

Writes `load.md`, `load.json` and `load.png`. Every system runs in its own process, in turn for
each point, and translates the same sentences with beam 4 and no length penalty: through REST and
gRPC from the server of `aiayn-keras serve --api`, with and without batches of requests; by calling
the SavedModel, `model.translate`, and CTranslate2 in process. Clients are threads, each with one
request under way. `--kit` serves existing kits, such as an earlier one and a new one.
"""

import contextlib
import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from benchmarks.processes import Worker, WorkerError
from benchmarks.report import machine, markdown_table
from benchmarks.speed.decode_systems import NUM_BEAMS, DecodeTask
from benchmarks.speed.serving_systems import LOADERS, PERCENTILES, SERVED

BATCH_SIZES = (1, 4, 16, 64)
NUM_CLIENTS = (1, 2, 4, 8)


def make_artifacts(model, folder):
    """Exports the model as a kit and for CTranslate2."""
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(model)
    model.export(f"{folder}/kit", num_beams=NUM_BEAMS, length_penalty=0.0)
    model.export(f"{folder}/ctranslate2", format="ctranslate2")


def list_systems(systems, kits, output):
    """Pairs of a system and its folder of artifacts, by the name in the table."""
    own = {name: (name, output / "artifacts") for name in systems}
    if not kits:
        return own
    found = {name: value for name, value in own.items() if name not in SERVED}
    for kit_name, kit in kits:
        folder = output / f"kit-{kit_name}"
        folder.mkdir(exist_ok=True)
        if not (folder / "kit").is_symlink():
            (folder / "kit").symlink_to(Path(kit).resolve())
        found |= {f"{name}, {kit_name}": (name, folder) for name in systems if name in SERVED}
    return found


def measure_points(workers, batch_sizes, clients, seconds):
    """Yields rows point by point, the systems in turn, so that disturbances affect all alike."""
    for batch_size, num_clients in itertools.product(batch_sizes, clients):
        point = {"batch_size": batch_size, "num_clients": num_clients}
        for worker in workers.values():
            yield worker.call("measure", **point, seconds=seconds)


def load_table(rows):
    """A Markdown table."""
    heads = ["system", "batch", "clients", "p50 ms", "p95 ms", "p99 ms", "sentences/s", "requests"]
    cells = [
        [
            row["system"],
            str(row["batch"]),
            str(row["clients"]),
            *(f"{row[f'p{p}']:.0f}" for p in PERCENTILES),
            f"{row['sentences_per_second']:.0f}",
            str(row["requests"]),
        ]
        for row in rows
    ]
    return markdown_table(heads, cells)


def plot_load(rows):
    """Median latency and throughput over batch sizes, for the fewest and the most clients."""
    from matplotlib.figure import Figure

    all_clients = sorted({row["clients"] for row in rows})
    batch_sizes = sorted({row["batch"] for row in rows})
    systems = dict.fromkeys(row["system"] for row in rows)
    figure = Figure(figsize=(10, 7), layout="constrained")
    for column, num_clients in enumerate((all_clients[0], all_clients[-1])):
        latency, throughput = (figure.add_subplot(2, 2, 1 + column + 2 * i) for i in range(2))
        for system in systems:
            own = [r for r in rows if (r["system"], r["clients"]) == (system, num_clients)]
            batches = [row["batch"] for row in own]
            (line,) = latency.plot(batches, [row["p50"] for row in own], "o-", label=system)
            latency.plot(batches, [row["p95"] for row in own], ":", color=line.get_color())
            speeds = [row["sentences_per_second"] for row in own]
            throughput.plot(batches, speeds, "o-", label=system)
        clients = "1 client" if num_clients == 1 else f"{num_clients} clients"
        latency.set(title=clients, ylabel="request, ms (dotted: p95)", yscale="log")
        throughput.set(xlabel="texts in a request", ylabel="sentences/s", ylim=(0, None))
        for axes in (latency, throughput):
            axes.set_xscale("log", base=2)
            axes.set_xticks(batch_sizes, map(str, batch_sizes))
            axes.grid(alpha=0.3)
        latency.legend()
    return figure


@click.command()
@click.option("--model", type=click.Path(exists=True, file_okay=False), required=True)
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder.")
@click.option("--seconds", default=5.0, show_default=True, help="For each point.")
@click.option("--systems", multiple=True, type=click.Choice(list(LOADERS)), default=list(LOADERS))
@click.option("--kit", "kits", nargs=2, multiple=True, help="Name and folder of a kit to serve.")
@click.option("--batch-size", "batch_sizes", type=int, multiple=True, default=BATCH_SIZES)
@click.option("--clients", type=int, multiple=True, default=NUM_CLIENTS)
def main(model, source, output, seconds, systems, kits, batch_sizes, clients):
    """Measure latency and throughput of a served model."""
    artifacts = output / "artifacts"
    texts = source.read_text(encoding="utf-8").splitlines()
    task = DecodeTask(model, "", "float32", texts, batch_size=max(batch_sizes))
    rows = []
    try:
        with contextlib.ExitStack() as stack:

            def start(log):
                return stack.enter_context(Worker(output / log, "tensorflow"))

            if not artifacts.exists():
                artifacts.mkdir(parents=True)
                maker = "benchmarks.speed.serving_load:make_artifacts"
                start("export.log").call(maker, model=model, folder=str(artifacts))
            workers = {}
            for name, (system, folder) in list_systems(systems, kits, output).items():
                workers[name] = start(f"{name}.log")
                client = "benchmarks.speed.serving_systems:LoadedClient"
                own = asdict(replace(task, artifact=str(folder)))
                workers[name].keep(client, system=system, name=name, task=own)
            for row in measure_points(workers, batch_sizes, clients, seconds):
                rows.append(row)
                click.echo(json.dumps(row), err=True)
    except WorkerError as error:
        raise click.ClickException(str(error)) from None
    rows.sort(key=lambda row: (row["batch"], row["clients"]))
    (output / "load.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (output / "load.md").write_text(f"{machine()}\n\n{load_table(rows)}\n", encoding="utf-8")
    plot_load(rows).savefig(output / "load.png", dpi=120)
    click.echo(load_table(rows))


if __name__ == "__main__":
    main()
