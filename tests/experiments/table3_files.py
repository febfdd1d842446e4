"""A base recipe of seconds, and made-up results, for tests of Table 3 on a small scale."""

import yaml

from experiments.table3.results import Result, Scores, result_path, write_result
from experiments.table3.row_recipe import fingerprint
from experiments.table3.rows import BASE_RECIPE

SMALL = {
    "corpus": {"name": "demo", "train_size": 400, "validation_size": 12, "test_size": 8},
    "tokenizer": {"vocabulary_size": 160},
    "model": {
        "preset": "transformer_tiny",
        "num_layers": 1,
        "num_heads": 2,
        "hidden_dim": 16,
        "intermediate_dim": 24,
        "dropout": 0.1,
        "max_sequence_length": 96,
    },
    "batches": {"tokens_per_batch": 512, "packing": True},
    "optimizer": {"warmup_steps": 8, "peak_learning_rate": 0.01},
    "training": {
        "updates": 20,
        "checkpoint_every": 10,
        "bleu_every": 40,
        "average_checkpoints": 1,
    },
    "evaluation": {"num_beams": 2, "max_length": 12},
}


def write_small_recipe(folder):
    """Writes the base recipe; returns its path."""
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL), "utf-8")
    return path


def write_made_up_result(folder, row, seed, bleu, perplexity=7.5, base=BASE_RECIPE, **fields):
    """Writes the result of a run that never was."""
    scores = {"sentences": 3, "bleu": bleu, "chrf": 2 * bleu, "perplexity": perplexity}
    result = {
        "row": row.name,
        "seed": seed,
        "fingerprint": fingerprint(row, base),
        "parameters": 1_234_567,
        "updates": 100,
        "target_tokens": 200_000,
        "num_beams": 4,
        "length_penalty": 0.6,
        "validation": Scores(text="dev", **scores),
        "test": Scores(text="test", **{**scores, "bleu": bleu + 1}),
        "bleu_signature": "the signature of BLEU",
        "chrf_signature": "the signature of chrF",
        "commit": "0" * 40,
        "versions": {"keras": "3", "tensorflow": "2"},
        "machine": "2 × abacus",
        "resumed_from": 0,
        "seconds": 3600.0,
        "cpu_seconds": 3600.0,
    }
    path = result_path(folder, row, seed)
    write_result(path, Result(**{**result, **fields}))
    return path
