"""From a model folder to the first answer: sizes and seconds, for exports from every backend.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.speed.serving_start --model DIR --source SENTENCES --output FOLDER

Each step is a separate process. The model is exported under TensorFlow, JAX and PyTorch. Then
each kit is loaded without this package, as by a starting server, and answers one text, first
without and then after its warm-up requests; at last it translates all sentences in batches of 64,
and translations that differ from those of the TensorFlow backend's kit are counted.
"""

import time
from pathlib import Path
from statistics import median

import click

from benchmarks.processes import Worker, WorkerError
from benchmarks.report import machine, markdown_table
from benchmarks.speed.systems import BACKENDS

BATCH_SIZE = 64
NUM_WARM = 20


def export(model, folder):
    """Exports the model; returns its seconds, without importing and loading."""
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(model)
    start = time.perf_counter()
    model.export(folder)
    return {"export": time.perf_counter() - start}


def serve(folder, source):
    """Loads version 1, warms it up and translates; returns the seconds and the translations."""
    seconds = {}

    def timed(name, function):
        start = time.perf_counter()
        result = function()
        seconds[name] = time.perf_counter() - start
        return result

    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    texts = Path(source).read_bytes().splitlines()
    version = Path(folder) / "1"
    signatures = timed("load", lambda: tf.saved_model.load(str(version))).signatures

    def translate(texts):
        return signatures["serving_default"](text=tf.constant(texts))["translation"].numpy()

    text = [max(texts, key=len)]
    timed("first", lambda: translate(text))
    timed("warmup", lambda: replay_warmup(version, signatures))
    warm = []
    for _ in range(NUM_WARM):
        timed("warm", lambda: translate(text))
        warm.append(seconds["warm"])
    seconds["warm"] = median(warm)
    batches = (texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE))
    translations = [text.decode() for batch in batches for text in translate(batch)]
    return {**seconds, "translations": translations}


def replay_warmup(version, signatures):
    """Sends the requests that a server sends on loading."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    from aiayn_keras.common.kit_files import WARMUP_FILE

    for record in tf.data.TFRecordDataset(str(version / WARMUP_FILE)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.constant(tf.make_ndarray(v)) for name, v in request.inputs.items()}
        signatures[request.model_spec.signature_name](**inputs)


def tree(folder):
    """A Markdown list of the files of a kit with their sizes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(
        f"- {path.relative_to(folder).as_posix()}: {path.stat().st_size:,} bytes" for path in files
    )


def run_step(log, backend, function, **arguments):
    """Calls a function of this module in its own process."""
    with Worker(log, backend) as worker:
        return worker.call(f"benchmarks.speed.serving_start:{function}", **arguments)


def report(model, source, output):
    """Measures and writes `start.md`."""
    rows, expected = [], None
    output.mkdir(parents=True, exist_ok=True)
    for backend in BACKENDS:
        folder, log = str(output / backend / "kit"), output / f"{backend}.log"
        seconds = run_step(log, backend, "export", model=model, folder=folder)
        seconds |= run_step(log, "tensorflow", "serve", folder=folder, source=source)
        expected = expected or seconds["translations"]
        pairs = zip(expected, seconds["translations"], strict=True)
        names = ("export", "load", "first", "warmup", "warm")
        rows.append([backend, *(f"{seconds[name]:.3f}" for name in names)])
        rows[-1].append(f"{sum(a != b for a, b in pairs)} of {len(expected)}")
    heads = ["exported under", "export s", "load s", "first request s", "warm-up requests s"]
    heads += ["warm request s (median)", "differing translations"]
    table = markdown_table(heads, rows)
    text = f"{machine()}\n\n{table}\n\n{tree(output / BACKENDS[0] / 'kit')}\n"
    (output / "start.md").write_text(text, encoding="utf-8")
    click.echo(text)


@click.command()
@click.option("--model", type=click.Path(exists=True, file_okay=False), required=True)
@click.option("--source", type=click.Path(exists=True, dir_okay=False), required=True)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder.")
def main(model, source, output):
    """Measure the time from a model folder to the first answer."""
    try:
        report(model, source, output)
    except WorkerError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
