"""From a model folder to the first answer: sizes and seconds, for exports from every backend.

Run from the repository's root, where `aiayn_keras` is installed with its extras:

    python -m benchmarks.serving_start --model DIR --source SENTENCES --output FOLDER

Each step is a process of its own. The model is exported under TensorFlow, JAX and PyTorch. Then
each kit is loaded without this package, as by a server that starts, and answers one text, first
without and then after its warm-up requests; at last it translates all sentences in batches of 64,
and translations that differ from those of the TensorFlow backend's kit are counted.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import click

from benchmarks.report import machine, markdown_table

BACKENDS = ("tensorflow", "jax", "torch")
BATCH_SIZE = 64
NUM_WARM = 20


def export(model, folder):
    """Exports the model; the seconds of it, without those of importing and loading."""
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(model)
    start = time.perf_counter()
    model.export(folder)
    return {"export": time.perf_counter() - start}


def serve(folder, source):
    """Loads version 1, warms it up, and translates; seconds of each, and the translations."""
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
    timed("warmup", lambda: _replay(version, signatures))
    warm = []
    for _ in range(NUM_WARM):
        timed("warm", lambda: translate(text))
        warm.append(seconds["warm"])
    seconds["warm"] = median(warm)
    batches = (texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE))
    translations = [text.decode() for batch in batches for text in translate(batch)]
    return {**seconds, "translations": translations}


def _replay(version, signatures):
    """Asks what the server asks on loading."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    from aiayn_keras.export.warmup import WARMUP_FILE

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


def _step(backend, function, *arguments):
    """Calls a function of this module in a process of its own."""
    arguments = ", ".join(repr(str(argument)) for argument in arguments)
    code = (
        f"import json, benchmarks.serving_start as s; print(json.dumps(s.{function}({arguments})))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    if process.returncode:
        raise click.ClickException(f"{backend}: {process.stderr[-2000:]}")
    return json.loads(process.stdout.splitlines()[-1])


def report(model, source, output):
    """Measures and writes `start.md`."""
    rows, expected = [], None
    for backend in BACKENDS:
        folder = output / backend / "kit"
        seconds = _step(backend, "export", model, folder)
        seconds |= _step("tensorflow", "serve", folder, source)
        expected = expected or seconds["translations"]
        pairs = zip(expected, seconds["translations"], strict=True)
        names = ("export", "load", "first", "warmup", "warm")
        rows.append([backend, *(f"{seconds[name]:.3f}" for name in names)])
        rows[-1].append(f"{sum(a != b for a, b in pairs)} of {len(expected)}")
    heads = ["exported under", "export s", "load s", "first request s", "warm-up requests s"]
    heads += ["warm request s (median)", "differing translations"]
    table = markdown_table(heads, rows, "lrrrrrr")
    text = f"{machine()}\n\n{table}\n\n{tree(output / BACKENDS[0] / 'kit')}\n"
    (output / "start.md").write_text(text, encoding="utf-8")
    click.echo(text)


@click.command()
@click.option("--model", required=True, help="Model folder.")
@click.option("--source", required=True, help="File of sentences.")
@click.option("--output", type=click.Path(path_type=Path), required=True)
def main(model, source, output):
    """Measure the way from MODEL to the first answer."""
    report(model, source, output)


if __name__ == "__main__":
    main()
