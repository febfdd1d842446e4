"""Scores of models on everyday texts that are not in their training text.

    python -m benchmarks.quality.unread saved_models/tatoeba_en_es_keras

The texts of `everyday.en`, `strangers.en` and `typed_texts.txt` were written apart from the
training texts, but common phrases such as `Add to cart` are in both. This leaves out those that
are, in any capitals and with any punctuation, in the training text of `tatoeba-en-es` or
`phrases-en-es`.
"""

from pathlib import Path

import click

from aiayn_keras.data import load_corpus
from aiayn_keras.data.parallel_text import letters_of
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training.translation_scores import corpus_bleu, corpus_chrf

FOLDER = Path(__file__).parent
CORPORA = ("tatoeba-en-es", "phrases-en-es")
TEXTS = ("everyday", "strangers")


@click.command(help=__doc__)
@click.argument("models", nargs=-1, required=True)
def main(models):
    read = {letters_of(text) for name in CORPORA for text in load_corpus(name).train.sources}
    pairs = {}
    for name in TEXTS:
        sides = (read_lines(f"{name}.{language}") for language in ("en", "es"))
        both = list(zip(*sides, strict=True))
        pairs[name] = [pair for pair in both if letters_of(pair[0]) not in read]
        print(f"{name}: {len(pairs[name])} of {len(both)} texts are not in the training text")
    answers = [line.split("\t") for line in read_lines("typed_answers.tsv")]
    marks = [mark == "yes" for text, _, mark in answers if letters_of(text) not in read]
    print(f"typed texts: {sum(marks)} of {len(marks)} such answers can stay")
    for folder in models:
        model = TransformerSeq2SeqLM.from_preset(folder)
        for name, unread in pairs.items():
            sources, references = map(list, zip(*unread, strict=True))
            found = [each.text for each in model.translate(sources, placeables="keep")]
            chrf, bleu = (score(found, references).score for score in (corpus_chrf, corpus_bleu))
            print(f"{folder}, {name}: {chrf:.1f} chrF2, {bleu:.1f} BLEU")


def read_lines(name):
    return (FOLDER / name).read_text("utf-8").splitlines()


if __name__ == "__main__":
    main()
