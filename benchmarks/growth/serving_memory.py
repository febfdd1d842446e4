"""Memory of a process that serves a version of a kit, and the limit in its Kubernetes manifest.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.growth.serving_memory saved_models/tatoeba_en_es/1 --word ha

It loads the version with TensorFlow, runs its warm-up requests, and then searches for full batches
of the longest texts, one per core of a pod at once. The texts repeat one word, which the model
should translate at the same length. The figures include Python and its modules but not TensorFlow
Serving, which was not available.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from aiayn_keras.export.kubernetes import CORES, memory_limit
from aiayn_keras.export.serving_options import VERSION_FILE, read_notes
from benchmarks.memory import MEGABYTE, resident_bytes
from benchmarks.speed.serving_start import replay_warmup

BATCH_SIZE = 64


def measure(version, word):
    """Resident memory (MiB) after each step, and words of the longest translation.

    Args:
        version: `pathlib.Path` of the version.
        word: Word that the texts repeat.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(CORES)
    notes = read_notes(version / VERSION_FILE)
    megabytes = {}

    def note(step):
        megabytes[step] = round(resident_bytes("VmHWM") / MEGABYTE)

    note("imported")
    signatures = tf.saved_model.load(str(version)).signatures
    note("loaded")
    replay_warmup(version, signatures)
    note("warm")
    text = " ".join([word] * notes.options["max_input_length"])
    batch = tf.constant([text] * BATCH_SIZE)
    with ThreadPoolExecutor(CORES) as threads:
        searches = [threads.submit(signatures["serving_default"], text=batch) for _ in range(CORES)]
        translations = [search.result()["translation"].numpy()[0] for search in searches]
    note("full batches")
    size = sum(path.stat().st_size for path in (version / "variables").iterdir())
    return {
        **megabytes,
        "limit in the manifest": memory_limit([notes], [size]) // MEGABYTE,
        "words of a translation": len(translations[0].split()),
    }


@click.command()
@click.argument("version", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--word", required=True, help="A word that the model repeats.")
def main(version, word):
    """Measure the memory that serving VERSION takes, in MiB."""
    click.echo(json.dumps(measure(version, word), indent=1))


if __name__ == "__main__":
    main()
