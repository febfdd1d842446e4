"""BLEU and chrF of our English-Spanish model and of the models of Keras' tutorials.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.quality.tatoeba_peers --minutes 90 --output FOLDER

Trains each peer of `benchmarks.quality.keras_tutorials` on the split of the recipe `tatoeba_en_es`
for so many minutes, keeps the epoch with the least validation loss, translates the test text, and
prints a table of all systems on the same sentences. The peers lose case, and one of them
punctuation: so the scores are given twice, on the text as it is and on lower-cased text without
punctuation. A peer whose translations are in FOLDER already is not trained again.
"""

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
MOST_EPOCHS = 1000


def train_peer(name, corpus, seconds, folder):
    """Trains a peer and translates the test text: a dictionary of translations and figures."""
    import keras

    keras.utils.set_random_seed(1)
    peer = PEERS[name](list(corpus.train))
    best = folder / f"{name}.weights.h5"
    history = peer.model.fit(
        *_arrays(peer, corpus.train),
        batch_size=BATCH_SIZE,
        epochs=MOST_EPOCHS,
        validation_data=_arrays(peer, corpus.validation),
        callbacks=[
            keras.callbacks.ModelCheckpoint(best, save_best_only=True, save_weights_only=True),
            _stop_after(seconds),
        ],
        verbose=2,
    )
    peer.model.load_weights(best)
    return {
        "system": name,
        "parameters": peer.model.count_params(),
        "seconds": seconds,
        "val_loss": history.history["val_loss"],
        "translations": keras_tutorials.translate(peer, list(corpus.test.sources)),
    }


def _arrays(peer, text):
    targets = peer.encode_targets(list(text.targets))
    # Padding counts in the loss, as in the tutorials.
    return [peer.encode_sources(list(text.sources)), targets[:, :-1]], targets[:, 1:]


def _stop_after(seconds):
    """A callback that ends the training at the end of a batch, and saves what it has."""
    import keras

    end = time.monotonic() + seconds

    def stop(batch, logs):
        if time.monotonic() > end:
            callback.model.stop_training = True

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    return callback


def translate_ours(folder, corpus):
    """The dictionary of our model, trained by its recipe."""
    from aiayn_keras import TransformerSeq2SeqLM

    model = TransformerSeq2SeqLM.from_preset(str(folder))
    return {
        "system": "aiayn_keras, tatoeba_en_es",
        "parameters": model.count_params(),
        "seconds": None,
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
@click.option("--minutes", type=click.FloatRange(min=0.1), default=90.0, show_default=True)
@click.option("--output", "folder", type=click.Path(path_type=Path), required=True)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    default="saved_models/tatoeba_en_es_keras",
    show_default=True,
)
@click.option("--systems", default=",".join(PEERS), show_default=True)
def main(minutes, folder, model, systems):
    """Train the peers and compare all on the test text."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from aiayn_keras.data import load_corpus

    corpus = load_corpus("tatoeba-en-es")
    folder.mkdir(parents=True, exist_ok=True)
    results = [translate_ours(model, corpus)] if model.is_dir() else []
    for name in systems.split(","):
        path = folder / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(train_peer(name, corpus, 60 * minutes, folder)), "utf-8")
        results.append(json.loads(path.read_text("utf-8")))
    rows = [
        [
            result["system"],
            f"{result['parameters']:,}",
            "-" if result["seconds"] is None else f"{result['seconds']:,.0f}",
            *(f"{s:.1f}" for s in scores(result["translations"], list(corpus.test.targets))),
        ]
        for result in results
    ]
    heads = ["system", "parameters", "training, s", "BLEU", "chrF2", "BLEU plain", "chrF2 plain"]
    click.echo(f"{machine()}\n\n{markdown_table(heads, rows)}")


if __name__ == "__main__":
    main()
