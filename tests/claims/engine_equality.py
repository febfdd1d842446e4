"""Compares the translations of CTranslate2, as an engine of `translate`, with those of our search.

`python -m tests.claims.engine_equality` translates sentences of Tatoeba's test text, and half as
many single words, with the included English-Spanish model, by many searches. For each it prints the
number of texts whose hypotheses have the same wordpieces, and the largest difference of their
scores. Exits with 1 if a text differs, or a score by more than 0.0001 nats.
"""

import random
import re
import sys
from pathlib import Path

import click

from aiayn_keras.data import load_corpus
from aiayn_keras.models import TransformerSeq2SeqLM

FOLDER = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es_keras"
MAX_DIFFERENCE = 1e-4
SEARCHES = (
    {},
    {"num_return_sequences": 4},
    {"length_penalty": 0.0},
    {"length_penalty": 0.0, "num_return_sequences": 4},
    {"length_penalty": 0.6, "length_penalty_offset": 0},
    {"length_penalty": 1.0},
    {"length_penalty": 1.0, "length_penalty_offset": 0, "num_beams": 5},
    {"num_beams": 1, "length_penalty": 0.0},
    {"num_beams": 2},
    {"num_beams": 8},
    {"max_length": 5},
    {"max_length": 8, "num_return_sequences": 2},
    {"min_length": 0},
)


def compare(model, texts, options):
    """Number of texts with different hypotheses, and the largest difference of a score."""
    ours = model.translate(texts, engine="keras", **options)
    theirs = model.translate(texts, engine="ctranslate2", **options)
    different, largest = 0, 0.0
    for one, other in zip(ours, theirs, strict=True):
        sides = one.hypotheses, other.hypotheses
        if [h.tokens for h in sides[0]] != [h.tokens for h in sides[1]]:
            different += 1
        else:
            largest = max(largest, *(abs(a.score - b.score) for a, b in zip(*sides, strict=True)))
    return different, largest


@click.command()
@click.option("--sentences", default=1000, show_default=True)
def main(sentences):
    """Compare CTranslate2 as an engine with our search."""
    sources = load_corpus("tatoeba-en-es").test.sources
    texts = random.Random(1).sample(list(sources), min(sentences, len(sources)))
    words = sorted({word for text in sources for word in re.findall(r"[A-Za-z]+", text)})
    texts += random.Random(1).sample(words, min(sentences // 2, len(words)))
    model, has_failed = TransformerSeq2SeqLM.from_preset(str(FOLDER)), False
    click.echo("| search | equal | largest difference of a score |\n|---|---|---|")
    for options in SEARCHES:
        different, largest = compare(model, texts, options)
        has_failed |= different > 0 or largest > MAX_DIFFERENCE
        name = ", ".join(f"{field}={value}" for field, value in options.items()) or "defaults"
        click.echo(f"| {name} | {len(texts) - different} of {len(texts)} | {largest:.1e} |")
    sys.exit(int(has_failed))


if __name__ == "__main__":
    main()
