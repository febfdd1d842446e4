"""A small model and a recipe that begins with it, for tests of fine-tuning."""

import keras
import yaml

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerTokenizer,
    text_preprocessor,
)
from aiayn_keras.training import load_recipe

RANK = 3
VOCABULARY_SIZE = 150
PAIRS = list(generate_demo_pairs(120, 0, "train"))
SOURCES, TARGETS = (list(side[:8]) for side in zip(*PAIRS, strict=True))
SIZES = {
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 24,
    "max_sequence_length": 64,
}
FIELDS = {
    "corpus": {"name": "demo", "train_size": 120, "validation_size": 4, "test_size": 4},
    "batches": {"tokens_per_batch": 256, "packing": True},
    "optimizer": {"warmup_steps": 20, "peak_learning_rate": 0.02, "ema_momentum": 0.5},
    "training": {
        "updates": 8,
        "checkpoint_every": 4,
        "bleu_every": 8,
        "average_checkpoints": 2,
        "keep": "average",
    },
    "evaluation": {"num_beams": 1, "max_length": 12},
}


def write_initial(folder, **options):
    """Writes a model folder such as Marian's: with biases in attention and on the logits."""
    keras.utils.set_random_seed(5)
    texts = [text for pair in PAIRS for text in pair]
    tokenizer = TransformerTokenizer.train(texts, VOCABULARY_SIZE, normalization="nmt_nfkc")
    options = {"attention_bias": True, "logits_bias": True, **SIZES, **options}
    backbone = TransformerBackbone(VOCABULARY_SIZE, **options)
    TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone)).save_to_preset(folder)
    return folder


def recipe_from(initial, *settings):
    """A recipe that begins with a model folder."""
    path = initial.with_name("fine.yaml")
    path.write_text(yaml.safe_dump({**FIELDS, "model": {"initial": str(initial)}}))
    return load_recipe(path, settings)


def load(folder):
    return TransformerSeq2SeqLM.from_preset(str(folder))
