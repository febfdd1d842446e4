"""Core-hours that runs of Table 3 on a small scale take on this machine, from a measured rate."""

import itertools
import statistics
import time
from types import SimpleNamespace

import keras

from aiayn_keras.data import UpdateBatches
from aiayn_keras.models.architecture import DEPTHS, depths_of
from aiayn_keras.training.building import build_model
from aiayn_keras.training.training_data import make_batches, read_corpus
from benchmarks.tpu.flops import training_flops
from experiments.machine import processor
from experiments.table3.row_recipe import row_recipe
from experiments.table3.rows import ROWS

TIMED_UPDATES = 10
SENTENCE = 16
"""Tokens per sentence, for the operations of attention."""


def expected_hours(runs, base, results):
    """Estimates the CPU time of runs; such small models keep little more than one core busy.

    The rate comes from the CPU time of results made on this kind of processor, or otherwise from
    timing a few updates of the base model. Rows differ in the operations of their matrix products.

    Args:
        runs: List of tuples of a `Row` and a seed.
        base: Path of the base model's recipe.
        results: Dictionary of lists of `Result` by row name.

    Returns:
        Hours of one core, and a text on the origin of the rate.
    """
    operations = {row.name: _operations(row_recipe(row, base, 1)) for row in ROWS}
    here = processor()
    rates = [
        result.cpu_seconds / operations[result.row]
        for result in itertools.chain.from_iterable(results.values())
        if result.machine == here and not result.resumed_from
    ]
    if rates:
        origin = f"the CPU time of {len(rates)} results of this kind of processor"
    else:
        recipe = row_recipe(ROWS[0], base, 1)
        seconds = recipe.training.updates * seconds_per_update(recipe)
        rates = [seconds / operations[ROWS[0].name]]
        origin = f"{TIMED_UPDATES} updates of the base model, translations not counted"
    total = sum(operations[row.name] for row, _ in runs)
    return statistics.median(rates) * total / 3600, origin


def seconds_per_update(recipe):
    """Measured CPU time of an update of a `Recipe`, in seconds."""
    corpus = read_corpus(recipe)
    tokenizer = corpus.train.make_tokenizer()
    model = build_model(recipe, tokenizer)
    pairs = corpus.train.pairs(tokenizer, model.backbone.max_sequence_length)
    batches = make_batches(pairs, recipe.batches, recipe.training.seed, tokenizer.source_end)
    per_update = recipe.optimizer.gradient_accumulation_steps
    ends = []
    model.fit(
        UpdateBatches(batches, per_update).to_iter_dataset(),
        steps_per_epoch=TIMED_UPDATES * per_update,
        epochs=2,  # the first one compiles
        shuffle=False,
        verbose=0,
        callbacks=[
            keras.callbacks.LambdaCallback(
                on_epoch_begin=lambda epoch, logs: ends.append(time.process_time()),
                on_epoch_end=lambda epoch, logs: ends.append(time.process_time()),
            )
        ],
    )
    return (ends[3] - ends[2]) / TIMED_UPDATES


def _operations(recipe):
    """Operations in a training's matrix products, for one sentence in each update."""
    options = recipe.model.options
    head_dim = options["hidden_dim"] // options["num_heads"]
    widths = {name: options[name] or head_dim for name in ("key_dim", "value_dim")}
    depths = dict(zip(DEPTHS, depths_of(options), strict=True))
    sizes = {**options, **widths, **depths, "vocabulary_size": recipe.tokenizer.vocabulary_size}
    one = training_flops(SimpleNamespace(**sizes), 1, SENTENCE, SENTENCE)
    return recipe.training.updates * one
