"""Latency and throughput of a served model, with several clients at once.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.serving_load --model DIR --source SENTENCES --output FOLDER

Writes `load.md`, `load.json` and `load.png`. Every system runs in a process of its own, in turn for
each point, and translates the same sentences with beam 4 and no length penalty: through REST and
gRPC from the loopback server of the tests (a stand-in for TensorFlow Serving, which makes no
batches); by calling the SavedModel, `model.translate`, and CTranslate2 in process. Clients are
threads, each with one request under way.
"""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import numpy as np

from benchmarks.report import machine, markdown_table
from benchmarks.tasks import NUM_BEAMS, Task

BATCH_SIZES = (1, 4, 16, 64)
NUM_CLIENTS = (1, 2, 4, 8)
PERCENTILES = (50, 95, 99)


def measure(translate, texts, batch_size, num_clients, seconds):
    """Lets clients ask for some time.

    Args:
        translate: Function from a list of strings to their translations, called by all clients.
        texts: List of strings, taken in turn.
        batch_size: Texts of a request.
        num_clients: Number of threads.
        seconds: How long requests are begun.

    Returns:
        Dictionary of the seconds of each request, and of all.
    """
    turns, latencies = itertools.count(), []
    lock = threading.Lock()
    errors = []

    def ask():
        try:
            while time.perf_counter() < end:
                with lock:
                    start = next(turns) * batch_size
                batch = [texts[i % len(texts)] for i in range(start, start + batch_size)]
                begun = time.perf_counter()
                translate(batch)
                latencies.append(time.perf_counter() - begun)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(num_clients)]
    begin = time.perf_counter()
    end = begin + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return {"latencies": latencies, "seconds": time.perf_counter() - begin}


def summarize(system, batch_size, num_clients, measured):
    """Percentiles in milliseconds, and sentences per second."""
    latencies = measured["latencies"]
    return {
        "system": system,
        "batch": batch_size,
        "clients": num_clients,
        "requests": len(latencies),
        **{f"p{p}": 1e3 * float(np.percentile(latencies, p)) for p in PERCENTILES},
        "sentences_per_second": len(latencies) * batch_size / measured["seconds"],
    }


def load_translate(task):
    from benchmarks.ours import load_ours

    return load_ours(task).translate


def load_saved_model(task):
    from aiayn_keras.backend import use_one_core_per_batch
    from benchmarks.hardening import load

    use_one_core_per_batch()  # as the kit tells TensorFlow Serving to
    predict = load(task.artifact + "/saved_model/kit/1")
    return lambda texts: predict("serving_default", texts)


def load_ctranslate2(task):
    import ctranslate2
    import sentencepiece

    folder = task.artifact + "/ctranslate2"
    pieces = sentencepiece.SentencePieceProcessor(f"{folder}/sentencepiece.model")
    translator = ctranslate2.Translator(folder, inter_threads=os.cpu_count(), intra_threads=1)

    def translate(texts):
        sources = pieces.encode(texts, out_type=str)
        results = translator.translate_batch(
            sources,
            beam_size=NUM_BEAMS,
            length_penalty=0.0,
            min_decoding_length=0,
            max_decoding_length=max(map(len, sources)) + 50,
            disable_unk=True,
        )
        return [pieces.decode(result.hypotheses[0]) for result in results]

    return translate


def _start_server(task):
    """Ports of a test double that ends with this process' pipe."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.serving.loopback_server"),
            task.artifact + "/saved_model/kit",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(server.stdout.readline())


def load_rest(task):
    from aiayn_keras.serving import RestClient

    client = RestClient(f"http://127.0.0.1:{_start_server(task)['rest']}", "kit")
    return client.translate


def load_grpc(task):
    from aiayn_keras.serving import GrpcClient

    client = GrpcClient(f"127.0.0.1:{_start_server(task)['grpc']}", "kit")
    return client.translate


LOADERS = {
    "REST": load_rest,
    "gRPC": load_grpc,
    "SavedModel": load_saved_model,
    "translate": load_translate,
    "CTranslate2": load_ctranslate2,
}


def _answer_points(name, model, artifacts, texts, seconds):
    """Measures a point for every line of standard input, and prints a JSON object."""
    task = Task(model, artifacts, "float32", texts, batch_size=max(BATCH_SIZES))
    translate = LOADERS[name](task)
    for line in sys.stdin:
        batch_size, num_clients = map(int, line.split())
        translate(texts[:batch_size])
        measured = measure(translate, texts, batch_size, num_clients, seconds)
        row = summarize(name, batch_size, num_clients, measured)
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def _measure_points(workers):
    """Yields rows point by point, the systems in turn, so that disturbances hit all alike."""
    for batch_size, num_clients in itertools.product(BATCH_SIZES, NUM_CLIENTS):
        for name, worker in workers.items():
            try:
                worker.stdin.write(f"{batch_size} {num_clients}\n")
                worker.stdin.flush()
                yield json.loads(worker.stdout.readline())
            except (BrokenPipeError, json.JSONDecodeError) as error:
                raise click.ClickException(f"{name} has ended.") from error


def _make_artifacts(model, folder):
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(str(model))
    model.export(folder / "saved_model" / "kit", num_beams=NUM_BEAMS, length_penalty=0.0)
    model.export(folder / "ctranslate2", format="ctranslate2")


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
    return markdown_table(heads, cells, "lrrrrrrr")


def plot_load(rows):
    """Median latency and throughput over batch sizes, for one client and for most."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    for column, num_clients in enumerate((NUM_CLIENTS[0], NUM_CLIENTS[-1])):
        latency, throughput = (figure.add_subplot(2, 2, 1 + column + 2 * i) for i in range(2))
        for system in LOADERS:
            own = [r for r in rows if (r["system"], r["clients"]) == (system, num_clients)]
            if not own:
                continue
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
            axes.set_xticks(BATCH_SIZES, map(str, BATCH_SIZES))
            axes.grid(alpha=0.3)
        latency.legend()
    return figure


@click.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.option("--source", type=click.Path(path_type=Path), required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.option("--seconds", default=5.0, show_default=True, help="For each point.")
@click.option("--systems", default=",".join(LOADERS), show_default=True)
@click.option("--only", hidden=True, type=click.Choice(list(LOADERS)))
def main(model, source, output, seconds, systems, only):
    """Measure latency and throughput of MODEL served."""
    texts = source.read_text(encoding="utf-8").splitlines()
    artifacts = output / "artifacts"
    if only is not None:
        _answer_points(only, str(model), str(artifacts), texts, seconds)
        return
    if not artifacts.exists():
        _make_artifacts(model, artifacts)
    command = [sys.executable, "-m", "benchmarks.serving_load", "--model", str(model)]
    command += ["--source", str(source), "--output", str(output), "--seconds", str(seconds)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = {
        name: subprocess.Popen([*command, "--only", name], **pipes) for name in systems.split(",")
    }
    rows = []
    for row in _measure_points(workers):
        rows.append(row)
        click.echo(json.dumps(row), err=True)
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    rows.sort(key=lambda row: (row["batch"], row["clients"]))
    (output / "load.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    (output / "load.md").write_text(f"{machine()}\n\n{load_table(rows)}\n", encoding="utf-8")
    plot_load(rows).savefig(output / "load.png", dpi=120)
    click.echo(load_table(rows))


if __name__ == "__main__":
    main()
