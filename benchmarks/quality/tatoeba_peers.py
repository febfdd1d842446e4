"""BLEU and chrF of our English-Spanish model and of the models of Keras' tutorials.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.quality.tatoeba_peers --output FOLDER

Trains each peer of `benchmarks.quality.keras_tutorials` on the split of the recipe `tatoeba_en_es`
until its validation loss has not fallen for two epochs, or for the CPU time that ours took, to the
end of the epoch. Keeps the epoch with the lowest loss, translates the test text, and prints a table
of all systems on the same sentences. The peers lose case, and one of them punctuation, so the
scores are given twice, on the text as it is and on lower-cased text without punctuation. An
interrupted training continues after its last complete epoch; a peer whose translations are already
in FOLDER is not trained again.
"""

import csv
import json
import os
import string
import time
from pathlib import Path

import click

from benchmarks.quality import keras_tutorials
from benchmarks.report import machine, markdown_table

PEERS = {"tutorial": keras_tutorials.load_tutorial, "kerashub": keras_tutorials.load_kerashub}
BATCH_SIZE = 64
PATIENCE, MAX_EPOCHS = 2, 1000


def train_peer(name, corpus, cpu_seconds, folder):
    """Trains a peer and translates the test text: a dictionary of translations and figures."""
    import keras

    keras.utils.set_random_seed(1)
    peer = PEERS[name](list(corpus.train))
    best, log = folder / f"{name}.weights.h5", folder / f"{name}.csv"
    if not _is_over(_column(log, "val_loss"), _column(log, "cpu_seconds"), cpu_seconds):
        peer.model.fit(
            *_arrays(peer, corpus.train),
            batch_size=BATCH_SIZE,
            epochs=MAX_EPOCHS,
            validation_data=_arrays(peer, corpus.validation),
            callbacks=[
                keras.callbacks.BackupAndRestore(folder / f"{name}_backup"),
                _watch(log, best, cpu_seconds),
                keras.callbacks.CSVLogger(log, append=True),
            ],
            verbose=2,
        )
    peer.model.load_weights(best)
    return {
        "system": name,
        "parameters": peer.model.count_params(),
        "epochs": len(_column(log, "val_loss")),
        "cpu_seconds": sum(_column(log, "cpu_seconds")),
        "translations": keras_tutorials.translate(peer, list(corpus.test.sources)),
    }


def _arrays(peer, text):
    targets = peer.encode_targets(list(text.targets))
    # Padding counts in the loss, as in the tutorials.
    return [peer.encode_sources(list(text.sources)), targets[:, :-1]], targets[:, 1:]


def _watch(log, best, cpu_seconds):
    """A callback that counts CPU time, keeps the best weights and ends the training in time.

    Keras' own callbacks for this forget the epochs before an interruption; `log` keeps them.
    """
    import keras

    started = time.process_time()

    def end_epoch(epoch, logs):
        nonlocal started
        now = time.process_time()
        logs["cpu_seconds"], started = now - started, now
        losses = [*_column(log, "val_loss"), logs["val_loss"]]
        if min(losses) == losses[-1]:
            callback.model.save_weights(best, overwrite=True)
        seconds = [*_column(log, "cpu_seconds"), logs["cpu_seconds"]]
        callback.model.stop_training = _is_over(losses, seconds, cpu_seconds)

    callback = keras.callbacks.LambdaCallback(on_epoch_end=end_epoch)
    return callback


def _is_over(losses, seconds, most_seconds):
    if not losses:
        return False
    return sum(seconds) >= most_seconds or len(losses) - 1 - losses.index(min(losses)) >= PATIENCE


def _column(log, name):
    if not log.exists():
        return []
    with log.open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def translate_ours(folder, corpus):
    """The dictionary for our model, trained by its recipe."""
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(str(folder))
    return {
        "system": "aiayn_keras, tatoeba_en_es",
        "parameters": model.count_params(),
        "epochs": None,
        "cpu_seconds": None,
        "translations": [each.text for each in model.translate(list(corpus.test.sources))],
    }


def scores(translations, references):
    """BLEU and chrF2 on the text as it is, and on lower-cased text without punctuation."""
    from aiayn_keras.training import corpus_bleu, corpus_chrf

    plain = [[_plain(text) for text in side] for side in (translations, references)]
    return (
        corpus_bleu(translations, references).score,
        corpus_chrf(translations, references).score,
        corpus_bleu(*plain, "none").score,
        corpus_chrf(*plain).score,
    )


def _plain(text):
    kept = text.lower().translate(str.maketrans("", "", string.punctuation + "¿¡«»“”…—"))
    return " ".join(kept.split())


@click.command()
@click.option("--cpu-seconds", type=click.FloatRange(min=1), default=10_000, show_default=True)
@click.option("--output", "folder", type=click.Path(path_type=Path), required=True)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    default="saved_models/tatoeba_en_es_keras",
    show_default=True,
)
@click.option("--systems", default=",".join(PEERS), show_default=True)
def main(cpu_seconds, folder, model, systems):
    """Train the peers and compare all models on the test text."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from aiayn_keras.data import load_corpus

    corpus = load_corpus("tatoeba-en-es")
    folder.mkdir(parents=True, exist_ok=True)
    results = [translate_ours(model, corpus)] if model.is_dir() else []
    for name in systems.split(","):
        path = folder / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(train_peer(name, corpus, cpu_seconds, folder)), "utf-8")
        results.append(json.loads(path.read_text("utf-8")))
    rows = [
        [
            result["system"],
            f"{result['parameters']:,}",
            *(
                "-" if result[key] is None else f"{result[key]:,.0f}"
                for key in ("epochs", "cpu_seconds")
            ),
            *(f"{s:.1f}" for s in scores(result["translations"], list(corpus.test.targets))),
        ]
        for result in results
    ]
    heads = [
        "system",
        "parameters",
        "epochs",
        "CPU seconds of training",
        "BLEU",
        "chrF2",
        "BLEU plain",
        "chrF2 plain",
    ]
    click.echo(f"{machine()}\n\n{markdown_table(heads, rows)}")


if __name__ == "__main__":
    main()
