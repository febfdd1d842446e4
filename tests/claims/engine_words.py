"""A converted CTranslate2 model translates random words as the engine does.

Run from the repository's root, with the folder of a model whose tokens are words or letters:

    python -m tests.claims.engine_words ../shared/data/ctranslate2-aren --words 200

Draws words, from 1 to 12 random tokens of the source's vocabulary, translates them with the package
`ctranslate2` and with the converted model, beam 4 without length penalty, and prints how many
hypotheses agree and the greatest difference of a score. Exits with 1 if one does not agree.
"""

import sys
from pathlib import Path

import click
import numpy as np

NUM_BEAMS = 4
MAX_TOKENS = 12
MAX_DIFFERENCE = 1e-3
"""Of log-probabilities of whole words, in nats."""


def random_words(folder, num_words, seed=0):
    """Lists of random tokens of a folder's source vocabulary, special ones left out."""
    lines = (Path(folder) / "source_vocabulary.txt").read_text("utf-8").split("\n")
    tokens = [line for line in lines if line and not line.startswith("<")]
    rng = np.random.default_rng(seed)
    return [list(rng.choice(tokens, rng.integers(1, MAX_TOKENS + 1))) for _ in range(num_words)]


def engine_answers(folder, words):
    """The engine's best hypotheses and their scores."""
    import ctranslate2

    answers = ctranslate2.Translator(str(folder), intra_threads=1).translate_batch(
        words, beam_size=NUM_BEAMS, length_penalty=0, min_decoding_length=0, return_scores=True
    )
    return [" ".join(a.hypotheses[0]) for a in answers], [a.scores[0] for a in answers]


def our_answers(model, words):
    """The converted model's best hypotheses and their scores."""
    found = model.translate([" ".join(tokens) for tokens in words], NUM_BEAMS, 0.0, engine="keras")
    return [each.text for each in found], [each.score for each in found]


def compare(folder, num_words, seed=0):
    """Pairs of the engine's and our hypothesis that differ, and the greatest score difference."""
    from aiayn_keras.convert import convert_ctranslate2

    words = random_words(folder, num_words, seed)
    texts, scores = engine_answers(folder, words)
    our_texts, our_scores = our_answers(convert_ctranslate2(folder), words)
    different = [pair for pair in zip(texts, our_texts, strict=True) if pair[0] != pair[1]]
    return different, float(np.max(np.abs(np.array(scores) - our_scores)))


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--words", "num_words", default=200, show_default=True, help="Number of words.")
@click.option("--seed", default=0, show_default=True, help="Of the words.")
def main(folder, num_words, seed):
    """Compare a CTranslate2 model with what it is converted to."""
    different, difference = compare(folder, num_words, seed)
    for engine, ours in different:
        click.echo(f"the engine: {engine!r}, ours: {ours!r}")
    click.echo(
        f"{num_words - len(different)} of {num_words} hypotheses equal, scores within "
        f"{difference:.1e}"
    )
    sys.exit(bool(different) or difference > MAX_DIFFERENCE)


if __name__ == "__main__":
    main()
