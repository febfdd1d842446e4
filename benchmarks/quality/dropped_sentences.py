"""A count of the sentences that a model drops from texts of several sentences.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.quality.dropped_sentences --model DIR --corpus tatoeba-en-es

Randomly joins single sentences of the test text into items of one to 24 (500 each, or as many as
make 2,400 sentences, with a fixed seed), translates each item as one text, and prints for each
number of sentences: how many translations have the same number of sentences as their source, chrF2
against the joined references, and chrF2 of the same sentences translated one by one. Sentences are
counted by their final marks, so items are made only of pairs with one final mark on either side, at
the end.
"""

import json
import os
import random
import re
from pathlib import Path

import click

from benchmarks.report import machine, markdown_table

FINAL_MARK = re.compile(r"[.!?…]+")
SIZES = (1, 2, 3, 6, 12, 24)
MAX_SENTENCES = 2400


def count_sentences(text):
    """The number of runs of final marks, such as `.` or `?!`."""
    return len(FINAL_MARK.findall(text))


def single_sentences(pairs):
    """The pairs with exactly one final mark on each side, at the end."""
    return [
        pair
        for pair in pairs
        if all(count_sentences(text) == 1 and text[-1] in ".!?…" for text in pair)
    ]


def make_items(pairs, size, number, seed=0):
    """Draws items of `size` sentences: tuples of `size` pairs."""
    draw = random.Random(seed + size)
    return [tuple(draw.sample(pairs, size)) for _ in range(number)]


def measure(model, items, long_text):
    """The row for items of one size."""
    from aiayn_keras.training import corpus_chrf

    sources, references = (
        [" ".join(pair[side] for pair in item) for item in items] for side in (0, 1)
    )
    translations = [each.text for each in model.translate(sources, long_text=long_text)]
    alone = [each.text for each in model.translate([s for item in items for s, _ in item])]
    size = len(items[0])
    alone = [" ".join(alone[i : i + size]) for i in range(0, len(alone), size)]
    counts = [count_sentences(translation) for translation in translations]
    return {
        "sentences": size,
        "items": len(items),
        "as_many": sum(count == size for count in counts),
        "fewer": sum(count < size for count in counts),
        "more": sum(count > size for count in counts),
        "chrf": corpus_chrf(translations, references).score,
        "chrf_alone": corpus_chrf(alone, references).score,
        "dropped": [
            {"source": source, "translation": translation}
            for source, translation, count in zip(sources, translations, counts, strict=True)
            if count < size
        ],
    }


def table(rows):
    """Markdown of the rows."""
    cells = [
        [
            *(str(row[name]) for name in ("sentences", "items", "as_many", "fewer", "more")),
            f"{row['chrf']:.1f}",
            f"{row['chrf_alone']:.1f}",
        ]
        for row in rows
    ]
    heads = ["sentences", "items", "as many", "fewer", "more", "chrF2", "chrF2 one by one"]
    return markdown_table(heads, cells, "r" * len(heads))


@click.command()
@click.option("--model", "folder", required=True, help="Model folder.")
@click.option("--corpus", default="tatoeba-en-es", show_default=True)
@click.option("--items", "number", type=click.IntRange(min=1), default=500, show_default=True)
@click.option(
    "--long-text",
    type=click.Choice(["split", "cut"]),
    default="split",
    show_default=True,
    help="As in translate; with cut, nothing is split that has positions enough.",
)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="JSON to write.")
def main(folder, corpus, number, long_text, output):
    """Count the sentences that a model drops."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from aiayn_keras import TransformerSeq2SeqLM
    from aiayn_keras.data import load_corpus

    pairs = single_sentences(load_corpus(corpus, variant="raw").test)
    model = TransformerSeq2SeqLM.from_preset(folder)
    rows = [
        measure(model, make_items(pairs, size, min(number, MAX_SENTENCES // size)), long_text)
        for size in SIZES
    ]
    click.echo(f"{machine()}\n\n{table(rows)}")
    if output is not None:
        output.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
