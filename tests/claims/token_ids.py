"""Tokenizes hard texts in Python and in a TensorFlow graph, and counts texts with other ids.

Run from the repository's root:

    python -m tests.claims.token_ids saved_models/tatoeba_en_es_keras [--texts N] [--seed S]

The texts are sentences with random characters of every Unicode block in and between their words,
damaged, cased, quoted and mixed. The graph is that of the exported SavedModel. Exits with 1 if the
ids of a source or of a target differ.
"""

import random
import sys

import click

from tests.claims.hostile_text import EMOJI, SPACES, SYMBOLS, hostile_texts

BLOCKS = (
    *((0x20, 0x7F), (0x00, 0x20), (0x7F, 0xA0), (0xA0, 0x250), (0x250, 0x370), (0x370, 0x590)),
    *((0x590, 0x900), (0x900, 0x1100), (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070)),
    *((0x2070, 0x2C00), (0x2E00, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xF900, 0x10000)),
    *((0x10000, 0x10200), (0x1D400, 0x1D800), (0x1F000, 0x1FB00), (0xE0000, 0xE01F0)),
    *((0x20000, 0x20100), (0xF0000, 0xF0100), (0x10FF00, 0x110000)),
)
MARKS = "“”„«»‘’‚–—‑―…′″\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f\ufe0f\u034f\u180e\u0085"


def _character(rng):
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(MARKS)
    if kind < 0.4:
        return rng.choice(SPACES)
    if kind < 0.5:
        return rng.choice(EMOJI)
    if kind < 0.55:
        return rng.choice(SYMBOLS)
    return chr(rng.randrange(*rng.choice(BLOCKS)))


def hard_texts(count, sentences, seed):
    """Makes random texts.

    Args:
        count: Number of texts.
        sentences: List of ordinary sentences.
        seed: Of all choices.

    Returns:
        List of strings without lone surrogates.
    """
    rng = random.Random(seed)
    texts = [
        text.decode("utf-8", errors="replace")
        for text in hostile_texts(count // 10, sentences, seed, longest=2000)
    ]
    changes = (str, str.upper, str.title, str.lower, str.swapcase)
    while len(texts) < count:
        text = list(rng.choice(changes)(rng.choice(sentences)))
        for _ in range(rng.randrange(1, 6)):
            text.insert(rng.randrange(len(text) + 1), _character(rng))
        texts.append("".join(text))
    return [text.encode("utf-8", errors="replace").decode("utf-8") for text in texts]


def count_differences(tokenizer, texts, batch_size=1000):
    """Yields `(side, text, ids in Python, ids in the graph)` of every text that has other ids."""
    import tensorflow as tf

    from aiayn_keras.export.served_translator import ServedText
    from aiayn_keras_light.text_batches import tokenize

    served = ServedText(tokenizer, "truncate")
    longest = 1 << 20
    sides = {"source": (tokenizer, False), "target": (tokenizer.of_targets(), True)}
    for start in range(0, len(texts), batch_size):
        batch = texts[start : start + batch_size]
        for side, (of_side, is_target) in sides.items():
            in_graph = served.tokenize(tf.constant(batch), longest, side, is_target=is_target)
            lengths = in_graph.padding_mask.numpy().sum(axis=1)
            rows = in_graph.token_ids.numpy()
            for text, expected, row, length in zip(
                batch, tokenize(batch, side, of_side), rows, lengths, strict=True
            ):
                if expected != row[:length].tolist():
                    yield side, text, expected, row[:length].tolist()


@click.command()
@click.argument("model")
@click.option("--texts", default=200_000, show_default=True, help="Number of texts.")
@click.option("--seed", default=0, show_default=True)
def main(model, texts, seed):
    """Compare the ids of texts in Python and in the graph."""
    from aiayn_keras.data import load_corpus
    from aiayn_keras.models import TransformerTokenizer

    tokenizer = TransformerTokenizer.from_preset(model)
    texts = hard_texts(texts, list(load_corpus("demo").validation.sources), seed)
    number = 0
    for number, difference in enumerate(count_differences(tokenizer, texts), start=1):
        if number <= 10:
            print(*map(repr, difference), sep="\n    ")
    print(f"{len(texts):,} texts, {number:,} with other ids")
    sys.exit(number > 0)


if __name__ == "__main__":
    main()
