"""Cost of a constraint in the search: its time relative to the same search without one.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.speed.constraint

Models with random weights (the paper's base, and tiny) translate sentences of 30 words into exactly
32 wordpieces with 4 beams, in one batch and one at a time: without a constraint, by `min_length`
and `max_length`, and as trees over the words, where 32 wordpieces leave room only for flat ones.
A third search repeats the first with a forced vocabulary of all wordpieces. All take the same
number of steps with the same number of rows. They run in turn, every other round in reverse order,
after a first run that compiles. Ratios are medians of the ratios of the rounds, for wall-clock time
and for CPU time, which is steadier when other programs run.
"""

import os
import statistics
import time

import click

from benchmarks.random_models import build_random_model, random_texts
from benchmarks.report import digits, machine, markdown_table

NUM_WORDS = 30
NUM_LABELS = 30
NUM_TEXTS = {"one batch": 32, "one after another": 5}


def build_parser(preset, vocabulary_size):
    """A model whose last tokens are the brackets of `NUM_LABELS` labels."""
    from aiayn_keras import (
        TransformerSeq2SeqLM,
        TransformerSeq2SeqLMPreprocessor,
        TransformerTokenizer,
    )
    from aiayn_keras.convert.tokenizers import NUM_SPECIALS, build_word_model

    words = [f"t{i}" for i in range(NUM_SPECIALS, vocabulary_size - 2 * NUM_LABELS)]
    words += [f"{sign}L{i}" for sign in "()" for i in range(NUM_LABELS)]
    tokenizer = TransformerTokenizer(build_word_model([None] * NUM_SPECIALS + words))
    model = build_random_model(preset, vocabulary_size)
    parser = TransformerSeq2SeqLM(model.backbone, TransformerSeq2SeqLMPreprocessor(tokenizer))
    parser.compile()
    return parser


def searches(model):
    """Options of `translate` by name; the first is the search without a constraint."""
    from aiayn_keras.decoding.constraints import TokenAutomaton

    tokenizer = model.preprocessor.tokenizer
    pieces = set(range(tokenizer.vocabulary_size())) - {*tokenizer.special_token_ids}
    exact = {"length_penalty": 0.0, "max_length": NUM_WORDS + 2, "min_length": NUM_WORDS + 2}
    return {
        "without": exact,
        "brackets": {**exact, "min_length": 0, "constraint": "brackets"},
        "vocabulary": {**exact, "constraint": TokenAutomaton.of_vocabulary(pieces)},
    }


def take_turns(model, batches, rounds):
    """Wall-clock and CPU seconds of every search for all batches, by name, for each round."""
    options = searches(model)
    seconds = {name: [] for name in options}
    for turn in range(rounds + 1):
        for name in list(options)[:: -1 if turn % 2 else 1]:
            start = time.perf_counter(), time.process_time()
            found = [model.translate(texts, **options[name]) for texts in batches]
            if turn:  # the first run compiles
                end = time.perf_counter(), time.process_time()
                seconds[name].append(tuple(b - a for a, b in zip(start, end, strict=True)))
            lengths = {len(translation.tokens) for batch in found for translation in batch}
            if lengths != {NUM_WORDS + 2}:
                raise RuntimeError(f"{name} wrote {lengths} wordpieces, not {NUM_WORDS + 2}")
    return seconds


def cells_of(seconds, num_texts):
    """Cells of the table: speed without a constraint, and the ratios of times with one."""
    without = seconds["without"]
    tokens = num_texts * (NUM_WORDS + 2)
    yield digits(tokens / statistics.median(wall for wall, _ in without))
    for search in ("brackets", "vocabulary"):
        for clock in (0, 1):
            pairs = zip(seconds[search], without, strict=True)
            ratios = [one[clock] / base[clock] for one, base in pairs]
            yield f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


@click.command()
@click.option("--preset", "presets", multiple=True, default=["tiny", "base"], show_default=True)
@click.option("--vocabulary-size", "sizes", type=int, multiple=True, default=[8000, 32000])
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True)
def main(presets, sizes, rounds):
    """Measure the cost of constraints, as Markdown."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    click.echo(f"{machine()}\n")
    rows = []
    for preset in presets:
        for size in sizes:
            model = build_parser(f"transformer_{preset}", size)
            for name, num_texts in NUM_TEXTS.items():
                texts = random_texts(num_texts, NUM_WORDS, size - 2 * NUM_LABELS)
                batches = [texts] if name == "one batch" else [[text] for text in texts]
                cells = cells_of(take_turns(model, batches, rounds), num_texts)
                rows.append([preset, f"{size:,}", f"{num_texts}, {name}", *cells])
    heads = ["model", "tokens", "sentences", "target tokens/s without"]
    heads += ["brackets: time", "processor's", "forced vocabulary: time", "processor's"]
    click.echo(markdown_table(heads, rows))


if __name__ == "__main__":
    main()
