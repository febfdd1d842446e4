"""A training small enough for tests, and real from the corpus to the model folder."""

import json

from aiayn_keras.training import load_recipe

SETTINGS = (
    "corpus.train_size=600",
    "corpus.validation_size=60",
    "corpus.test_size=60",
    "tokenizer.vocabulary_size=200",
    "model.num_layers=1",
    "model.num_heads=2",
    "model.hidden_dim=32",
    "model.intermediate_dim=48",
    "batches.tokens_per_batch=1024",
    "batches.packing=false",
    "batches.max_shapes=1",
    "optimizer.warmup_steps=30",
    "optimizer.ema_momentum=null",
    "optimizer.peak_learning_rate=0.01",
    "training.updates=60",
    "training.checkpoint_every=20",
    "training.bleu_every=60",
    "training.average_checkpoints=2",
    "training.keep=average",
)


def small_recipe(*settings):
    """The recipe `demo`, cut down to seconds; with `corpus.name=null` its sizes are left out."""
    if "corpus.name=null" in settings:
        sizes = (f"corpus.{split}_size=null" for split in ("train", "validation", "test"))
        settings = (*sizes, *settings)
    return load_recipe("demo", (*SETTINGS, *settings))


def figures_of(run):
    """The history of a training without its speed, which is never twice the same."""
    rows = json.loads((run / "history.json").read_text("utf-8"))
    return [
        {name: value for name, value in row.items() if name != "tokens_per_second"} for row in rows
    ]
