"""A model without training, small and with every weight of its own, for exports to be compared."""

import random

import numpy as np

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
)
from tests.helpers import D, H

POSITIONS = 19


def build_random_model(tokenizer, seed, num_layers=2, **options):
    """An untrained model in which no weight is 0 or 1, of `TransformerBackbone`'s options."""
    random.seed(seed)  # of which Keras' initializers take their seeds
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(),
        num_layers,
        num_heads=H,
        hidden_dim=D,
        intermediate_dim=20,
        max_sequence_length=POSITIONS,
        **options,
    )
    noise = np.random.default_rng(seed)
    for weight in backbone.weights:
        weight.assign(weight + noise.normal(0.0, 0.4, weight.shape))
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 9, 9))


def build_hasty_model(tokenizer, seed):
    """One that finds the end token most probable at every step, also at the first."""
    model = build_random_model(tokenizer, seed, 1, logits_bias=True)
    bias = np.zeros(tokenizer.vocabulary_size())
    bias[tokenizer.end_token_id] = 99.0
    model.backbone.token_embedding.logits_bias.assign_add(bias)
    return model
